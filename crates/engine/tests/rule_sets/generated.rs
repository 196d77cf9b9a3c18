//! Rule sets and requests made from bytes, run both ways: small programs over a few variables
//! of `TX`, in which most rules depend on nothing else, and some look at the request.
//!
//! Rules ask for what they have matched themselves only: what a rule before them has matched is
//! remembered where both are run, and forgotten where one of them was worked out ahead of time.

use std::fmt::Write;
use std::sync::Arc;

use weir_engine::seclang::{Exclusion, RuleChoice, Tuning};
use weir_rules::seclang::ir::{Selector, Target, TextMatch, Variable};
use weir_rules::{NoLists, parse};

use crate::site::{Request, Site, program};

/// Choices drawn from bytes. Past the end every choice is the first alternative.
struct Choices<'b>(&'b [u8]);

impl Choices<'_> {
    fn below(&mut self, bound: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first) % bound
    }

    fn pick<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len())]
    }

    /// True once in so many times.
    fn rarely(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }
}

const NAMES: [&str; 5] = ["a", "b", "ab", "c", "anomaly_score_pl1"];
const VALUES: [&str; 6] = ["1", "0", "2", "a", "-1", "x%{tx.b}"];
const WORDS: [&str; 6] = ["1", "evil", "a", "Evil+b", "evil2a", ""];
/// Rules of one set, at most.
const MAX_RULES: usize = 14;

/// Requests to each generated rule set.
pub const REQUESTS: usize = 4;

/// Runs the case that the bytes describe; how many findings it had.
pub fn check(bytes: &[u8]) -> Result<usize, String> {
    let mut choices = Choices(bytes);
    let text = rules(&mut choices);
    let program = program(&text).map_err(|errors| format!("{errors}\n{text}"))?;
    let tuning = tuning(&mut choices);
    let site = Site::of(Arc::clone(&program), tuning.clone());
    let mut findings = 0;
    for _ in 0..REQUESTS {
        let request = request(&mut choices);
        let (quick, naive) = site.both(&request);
        if quick != naive {
            return Err(format!("{text}\n{tuning:?}\n{request:?}\nquick {quick:#?}\nnaive {naive:#?}"));
        }
        findings += quick.findings.len();
    }
    Ok(findings)
}

/// Rules, as text.
fn rules(choices: &mut Choices<'_>) -> String {
    let mut text = String::new();
    if choices.rarely(6) {
        text += "SecDefaultAction \"phase:2,deny,status:418,log\"\n";
    }
    let marker_at = choices.below(MAX_RULES);
    for id in 1..=2 + choices.below(MAX_RULES - 1) {
        if id == marker_at {
            text += "SecMarker WEIR-SETTINGS\n";
        }
        if choices.rarely(4) {
            writeln!(text, "SecMarker M{}", choices.below(2)).unwrap();
        }
        text += &rule(choices, id);
    }
    // What nothing has shown so far shows here.
    for phase in [2, 5] {
        writeln!(
            text,
            "SecRule TX|HIGHEST_SEVERITY \"@unconditionalMatch\" \"id:{},phase:{phase},log,pass,\
             logdata:'{SHOWN}',setvar:tx.all=%{{tx.all}} %{{matched_var_name}}=%{{matched_var}}\"\n\
             SecRule TX:all \"@unconditionalMatch\" \"id:{},phase:{phase},log,pass,logdata:'%{{tx.all}}'\"",
            900 + phase,
            910 + phase
        )
        .unwrap();
    }
    text
}

const SHOWN: &str = "a=%{tx.a} b=%{tx.b} ab=%{tx.ab} c=%{tx.c} 0=%{tx.0} h=%{highest_severity} m=%{matched_var_name}";

fn rule(choices: &mut Choices<'_>, id: usize) -> String {
    let phase = [1, 1, 1, 2, 2, 2, 3, 4, 5][choices.below(9)];
    let mut actions = format!(
        "id:{id},phase:{phase},{}",
        choices.pick(&[
            "pass",
            "pass",
            "pass",
            "pass",
            "pass",
            "block",
            "allow:phase",
            "allow:request",
            "allow",
            "deny"
        ])
    );
    actions +=
        choices.pick(&[",nolog", ",nolog", ",nolog", ",log", ",nolog,severity:2", ",log,severity:CRITICAL,tag:t2"]);
    actions += choices.pick(&["", "", ",tag:t1", ",logdata:'%{matched_var_name} %{tx.a} %{tx.c}'"]);
    for _ in 0..choices.below(3) {
        actions += &effect(choices);
    }
    actions += &flow(choices);
    let links = if choices.rarely(4) { 2 + choices.below(2) } else { 1 };
    if links == 1 && choices.rarely(3) {
        // Not logged, and nothing of what rules before it have matched.
        let actions = actions.replace(",log", ",nolog").replace("nologdata", "logdata");
        return format!("SecAction \"{}\"\n", actions.replace("%{matched_var_name}", "").replace("%{matched_var}", ""));
    }
    let mut text = String::new();
    for number in 0..links {
        let chain = if number + 1 < links { ",chain" } else { "" };
        let test = test(choices, number);
        let first = if number == 0 { actions.clone() } else { format!("t:none{}", setvar(choices)) };
        writeln!(
            text,
            "SecRule {test} \"{first}{}{chain}\"",
            choices.pick(&["", "", "", ",capture", ",multiMatch,t:lowercase,t:urlDecode", ",t:lowercase"])
        )
        .unwrap();
    }
    text
}

fn flow(choices: &mut Choices<'_>) -> String {
    match choices.below(8) {
        0..=4 => String::new(),
        5 => format!(",skip:{}", 1 + choices.below(4)),
        _ => format!(",skipAfter:{}", choices.pick(&["M0", "M1", "NONE"])),
    }
}

fn effect(choices: &mut Choices<'_>) -> String {
    match choices.below(8) {
        0..=4 => setvar(choices),
        5 => {
            let id = 1 + choices.below(MAX_RULES);
            choices
                .pick(&[",ctl:ruleRemoveById=#", ",ctl:ruleRemoveById=#-20", ",ctl:ruleRemoveByTag=t1"])
                .replace('#', &id.to_string())
        }
        6 => {
            let target = choices.pick(&["TX:a", "TX:b", "ARGS:x", "ARGS", "TX"]);
            match choices.below(3) {
                0 => format!(",ctl:ruleRemoveTargetByTag=t1;{target}"),
                _ => format!(",ctl:ruleRemoveTargetById={};{target}", 1 + choices.below(MAX_RULES)),
            }
        }
        _ => choices
            .pick(&[",ctl:ruleEngine=DetectionOnly", ",ctl:requestBodyAccess=Off", ",ctl:ruleEngine=Off"])
            .to_owned(),
    }
}

fn setvar(choices: &mut Choices<'_>) -> String {
    let name = choices.pick(&NAMES);
    match choices.below(10) {
        0 => format!(",setvar:tx.{name}=1"),
        1 | 2 => format!(",setvar:tx.{name}={}", choices.pick(&VALUES)),
        3 | 4 => format!(",setvar:tx.{name}=+{}", choices.pick(&["1", "2", "%{tx.a}", "%{tx.c}"])),
        5 => format!(",setvar:tx.{name}=-1"),
        6 => format!(",setvar:!tx.{name}"),
        7 => format!(",setvar:tx.{name}=%{{tx.{}}}", choices.pick(&NAMES)),
        8 => format!(",setvar:tx.%{{tx.{name}}}=2"),
        _ => format!(
            ",setvar:tx.{name}={}",
            choices.pick(&["%{matched_var}", "%{tx.0}", "%{matched_var_name}", "%{args.x}"])
        ),
    }
}

fn test(choices: &mut Choices<'_>, link: usize) -> String {
    let variables = match choices.below(6) {
        0..=2 => choices.pick(&[
            "TX:a",
            "TX:b",
            "TX:ab",
            "TX:a|TX:b",
            "TX:c",
            "TX:/^a/",
            "&TX:a",
            "&TX:/b/",
            "TX",
            "TX:a|TX:/b$/|&TX:c",
            "TX|!TX:a",
        ]),
        3 | 4 => choices.pick(&[
            "ARGS:x",
            "ARGS",
            "ARGS_GET|REQUEST_HEADERS:X-A",
            "ARGS_NAMES",
            "REQUEST_URI",
            "REQUEST_BODY",
            "ARGS|!ARGS:x",
            "ARGS:/^x/",
            "&ARGS:x",
            "ARGS_POST",
            "REQUEST_HEADERS:X-A",
        ]),
        5 if link > 0 => choices.pick(&["MATCHED_VAR", "MATCHED_VAR_NAME", "TX:0"]),
        _ => choices.pick(&[
            "TX:0",
            "HIGHEST_SEVERITY",
            "RESPONSE_BODY",
            "ARGS:x|TX:a",
            "RESPONSE_HEADERS",
            "TX:/^[0-9]/",
        ]),
    };
    let operator = choices.pick(&[
        "@eq 1",
        "@ge 1",
        "@eq 0",
        "@lt 2",
        "@streq %{tx.b}",
        "!@eq 1",
        "@rx ^(.)",
        "@rx (evil)|2",
        "@contains evil",
        "@pm evil beta",
        "@unconditionalMatch",
        "@within 1 a evil",
        "!@rx evil",
        "@eq %{tx.a}",
        "@rx ^$",
        "@rx %{tx.a}",
        "@streq a",
        "@rx e[vw]il",
        "@beginsWith x",
        "@endsWith a",
    ]);
    format!("{variables} \"{operator}\"")
}

/// How a rule set is used.
fn tuning(choices: &mut Choices<'_>) -> Tuning {
    let mut tuning = Tuning { request_body: Some(true), response_body: Some(true), ..Tuning::default() };
    let mut pairs = |pairs: &mut Vec<(Vec<u8>, Vec<u8>)>| {
        for _ in 0..choices.below(3) {
            pairs.push((choices.pick(&NAMES).into(), choices.pick(&["1", "2", "a"]).into()));
        }
    };
    pairs(&mut tuning.variables);
    pairs(&mut tuning.settings);
    for _ in 0..choices.below(3) {
        let first = choices.below(MAX_RULES) as u64;
        let rules = match choices.below(3) {
            0 => RuleChoice::Tag(TextMatch::Exact("t1".to_owned())),
            1 => RuleChoice::Ids(vec![(first, first + 2)]),
            _ => RuleChoice::Ids(vec![(first, first)]),
        };
        let target = |variable, selector| Some(Target { variable, selector, count: false });
        let target = match choices.below(4) {
            0 => target(Variable::Tx, Selector::Name(b"a".to_vec())),
            1 => target(Variable::Args, Selector::Name(b"x".to_vec())),
            _ => None,
        };
        let when = (choices.below(3) == 0).then(|| parse("http.request.uri.query contains \"x\"", &NoLists).unwrap());
        tuning.exclusions.push(Exclusion { rules, target, when });
    }
    tuning
}

/// A request that such rules may match.
fn request(choices: &mut Choices<'_>) -> Request {
    let arguments = |choices: &mut Choices<'_>| {
        let mut text = String::new();
        for _ in 0..choices.below(3) {
            write!(text, "{}={}&", choices.pick(&["x", "a", "xa", "evil"]), choices.pick(&WORDS)).unwrap();
        }
        text
    };
    let target = format!("/{}?{}", choices.pick(&["", "evil", "1"]), arguments(choices));
    let mut request = match choices.below(3) {
        0 => Request::get(&target),
        _ => Request::form(&target, &arguments(choices)),
    };
    if choices.rarely(3) {
        request = request.header("X-A", choices.pick(&WORDS));
    }
    if choices.below(2) == 0 {
        request = request.answer(200, "text/html", choices.pick(&["", "evil", "1"]));
    }
    request
}
