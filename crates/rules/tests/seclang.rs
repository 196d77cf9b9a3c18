//! The meaning of SecLang text: tables of texts with their results.

use std::collections::BTreeMap;
use std::path::PathBuf;

use weir_rules::seclang::ir::{
    AllowScope, Change, Collection, Control, Disruption, Effect, Engine, Flow, Macro, Operator, Phase, Piece, Rule,
    RuleSet, RuleSetEntry, Selector, Variable,
};
use weir_rules::seclang::{Limits, LoadedRules, Memory, OnUnsupported, Options, RuleSource, Severity, load_from};

fn files(all: &[(&str, &str)]) -> Memory {
    Memory(all.iter().map(|(name, text)| (PathBuf::from(name), text.as_bytes().to_vec())).collect::<BTreeMap<_, _>>())
}

fn text(text: &str) -> RuleSource {
    RuleSource::Text { name: "text".into(), text: text.into() }
}

fn loaded(rules: &str) -> LoadedRules {
    try_load(rules, &Options::default()).unwrap_or_else(|problems| panic!("{rules}\n{}", problems.join("\n")))
}

fn try_load(rules: &str, options: &Options) -> Result<LoadedRules, Vec<String>> {
    load_from(&[text(rules)], options, &Memory::default())
        .map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

fn rules(set: &RuleSet) -> Vec<&Rule> {
    set.entries
        .iter()
        .filter_map(|entry| if let RuleSetEntry::Rule(rule) = entry { Some(&**rule) } else { None })
        .collect()
}

/// The only rule of a text.
fn rule(rules_text: &str) -> Rule {
    let loaded = loaded(rules_text);
    let all = rules(&loaded.set);
    assert_eq!(all.len(), 1, "{rules_text}");
    all[0].clone()
}

fn targets(rule: &Rule) -> Vec<String> {
    let test = rule.links[0].test.as_ref().expect("a rule");
    let shown = |target: &weir_rules::seclang::ir::Target, before: &str| {
        let selector = match &target.selector {
            Selector::All => String::new(),
            Selector::Name(name) => format!(":{}", String::from_utf8_lossy(name)),
            Selector::Pattern(pattern) => format!(":/{}/", pattern.source()),
        };
        format!("{before}{}{:?}{selector}", if target.count { "&" } else { "" }, target.variable)
    };
    let exclusions = test.exclusions.iter().map(|target| shown(target, "!"));
    test.targets.iter().map(|target| shown(target, "")).chain(exclusions).collect()
}

#[test]
fn variables_and_selectors_are_read() {
    let cases: &[(&str, &[&str])] = &[
        ("ARGS", &["Args"]),
        ("args|Tx.Foo", &["Args", "Tx:foo"]),
        ("\"ARGS,FILES\"", &["Args", "Files"]),
        ("ARGS|!ARGS:Foo", &["Args", "!Args:foo"]),
        ("ARGS|!ARGS", &["!Args"]),
        ("&REQUEST_HEADERS:Host", &["&RequestHeaders:host"]),
        ("TX:/x_.*/", &["Tx:/(?i)x_.*/"]),
        ("ARGS:'/^a b|c/'|FILES", &["Args:/(?i)^a b|c/", "Files"]),
        ("ARGS:/a,b/|FILES", &["Args:/(?i)a,b/", "Files"]),
        (r"ARGS:/a\/b/", &[r"Args:/(?i)a\/b/"]),
        ("ARGS:/open", &["Args:/open"]),
        ("REQUEST_COOKIES|!REQUEST_COOKIES:/__utm/", &["RequestCookies", "!RequestCookies:/(?i)__utm/"]),
        ("XML:/*|XML://@*", &["Xml:/*", "Xml://@*"]),
        ("STATUS|MULTIPART_SEMICOLON_MISSING", &["ResponseStatus", "MultipartMissingSemicolon"]),
    ];
    for (written, expected) in cases {
        let rule = rule(&format!("SecRule {written} \"@rx x\" \"id:1,phase:2\""));
        assert_eq!(targets(&rule), *expected, "{written}");
    }
}

#[test]
fn operators_are_read() {
    let cases: &[(&str, &str, bool)] = &[
        ("\"@contains a b\"", "Contains(Macro([Text(\"a b\")]))", false),
        ("\"!@streq x\"", "StrEq(Macro([Text(\"x\")]))", true),
        ("\"! @eq 0\"", "Compare(Eq, Macro([Text(\"0\")]))", true),
        ("\"@ge %{tx.Max}\"", "Compare(Ge, Macro([Variable(Tx, \"max\")]))", false),
        ("\"@CONTAINSWORD a\"", "ContainsWord(Macro([Text(\"a\")]))", false),
        ("@contains x", "Contains(Macro([Text(\"x\")]))", false),
        ("\"@detectSQLi\"", "DetectSqli", false),
        ("\"@noMatch\"", "NoMatch", false),
        ("\"@contains  a\\\"\"", "Contains(Macro([Text(\" a\\\\\\\"\")]))", false),
    ];
    for (written, expected, negated) in cases {
        let rule = rule(&format!("SecRule ARGS {written} \"id:1,phase:2\""));
        let test = rule.links[0].test.as_ref().expect("a rule");
        assert_eq!(shown(&test.operator), *expected, "{written}");
        assert_eq!(test.negated, *negated, "{written}");
    }
    for written in ["\"a|b\"", "\"@rx a|b\"", "a|b", "\"@rx a|b\" "] {
        let rule = rule(&format!("SecRule ARGS {written} \"id:1,phase:2\""));
        let Operator::Rx { pattern: weir_rules::seclang::ir::PatternText::Ready(pattern), global: false } =
            &rule.links[0].test.as_ref().expect("a rule").operator
        else {
            panic!("{written}");
        };
        assert_eq!(pattern.source(), "a|b", "{written}");
    }
}

/// An operator with bytes as text.
fn shown(operator: &Operator) -> String {
    let text = |text: &Macro| {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => format!("Text({:?})", String::from_utf8_lossy(text)),
            Piece::Variable(variable, None) => format!("Variable({variable:?})"),
            Piece::Variable(variable, Some(name)) => {
                format!("Variable({variable:?}, {:?})", String::from_utf8_lossy(name))
            }
        };
        format!("Macro([{}])", text.0.iter().map(piece).collect::<Vec<_>>().join(", "))
    };
    match operator {
        Operator::Contains(parameter) => format!("Contains({})", text(parameter)),
        Operator::ContainsWord(parameter) => format!("ContainsWord({})", text(parameter)),
        Operator::StrEq(parameter) => format!("StrEq({})", text(parameter)),
        Operator::Compare(comparison, parameter) => format!("Compare({comparison:?}, {})", text(parameter)),
        other => format!("{other:?}"),
    }
}

fn variable(name: Variable, member: &str) -> Piece {
    Piece::Variable(name, Some(member.as_bytes().to_vec()))
}

fn set(collection: Collection, name: &str, change: Change) -> Effect {
    Effect::SetVariable { collection, name: Macro::text(name.as_bytes()), change }
}

#[test]
fn effects_are_read() {
    let tx = Collection::Tx;
    let cases: Vec<(&str, Effect)> = vec![
        ("setvar:tx.X", set(tx, "x", Change::Set(Macro::text(b"1")))),
        ("setvar:'tx.x=A b, c'", set(tx, "x", Change::Set(Macro::text(b"A b, c")))),
        ("setvar:!tx.x", set(tx, "x", Change::Unset)),
        ("setvar:'!ip.x'", set(Collection::Ip, "x", Change::Unset)),
        ("setvar:tx.x=-3", set(tx, "x", Change::Subtract(Macro::text(b"3")))),
        (
            "setvar:'TX.a_%{tx.B}=+%{tx.c}'",
            Effect::SetVariable {
                collection: tx,
                name: Macro(vec![Piece::Text(b"a_".to_vec()), variable(Variable::Tx, "b")]),
                change: Change::Add(Macro(vec![variable(Variable::Tx, "c")])),
            },
        ),
        (
            "expirevar:'ip.x=60'",
            Effect::ExpireVariable { collection: Collection::Ip, name: Macro::text(b"x"), seconds: Macro::text(b"60") },
        ),
        ("initcol:global=global", Effect::InitCollection(Collection::Global, Macro::text(b"global"))),
        ("setsid:abc", Effect::InitCollection(Collection::Session, Macro::text(b"abc"))),
        ("setenv:'a=b'", Effect::SetEnvironment(Macro::text(b"a"), Macro::text(b"b"))),
        ("ctl:ruleEngine=detectiononly", Effect::Control(Control::RuleEngine(Engine::DetectionOnly))),
        ("ctl:auditLogParts=+E", Effect::Control(Control::Ignored)),
        ("ctl:ruleRemoveById=1-3", Effect::Control(Control::RemoveById(vec![(1, 3)]))),
        ("ctl:forceRequestBodyVariable=On", Effect::Control(Control::ForceRequestBodyVariable(true))),
    ];
    for (written, expected) in cases {
        let rule = rule(&format!("SecAction \"id:1,phase:1,{written},pass\""));
        assert_eq!(rule.links[0].effects, [expected], "{written}");
    }
    let rule = rule("SecAction \"id:1,phase:1,ctl:ruleRemoveTargetByTag=a/b;ARGS:'/x,y/'\"");
    let Effect::Control(Control::RemoveTargetByTag(_, target)) = &rule.links[0].effects[0] else { panic!("{rule:?}") };
    assert!(matches!(&target.selector, Selector::Pattern(pattern) if pattern.source() == "(?i)x,y"));
}

#[test]
fn decisions_follow_the_defaults() {
    let default = "SecDefaultAction \"phase:1,deny,status:429,log\"\n";
    let cases: &[(&str, &str, Disruption)] = &[
        ("", "deny", Disruption::Deny { status: 403 }),
        ("", "deny,status:400", Disruption::Deny { status: 400 }),
        ("", "status:400,drop", Disruption::Drop),
        ("", "nolog", Disruption::Pass),
        ("", "block", Disruption::Pass),
        ("", "allow", Disruption::Allow(AllowScope::All)),
        ("", "allow:phase", Disruption::Allow(AllowScope::Phase)),
        ("", "allow:REQUEST", Disruption::Allow(AllowScope::Request)),
        (
            "",
            "redirect:'http://a/,b',status:307",
            Disruption::Redirect { status: 307, to: Macro::text(b"http://a/,b") },
        ),
        ("", "redirect:http://a/,status:200", Disruption::Redirect { status: 302, to: Macro::text(b"http://a/") }),
        (default, "block", Disruption::Deny { status: 429 }),
        (default, "block,status:400", Disruption::Deny { status: 400 }),
        (default, "block,pass", Disruption::Pass),
        (default, "nolog", Disruption::Pass),
    ];
    for (default, actions, expected) in cases {
        // Defaults apply wherever they stand.
        for text in [
            format!("{default}SecAction \"id:1,phase:1,{actions}\""),
            format!("SecAction \"id:1,phase:1,{actions}\"\n{default}"),
        ] {
            assert_eq!(rule(&text).disruption, *expected, "{text}");
        }
    }
    for (default, actions, expected) in [
        ("", "", true),
        ("", "nolog", false),
        ("", "nolog,auditlog", true),
        ("nolog", "", false),
        ("nolog", "log", true),
        ("noauditlog", "", true),
        ("nolog,noauditlog", "", false),
    ] {
        let text = format!("SecDefaultAction \"phase:1,pass,{default}\"\nSecRule ARGS x \"id:1,phase:1,{actions}\"");
        assert_eq!(rule(&text).log, expected, "{default} {actions}");
        // An action is logged only if it has something to report.
        let action = text.replace("SecRule ARGS x", "SecAction");
        assert!(!rule(&action).log, "{action}");
        assert_eq!(rule(&action.replace("id:1", "id:1,msg:'m'")).log, expected, "{action}");
    }
}

#[test]
fn transformations_add_to_the_defaults_unless_cleared() {
    let text = |actions: &str| {
        format!("SecDefaultAction \"phase:2,pass,t:urlDecode\"\nSecRule ARGS \"@rx x\" \"id:1,phase:2{actions}\"")
    };
    for (actions, expected) in [
        ("", "urlDecode"),
        (",t:lowercase", "urlDecode lowercase"),
        (",t:none", ""),
        (",t:lowercase,t:none,t:trim", "trim"),
    ] {
        let rule = rule(&text(actions));
        let names: Vec<&str> = rule.links[0].transformations.iter().map(|one| one.info().name).collect();
        assert_eq!(names.join(" "), expected, "{actions}");
    }
    let mapped = rule("SecUnicodeMapFile unicode.mapping 20127\nSecRule ARGS x \"id:1,phase:2,t:urlDecodeUni\"");
    assert_eq!(mapped.links[0].transformations, [weir_transform::Transformation::UrlDecodeUniMapped]);
}

#[test]
fn chains_join_rules() {
    let rule = rule(
        "SecRule ARGS a \"id:7,phase:2,deny,setvar:tx.a,ctl:ruleRemoveById=1,skipAfter:END,t:lowercase,chain\"\n\
         SecRule TX:a b \"setvar:tx.b,ctl:ruleRemoveById=2,chain\"\n\
         SecAction \"setvar:tx.c,ctl:ruleRemoveById=3\"\n",
    );
    assert_eq!((rule.id, rule.links.len(), rule.phase), (7, 3, Phase::RequestBody));
    assert_eq!(rule.flow, Flow::SkipAfter("END".into()));
    assert!(rule.links[2].test.is_none());
    let one = || Change::Set(Macro::text(b"1"));
    let remove = |id| Effect::Control(Control::RemoveById(vec![(id, id)]));
    assert_eq!(rule.links[0].effects, [set(Collection::Tx, "a", one())]);
    assert_eq!(rule.links[1].effects, [set(Collection::Tx, "b", one())]);
    // Effects of the whole chain come last, from the last rule to the first.
    assert_eq!(rule.links[2].effects, [set(Collection::Tx, "c", one()), remove(3), remove(2), remove(1)]);
    assert_eq!(rule.links.iter().map(|link| link.place.line).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn a_chain_that_nobody_ends_never_matches_as_a_whole() {
    let loaded = loaded("SecRule ARGS a \"id:7,phase:2,deny,setvar:tx.a,chain\"");
    let rule = rules(&loaded.set)[0];
    assert_eq!(rule.links.len(), 2);
    assert!(rule.links[1].test.as_ref().is_some_and(|test| test.targets.is_empty()));
    assert_eq!(loaded.warnings.len(), 1);
}

const FOUR: &str = "\
SecRule ARGS a \"id:1,phase:2,deny,msg:'one',tag:'x'\"
SecRule ARGS b \"id:2,phase:2,deny,msg:'two',tag:'x',tag:'y'\"
SecRule ARGS c \"id:3,phase:1,deny,msg:'three'\"
SecRule ARGS d \"id:4,phase:2,skip:2,msg:'%{tx.x}'\"
SecAction \"id:5,phase:2,pass\"
SecAction \"id:6,phase:2,pass\"
";

#[test]
fn rules_are_removed_wherever_they_stand() {
    let cases: &[(&str, &[u64])] = &[
        ("", &[1, 2, 3, 4, 5, 6]),
        ("SecRuleRemoveById 1 3-5 99", &[2, 6]),
        ("SecRuleRemoveById \"1,2\"", &[3, 4, 5, 6]),
        ("SecRuleRemoveByTag x", &[3, 4, 5, 6]),
        ("SecRuleRemoveByTag \"^x$\"", &[1, 2, 3, 4, 5, 6]),
        ("SecRuleRemoveByMsg \"two\"", &[1, 3, 4, 5, 6]),
    ];
    for (removal, expected) in cases {
        for text in [format!("{removal}\n{FOUR}"), format!("{FOUR}{removal}")] {
            let loaded = loaded(&text);
            assert_eq!(rules(&loaded.set).iter().map(|rule| rule.id).collect::<Vec<_>>(), *expected, "{text}");
        }
    }
    let loaded = loaded(&format!("{FOUR}SecRuleRemoveById 5\n"));
    let skip = rules(&loaded.set).into_iter().find(|rule| rule.id == 4).expect("is there").flow.clone();
    assert_eq!(skip, Flow::Skip(1), "a removed rule counted");
}

#[test]
fn rules_are_changed_wherever_they_stand() {
    let change = "SecRuleUpdateTargetByTag x \"!ARGS:z|FILES\"\nSecRuleUpdateTargetById 3 !ARGS\n\
                  SecRuleUpdateTargetByMsg \"two\" TX:a\n\
                  SecRuleUpdateActionById 1 \"pass,t:lowercase,msg:'new',severity:3\"\n";
    for text in [format!("{change}{FOUR}"), format!("{FOUR}{change}")] {
        let loaded = loaded(&text);
        let all = rules(&loaded.set);
        assert_eq!(targets(all[0]), ["Args", "Files", "!Args:z"]);
        assert_eq!(targets(all[1]), ["Args", "Files", "Tx:a", "!Args:z"]);
        assert_eq!(targets(all[2]), ["!Args"]);
        assert_eq!(all[0].disruption, Disruption::Pass);
        assert_eq!(all[0].message, Macro::text(b"new"));
        assert_eq!(all[0].severity, Some(3));
        assert_eq!(all[0].links[0].transformations.len(), 1);
        assert_eq!(all[1].disruption, Disruption::Deny { status: 403 });
    }
}

#[test]
fn files_include_others_and_name_data_beside_them() {
    let memory = files(&[
        (
            "/etc/main.conf",
            "Include rules/*.conf\nInclude \"/abs.conf\"\nIncludeOptional none.conf\nIncludeOptional none*.conf\n",
        ),
        ("/etc/rules/b.conf", "SecAction \"id:2,phase:1\""),
        ("/etc/rules/a.conf", "SecRule ARGS \"@pmFromFile x.data\" \"id:1,phase:2\""),
        ("/etc/rules/x.data", "# no\nfoo bar\r\n\nbaz\n"),
        ("/abs.conf", "SecRule REMOTE_ADDR \"@ipMatchFromFile nets\" \"id:3,phase:1\""),
        ("/nets", "10.0.0.0/8 # ten\n\n::1\n"),
    ]);
    let loaded = load_from(&[RuleSource::File("/etc/main.conf".into())], &Options::default(), &memory).expect("loads");
    let all = rules(&loaded.set);
    assert_eq!(all.iter().map(|rule| rule.id).collect::<Vec<_>>(), [1, 2, 3]);
    let operator = |rule: &Rule| rule.links[0].test.as_ref().expect("a rule").operator.clone();
    assert!(matches!(operator(all[0]), Operator::Pm(phrases) if *phrases == [b"foo bar".to_vec(), b"baz".to_vec()]));
    assert!(matches!(operator(all[2]), Operator::IpMatch(networks) if networks.len() == 2));
    assert_eq!(loaded.set.files[all[2].place.file as usize], "/abs.conf");
}

#[test]
fn comments_and_lines_are_those_of_modsecurity() {
    let text = "\u{feff}# SecRule ARGS \"@rx x\" \\\n  \"id:1\"\n#plain \\\nSecAction \"id:2,\\\n  phase:1,  \\\r\n\tpass\" # end\r\n\
                \t SecRule ARGS \\\n   \"@rx x\" \\\n \"id:3,phase:2\"\nSecRule ARGS \"@rx x\"\n  \"id:4,phase:2\"\n\
                SecMarker \"END\"\nSecRuleEngine On";
    let loaded = loaded(text);
    assert_eq!(rules(&loaded.set).iter().map(|rule| rule.id).collect::<Vec<_>>(), [2, 3, 4]);
    assert!(matches!(&loaded.set.entries[3], RuleSetEntry::Marker(name) if name == "END"));
    assert_eq!(loaded.set.settings.engine, Some(Engine::On));
}

#[test]
fn what_is_lacking_is_left_out_if_asked_for() {
    let text = "SecRule ARGS a \"id:1,phase:2,chain\"\nSecRule ARGS \"@fuzzyHash x 1\" \"t:none\"\n\
                SecRule ARGS b \"id:2,phase:2,exec:/x\"\nSecRule ARGS c \"id:3,phase:2\"\nSecChrootDir /x\n";
    let options = Options { on_unsupported: OnUnsupported::Warn, ..Options::default() };
    let loaded = try_load(text, &options).expect("loads");
    assert_eq!(rules(&loaded.set).iter().map(|rule| rule.id).collect::<Vec<_>>(), [3]);
    assert_eq!(loaded.warnings.iter().filter(|one| one.severity == Severity::Warning).count(), 3);
    assert_eq!(try_load(text, &Options::default()).expect_err("fails").len(), 3);
}

#[test]
fn bounds_are_named() {
    let mut limits = Limits { rules: 3, chain: 2, value_bytes: 64, targets: 2, ..Limits::default() };
    limits.include_depth = 2;
    let options = Options { limits, ..Options::default() };
    let cases = [
        ("SecAction \"id:1\"\n".repeat(4), "more than 3 rules"),
        (
            "SecRule ARGS a \"id:1,chain\"\nSecRule ARGS a chain\nSecRule ARGS a t:none".into(),
            "a chain of more than 2 rules",
        ),
        (format!("SecRule ARGS {} \"id:1\"", "x".repeat(65)), "the operator is longer than 64 bytes"),
        (format!("SecAction \"id:1,msg:'{}'\"", "x".repeat(65)), "`msg` is longer than 64 bytes"),
        ("SecRule ARGS|FILES|TX a \"id:1\"".into(), "more than 2 variables"),
    ];
    for (text, expected) in cases {
        let problems = try_load(&text, &options).expect_err(&text);
        assert!(problems.iter().any(|problem| problem.contains(expected)), "{text}: {problems:?}");
    }
    let deep =
        files(&[("/1", "Include 2"), ("/2", "Include 3"), ("/3", "Include 4"), ("/4", ""), ("/self", "Include self")]);
    for (root, expected) in [("/1", "nested deeper than 2"), ("/self", "already being read"), ("/none", "cannot read")]
    {
        let problems = load_from(&[RuleSource::File(root.into())], &options, &deep).expect_err(root);
        assert!(problems.iter().any(|problem| problem.to_string().contains(expected)), "{root}: {problems:?}");
    }
    let small = Options { limits: Limits { file_bytes: 4, ..Limits::default() }, ..Options::default() };
    assert!(load_from(&[RuleSource::File("/1".into())], &small, &deep).is_err());
    let total = Options { limits: Limits { total_bytes: 20, ..Limits::default() }, ..Options::default() };
    assert!(load_from(&[RuleSource::File("/1".into())], &total, &deep).is_err());
}
