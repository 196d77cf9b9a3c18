//! Rule sets of a policy: which files, what is wrong with them, what is shared.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use weir_engine::Action;
use weir_engine::seclang::{Profile, Program};
use weir_policy::Snapshot;

/// A folder like a checkout of CRS.
fn checkout(setup: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("rules")).unwrap();
    fs::write(folder.path().join(setup), "SecAction \"id:900000,phase:1,nolog,pass,setvar:tx.paranoia_level=3\"\n")
        .unwrap();
    fs::write(folder.path().join("rules/words.data"), "evil\n").unwrap();
    fs::write(
        folder.path().join("rules/REQUEST-942.conf"),
        "SecRule ARGS \"@pmFromFile words.data\" \"id:942100,phase:2,deny,msg:'Words',severity:CRITICAL,tag:'attack-sqli',tag:'x'\"\n\
         SecRule ARGS \"@rx bad\" \"id:942110,phase:2,deny,tag:'attack-sqli',chain\"\n\
         SecRule REQUEST_METHOD \"!@within %{tx.allowed_methods}\" chain\n\
         SecRule TX:MAX_ARGS \"@gt %{tx.arg_length}\"\n",
    )
    .unwrap();
    folder
}

fn policy(action: &str) -> String {
    format!(
        "policies:\n  - id: p\n    rules:\n      - id: set\n        when: 'true'\n        action:\n          {action}\n"
    )
}

fn load(action: &str, folder: &Path) -> Result<Snapshot, String> {
    Snapshot::parse(&policy(action), &folder.join("policy.yaml")).map_err(|errors| errors.to_string())
}

fn profiles(snapshot: &Snapshot) -> Vec<Arc<Profile>> {
    let selectors = snapshot.specification().policies.iter().flat_map(|policy| &policy.selectors);
    let actions = selectors.flat_map(|selector| &selector.rules).flat_map(|rule| &rule.actions);
    actions
        .filter_map(|action| if let Action::RuleSet(profile) = action { Some(Arc::clone(profile)) } else { None })
        .collect()
}

fn program(snapshot: &Snapshot) -> Arc<Program> {
    Arc::clone(profiles(snapshot)[0].program())
}

#[test]
fn a_checkout_loads_by_its_path_and_its_rules_have_labels() {
    let crs = checkout("crs-setup.conf");
    let snapshot = load("crs: {path: ., paranoia: 2}", crs.path()).unwrap();
    assert_eq!(snapshot.warnings(), []);
    let labels = snapshot.rules();
    let ids: Vec<&str> = labels.iter().map(|label| label.id.as_str()).collect();
    assert_eq!(ids, ["set", "900000", "200002", "200007", "942100", "942110"]);
    let rule = &labels[4];
    assert_eq!((rule.policy.as_str(), rule.selector.as_str(), rule.plugin), ("p", "default", "crs"));
    assert_eq!((rule.message.as_str(), rule.severity, rule.line), ("Words", Some("CRITICAL"), 1));
    assert_eq!(rule.tags, ["attack-sqli", "x"]);
    assert!(rule.file.as_deref().unwrap().ends_with("rules/REQUEST-942.conf"));
    assert!(labels[0].file.is_none());
}

#[test]
fn files_are_read_in_their_order() {
    let crs = checkout("crs-setup.conf");
    fs::create_dir(crs.path().join("plugins")).unwrap();
    for (id, file) in [
        (1, "plugins/x-config.conf"),
        (2, "REQUEST-900-EXCLUSION-RULES-BEFORE-CRS.conf"),
        (3, "mine-1.conf"),
        (4, "plugins/x-before.conf"),
        (5, "plugins/x-after.conf"),
        (6, "mine-2.conf"),
        (7, "RESPONSE-999-EXCLUSION-RULES-AFTER-CRS.conf"),
    ] {
        fs::write(crs.path().join(file), format!("SecAction \"id:{id},phase:1,pass,nolog\"\n")).unwrap();
    }
    let snapshot = load("crs: {path: ., before: ['mine-1*'], after: [mine-2.conf]}", crs.path()).unwrap();
    let ids: Vec<&str> = snapshot.rules().iter().map(|label| label.id.as_str()).collect();
    assert_eq!(ids, ["set", "900000", "1", "2", "3", "4", "200002", "200007", "942100", "942110", "5", "6", "7"]);
}

#[test]
fn a_fresh_checkout_uses_the_example_setup_and_says_so() {
    let crs = checkout("crs-setup.conf.example");
    let snapshot = load("crs: {path: .}", crs.path()).unwrap();
    let warnings: Vec<String> = snapshot.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("policy.yaml:7:") && warnings[0].contains("crs-setup.conf.example"), "{warnings:?}");
}

#[test]
fn what_is_wrong_is_told_at_its_place() {
    let crs = checkout("crs-setup.conf");
    fs::write(
        crs.path().join("bad.conf"),
        "SecRule ARGS \"@rx x\" \"id:1,phase:2,deny\"\nSecRule ARGZ \"@rx x\" \"id:2\"\n",
    )
    .unwrap();
    for (action, expected) in [
        ("crs: {path: nowhere}", "there are no CRS rules in"),
        ("crs: {path: ., setup: missing.conf}", "missing.conf"),
        ("crs: {path: ., paranoia: 5}", "expected an integer from 1 to 4"),
        ("crs: {path: ., paranoia: 3, executing_paranoia: 2}", "`executing_paranoia` 2 is below `paranoia` 3"),
        ("crs: {path: ., detect: yes}", "expected `true` or `false`"),
        ("crs: {path: ., exclude: [{rule: 942101}]}", "the rule set has no rule 942101"),
        ("crs: {path: ., exclude: [{rule: 942101}]}", "its neighbours are 942100 and 942110"),
        ("crs: {path: ., exclude: [{rule: [942100, 943000-943999]}]}", "no rule from 943000 to 943999"),
        ("crs: {path: ., exclude: [{rule: 942199-942100}]}", "the first id of a range is the lower one"),
        ("crs: {path: ., exclude: [{tag: attack-sql}]}", "did you mean `attack-sqli`?"),
        ("crs: {path: ., exclude: [{target: ARGS}]}", "an exclusion needs `rule` or `tag`"),
        ("crs: {path: ., exclude: [{tag: x, rule: 942100}]}", "either `rule` or `tag`"),
        ("crs: {path: ., exclude: [{tag: x, target: 'ARGZ:a'}]}", "ARGZ"),
        ("crs: {path: ., exclude: [{tag: x, target: 'ARGS:a\" \"@rx'}]}", "expected one target"),
        ("crs: {path: ., exclude: [{tag: x, target: 'ARGS|FILES'}]}", "expected one target"),
        (
            "crs: {path: ., exclude: [{tag: x, when: 'any(http.request.body.form.values[*] eq \"a\")'}]}",
            "depends on more than the request's head",
        ),
        ("crs: {path: ., exclude: [{tag: x, when: 'http.hots eq \"a\"'}]}", "http.hots"),
        ("crs: {path: ., variables: {alowed_methods: GET}}", "did you mean `allowed_methods`?"),
        ("crs: {path: ., variables: {max_args: many}}", "expected an integer for `max_args`, found \"many\""),
        ("crs: {path: ., variables: {arg_length: '5k'}}", "expected an integer for `arg_length`, found \"5k\""),
        ("rule_set: {files: []}", "expected at least one item"),
        ("rule_set: {files: ['*.none']}", "no file matches"),
        ("rule_set: {files: [bad.conf]}", "bad.conf:2:9:"),
    ] {
        let errors = load(action, crs.path()).unwrap_err();
        assert!(errors.contains(expected), "{action}: {expected} in {errors}");
    }
    let late = policy("rule_set: {files: [bad.conf]}").replace("'true'", "'http.request.body.raw contains \"a\"'");
    let errors = Snapshot::parse(&late, &crs.path().join("policy.yaml")).unwrap_err().to_string();
    assert!(errors.contains("bad.conf:2"), "{errors}");
}

/// The only warning of a policy.
fn warning(action: &str, folder: &Path) -> Option<String> {
    let snapshot = load(action, folder).unwrap_or_else(|errors| panic!("{action}: {errors}"));
    let warnings: Vec<String> = snapshot.warnings().iter().map(ToString::to_string).collect();
    assert!(warnings.len() < 2, "{action}: {warnings:?}");
    warnings.into_iter().next()
}

#[test]
fn variables_that_no_rule_uses_are_warned_of() {
    let crs = checkout("crs-setup.conf");
    for variables in ["allowed_methods: GET POST", "MAX_ARGS: 5", "max_args: '5'"] {
        assert_eq!(warning(&format!("crs: {{path: ., variables: {{{variables}}}}}"), crs.path()), None, "{variables}");
    }
    let warning = warning("crs: {path: ., variables: {of_another_version: 1}}", crs.path()).unwrap();
    assert!(warning.contains("policy.yaml:7:") && warning.contains("no rule of the set uses a variable"), "{warning}");
}

#[test]
fn look_ups_without_a_database_are_warned_of_unless_they_are_switched_off() {
    let crs = checkout("crs-setup.conf");
    let text = "SecRule TX:COUNTRIES \"!@rx ^$\" \"id:1,phase:1,deny,chain\"\n  SecRule REMOTE_ADDR \"@geoLookup\"\n";
    fs::write(crs.path().join("geo.conf"), format!("\n{text}")).unwrap();
    let place = format!("{}:2: rule 1: `@geoLookup` never matches", crs.path().join("geo.conf").display());
    for (action, is_used) in [
        ("rule_set: {files: [geo.conf]}", false),
        ("rule_set: {files: [geo.conf], variables: {countries: XX}}", true),
        ("rule_set: {files: [geo.conf], variables: {countries: XX}, exclude: [{rule: 1}]}", false),
    ] {
        let warning = warning(action, crs.path());
        assert_eq!(warning.is_some(), is_used, "{action}: {warning:?}");
        assert!(warning.is_none_or(|warning| warning.starts_with(&place) && warning.contains("hint: name an MMDB")));
    }
}

#[test]
fn good_exclusions_load() {
    let crs = checkout("crs-setup.conf");
    for exclude in [
        "{rule: 942100}",
        "{rule: 942100-942199}",
        "{rule: [942100, '942105-942110'], target: 'ARGS:comment'}",
        "{tag: attack-sqli, target: 'REQUEST_COOKIES:/^(a|b) c/', when: 'http.host eq \"a\" and ip.src in {192.0.2.0/24}'}",
    ] {
        let snapshot = load(&format!("crs: {{path: ., exclude: [{exclude}]}}"), crs.path());
        assert!(snapshot.is_ok(), "{exclude}: {}", snapshot.unwrap_err());
    }
}

#[test]
fn programs_are_shared_until_a_file_changes() {
    let crs = checkout("crs-setup.conf");
    let first = load("crs: {path: ., paranoia: 1}", crs.path()).unwrap();
    let second = load("crs: {path: ., paranoia: 4, exclude: [{rule: 942100}], detect: true}", crs.path()).unwrap();
    assert!(Arc::ptr_eq(&program(&first), &program(&second)), "settings and exclusions are not part of it");
    // Rules, data and new files that a pattern matches all count.
    for (file, content) in [
        ("rules/REQUEST-942.conf", "SecRule ARGS \"@pmFromFile words.data\" \"id:942100,phase:2,deny\"\n"),
        ("rules/words.data", "evil\nworse\n"),
        ("rules/REQUEST-950.conf", "SecRule ARGS \"@rx new\" \"id:950000,phase:2,deny\"\n"),
        ("crs-setup.conf", "# nothing\n"),
    ] {
        let before = load("crs: {path: .}", crs.path()).unwrap();
        fs::write(crs.path().join(file), content).unwrap();
        let after = load("crs: {path: .}", crs.path()).unwrap();
        assert!(!Arc::ptr_eq(&program(&before), &program(&after)), "{file}");
        assert_ne!(before.revision(), after.revision(), "{file}");
        let again = load("crs: {path: .}", crs.path()).unwrap();
        assert!(Arc::ptr_eq(&program(&after), &program(&again)), "{file}");
        assert_eq!(after.revision(), again.revision(), "{file}");
    }
    drop(first);
}

#[test]
fn two_hundred_sites_share_one_program_and_one_range_of_rules() {
    let crs = checkout("crs-setup.conf");
    let mut text = "policies:\n  - id: sites\n    selectors:\n".to_owned();
    for site in 0..200 {
        text += &format!(
            "      - id: s{site}\n        when: 'http.host eq \"s{site}.test\"'\n        rules:\n          - id: r{site}\n            when: 'true'\n            action: {{crs: {{path: ., exclude: [{{rule: 942100, target: 'ARGS:a{site}'}}]}}}}\n"
        );
    }
    let snapshot = Snapshot::parse(&text, &crs.path().join("policy.yaml")).unwrap_or_else(|errors| panic!("{errors}"));
    let profiles = profiles(&snapshot);
    assert_eq!(profiles.len(), 200);
    assert!(profiles.iter().all(|profile| Arc::ptr_eq(profile.program(), profiles[0].program())));
    assert_eq!(snapshot.rules().len(), 200 + 5);
}

#[test]
fn what_rule_sets_need_is_known() {
    let folder = tempfile::tempdir().unwrap();
    for (rules, collections, response_body, server_address) in [
        ("SecRule ARGS \"@rx x\" \"id:1,phase:2,deny\"\n", false, false, false),
        ("SecAction \"id:1,phase:1,pass,initcol:ip=%{REMOTE_ADDR}\"\n", true, false, false),
        ("SecRule RESPONSE_BODY \"@rx x\" \"id:1,phase:4,deny\"\n", false, true, false),
        ("SecRule SERVER_ADDR \"@ipMatch 192.0.2.1\" \"id:1,phase:1,deny\"\n", false, false, true),
    ] {
        fs::write(folder.path().join("r.conf"), rules).unwrap();
        let needs = load("rule_set: {files: [r.conf]}", folder.path()).unwrap().rule_set_needs();
        assert_eq!(
            (needs.collections, needs.response_body, needs.server_address),
            (collections, response_body, server_address),
            "{rules}"
        );
        assert!(needs.request_id);
    }
}

/// What a reload costs, for the record: `cargo test --release -p weir-policy --test rule_sets -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn debians_rules_load_and_reload() {
    let text = policy("crs: {path: /usr/share/modsecurity-crs}");
    let begun = std::time::Instant::now();
    let first = Snapshot::parse(&text, Path::new("policy.yaml")).unwrap_or_else(|errors| panic!("{errors}"));
    println!("load: {:?}, {} rules, warnings {:?}", begun.elapsed(), first.rules().len(), first.warnings());
    let begun = std::time::Instant::now();
    let second = Snapshot::parse(&text, Path::new("policy.yaml")).unwrap();
    println!("reload: {:?}", begun.elapsed());
    assert!(Arc::ptr_eq(&program(&first), &program(&second)));
}

/// What a site costs beside what it shares: `cargo test --release ... -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn two_hundred_sites_with_debians_rules() {
    let resident = || -> u64 {
        let text = fs::read_to_string("/proc/self/statm").unwrap();
        text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4
    };
    let mut held = Vec::new();
    for sites in [1, 200] {
        let mut text = "policies:\n  - id: sites\n    selectors:\n".to_owned();
        for site in 0..sites {
            text += &format!(
                "      - id: s{site}\n        when: 'http.host eq \"s{site}.test\"'\n        rules:\n          - id: r{site}\n            when: 'true'\n            action: {{crs: {{paranoia: {}, exclude: [{{tag: attack-sqli, target: 'ARGS:a{site}'}}, {{rule: 941100, when: 'http.request.uri.path eq \"/p{site}\"'}}]}}}}\n",
                site % 4 + 1
            );
        }
        let begun = std::time::Instant::now();
        let snapshot = Snapshot::parse(&text, Path::new("policy.yaml")).unwrap_or_else(|errors| panic!("{errors}"));
        println!("{sites} sites: {:?}, {} kB resident", begun.elapsed(), resident());
        held.push(snapshot);
    }
}

/// A checkout of CRS 4 loads as it is: `CRS_PATH=/path/to/coreruleset cargo test ... -- --ignored any_checkout`.
#[test]
#[ignore = "needs a checkout of CRS: `make conformance CRS_TESTS=FOLDER`"]
fn any_checkout_loads_unedited() {
    let path = std::env::var("CRS_PATH").expect("CRS_PATH says where the checkout is");
    let text = policy(&format!("crs: {{path: {path}, paranoia: 4}}"));
    let snapshot = Snapshot::parse(&text, Path::new("policy.yaml")).unwrap_or_else(|errors| panic!("{errors}"));
    println!("{} rules", snapshot.rules().len());
    snapshot.warnings().iter().for_each(|warning| println!("{warning}"));
}
