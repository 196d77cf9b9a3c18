//! `ctl`: what a match changes for the rest of the request.

use crate::site::{Request, check};

fn get(target: &str) -> Request {
    Request::get(target)
}

const REST: &str = "SecRule ARGS:a|ARGS:b \"@rx ^evil\" \"id:10,phase:2,pass,tag:'x',tag:'y',msg:'ten'\"\n\
                    SecRule ARGS \"@rx ^evil\" \"id:11,phase:2,pass,tag:'y',msg:'eleven'\"\n\
                    SecRule REQUEST_HEADERS:X-A \"@rx .\" \"id:12,phase:2,pass,tag:'z'\"\n";

#[test]
fn rules_and_targets_are_removed() {
    for (control, target, ids) in [
        ("ruleRemoveById=999", "/?a=evil", "10 11 12"),
        ("ruleRemoveById=10", "/?a=evil", "11 12"),
        ("ruleRemoveById=10-11", "/?a=evil", "12"),
        ("ruleRemoveByTag=x", "/?a=evil", "11 12"),
        ("ruleRemoveByTag=y", "/?a=evil", "12"),
        ("ruleRemoveByTag=nothing", "/?a=evil", "10 11 12"),
        ("ruleRemoveByMsg=eleven", "/?a=evil", "10 12"),
        ("ruleRemoveTargetById=10;ARGS:a", "/?a=evil", "11 12"),
        ("ruleRemoveTargetById=10;ARGS:a", "/?b=evil", "10 11 12"),
        ("ruleRemoveTargetById=11;ARGS:a", "/?a=evil", "10 12"),
        ("ruleRemoveTargetById=11;ARGS:a", "/?a=evil&c=evil", "10 11 12"),
        ("ruleRemoveTargetById=11;ARGS", "/?a=evil", "10 12"),
        ("ruleRemoveTargetByTag=y;ARGS:a", "/?a=evil", "12"),
        // Names of members whatever their case, as everywhere; ModSecurity compares them exactly here.
        ("ruleRemoveTargetByTag=y;ARGS:A", "/?a=evil&b=evil", "10 11 12"),
        ("ruleRemoveTargetByTag=z;REQUEST_HEADERS:x-a", "/?a=evil", "10 11"),
        ("ruleEngine=Off", "/?a=evil", ""),
        ("ruleEngine=DetectionOnly", "/?a=evil", "10 11 12"),
    ] {
        let text = format!("SecRule REQUEST_METHOD \"@streq GET\" \"id:1,phase:1,nolog,pass,ctl:{control}\"\n{REST}");
        let rules: &'static str = text.leak();
        check([(rules, get(target).header("X-A", "1"), ids)]);
    }
}

#[test]
fn removals_hold_from_then_on_and_only_in_requests_that_match() {
    let rules = "SecRule ARGS:a \"@rx .\" \"id:1,phase:1,pass\"\n\
                 SecRule ARGS:off \"@rx .\" \"id:2,phase:1,nolog,pass,ctl:ruleRemoveById=1-4\"\n\
                 SecRule ARGS:a \"@rx .\" \"id:3,phase:1,pass\"\n";
    check([(rules, get("/?a=1"), "1 3"), (rules, get("/?a=1&off=1"), "1")]);
}

#[test]
fn a_removed_rule_that_was_worked_out_ahead_is_undone() {
    let rules = "SecRule ARGS:off \"@rx ^(\\d)\" \"id:1,phase:1,nolog,pass,ctl:ruleRemoveById=3\"\n\
                 SecRule ARGS:off \"@rx ^t\" \"id:2,phase:1,nolog,pass,ctl:ruleRemoveTargetById=4;TX:a\"\n\
                 SecAction \"id:3,phase:1,nolog,pass,setvar:tx.a=1\"\n\
                 SecRule TX:a \"@eq 1\" \"id:4,phase:1,nolog,pass,setvar:tx.b=1\"\n\
                 SecRule TX:b \"@eq 1\" \"id:5,phase:1,pass\"\n\
                 SecRule &TX:a \"@eq 1\" \"id:6,phase:1,pass\"\n";
    check([(rules, get("/"), "5 6"), (rules, get("/?off=1"), ""), (rules, get("/?off=t"), "6")]);
}

#[test]
fn the_body_is_read_as_a_rule_says() {
    let rules = "SecRule ARGS:as \"@streq json\" \"id:1,phase:1,nolog,pass,ctl:requestBodyProcessor=JSON\"\n\
                 SecRule ARGS:as \"@streq xml\" \"id:2,phase:1,nolog,pass,ctl:requestBodyProcessor=XML\"\n\
                 SecRule ARGS:as \"@streq none\" \"id:3,phase:1,nolog,pass,ctl:requestBodyAccess=Off\"\n\
                 SecRule ARGS:json.k \"@streq v\" \"id:10,phase:2,pass\"\n\
                 SecRule XML:/* \"@contains v\" \"id:11,phase:2,pass\"\n\
                 SecRule ARGS_POST:k \"@streq v\" \"id:12,phase:2,pass\"\n\
                 SecRule REQBODY_PROCESSOR \"@streq JSON\" \"id:13,phase:2,pass\"\n\
                 SecRule REQBODY_ERROR \"!@eq 0\" \"id:14,phase:2,pass\"\n";
    check([
        (rules, Request::post("/?as=json", "text/plain", "{\"k\":\"v\"}"), "10 13"),
        (rules, Request::post("/?as=json", "text/plain", "{\"k\":"), "13 14"),
        (rules, Request::post("/?as=xml", "text/plain", "<a>v</a>"), "11"),
        (rules, Request::form("/", "k=v"), "12"),
        (rules, Request::form("/?as=none", "k=v"), ""),
    ]);
}
