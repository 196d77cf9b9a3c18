//! What a use of a rule set changes: exclusions, variables, settings.

use weir_engine::seclang::{Exclusion, RuleChoice, Tuning};
use weir_rules::seclang::ir::{Selector, Target, TextMatch, Variable};
use weir_rules::{NoLists, parse};

use crate::site::{Request, Site};

const RULES: &str = "SecRule ARGS \"@rx ^evil\" \"id:1,phase:1,pass,tag:'t'\"\n\
                     SecRule ARGS|REQUEST_HEADERS:X-A \"@contains evil\" \"id:2,phase:2,pass\"\n\
                     SecAction \"id:3,phase:1,nolog,pass,setvar:tx.a=1\"\n\
                     SecRule TX:a \"@eq 1\" \"id:4,phase:1,nolog,pass,setvar:tx.b=1\"\n\
                     SecRule TX:b \"@eq 1\" \"id:5,phase:2,pass\"\n";

fn ids(exclusions: Vec<Exclusion>, target: &str) -> String {
    let tuning = Tuning { exclusions, request_body: Some(true), ..Tuning::default() };
    Site::tuned(RULES, tuning).see(&Request::get(target)).ids()
}

#[test]
fn exclusions_take_out_rules_or_targets_always_or_when() {
    let by_id = |first, last| RuleChoice::Ids(vec![(first, last)]);
    let target = |variable, name: &[u8]| Some(Target { variable, selector: Selector::Name(name.into()), count: false });
    let when = |text: &str| Some(parse(text, &NoLists).unwrap());
    let at_p = "http.request.uri.path eq \"/p\"";
    for (rules, target, when, request, expected) in [
        (by_id(9, 9), None, None, "/?a=evil", "1 2 5"),
        (by_id(1, 1), None, None, "/?a=evil", "2 5"),
        (by_id(1, 2), None, None, "/?a=evil", "5"),
        (RuleChoice::Tag(TextMatch::Exact("t".into())), None, None, "/?a=evil", "2 5"),
        (by_id(1, 1), target(Variable::Args, b"a"), None, "/?a=evil", "2 5"),
        (by_id(1, 1), target(Variable::Args, b"a"), None, "/?b=evil", "1 2 5"),
        (by_id(1, 2), target(Variable::ArgsGet, b"a"), None, "/?a=evil", "5"),
        (by_id(1, 1), None, when(at_p), "/?a=evil", "1 2 5"),
        (by_id(1, 1), None, when(at_p), "/p?a=evil", "2 5"),
        (by_id(2, 2), target(Variable::Args, b"a"), when(at_p), "/p?a=evil", "1 5"),
        (by_id(2, 2), target(Variable::Args, b"a"), when(at_p), "/?a=evil", "1 2 5"),
        // Rules that were worked out ahead of time.
        (by_id(3, 3), None, None, "/", ""),
        (by_id(4, 4), None, when(at_p), "/p", ""),
        (by_id(4, 4), None, when(at_p), "/", "5"),
        (by_id(4, 4), target(Variable::Tx, b"a"), None, "/", ""),
        (by_id(4, 4), target(Variable::Tx, b"a"), when(at_p), "/p", ""),
        (by_id(4, 4), target(Variable::Tx, b"b"), None, "/", "5"),
    ] {
        let exclusion = Exclusion { rules, target, when };
        assert_eq!(ids(vec![exclusion.clone()], request), expected, "{exclusion:?} {request}");
    }
}

#[test]
fn settings_win_over_what_stands_before_the_marker() {
    let rules = "SecAction \"id:1,phase:1,nolog,pass,setvar:tx.level=1,setvar:tx.other=1\"\n\
                 SecRule ARGS:up \"@rx .\" \"id:2,phase:1,nolog,pass,setvar:tx.level=9\"\n\
                 SecRule ARGS:over \"@rx .\" \"id:3,phase:1,nolog,pass,skipAfter:BEHIND\"\n\
                 SecRule TX:level \"@eq 1\" \"id:4,phase:1,pass\"\n\
                 SecMarker WEIR-SETTINGS\n\
                 SecMarker BEHIND\n\
                 SecRule TX:level \"@eq 3\" \"id:5,phase:1,pass\"\n\
                 SecRule TX:other \"@eq 1\" \"id:6,phase:2,pass\"\n\
                 SecRule ARGS:late \"@rx .\" \"id:7,phase:1,nolog,pass,setvar:tx.level=7\"\n\
                 SecRule TX:level \"@eq 7\" \"id:8,phase:2,pass\"\n";
    let tuning = Tuning { settings: vec![(b"level".to_vec(), b"3".to_vec())], ..Tuning::default() };
    let site = Site::tuned(rules, tuning);
    for (target, expected) in
        [("/", "4 5 6"), ("/?up=1", "5 6"), ("/?over=1", "5 6"), ("/?up=1&over=1", "5 6"), ("/?late=1", "4 5 8 6")]
    {
        let mut ids: Vec<&str> = expected.split(' ').collect();
        ids.sort_unstable();
        let seen = site.see(&Request::get(target)).ids();
        let mut seen: Vec<&str> = seen.split(' ').collect();
        seen.sort_unstable();
        assert_eq!(seen, ids, "{target}");
    }
}

#[test]
fn variables_are_there_before_the_first_rule() {
    let rules = "SecRule TX:a \"@eq 3\" \"id:1,phase:1,pass\"\nSecAction \"id:2,phase:1,nolog,pass,setvar:tx.a=+1\"\n\
                 SecRule TX:a \"@eq 4\" \"id:3,phase:1,pass\"\n";
    let tuning = Tuning { variables: vec![(b"a".to_vec(), b"3".to_vec())], ..Tuning::default() };
    assert_eq!(Site::tuned(rules, tuning).see(&Request::get("/")).ids(), "1 3");
}
