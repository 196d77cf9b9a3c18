//! Chains, skips, phases: which rules run, and in which order.

use crate::site::{Request, Site, check};

fn get(target: &str) -> Request {
    Request::get(target)
}

#[test]
fn a_chain_matches_as_a_whole() {
    let two = "SecRule ARGS:a \"@streq 1\" \"id:1,phase:1,pass,chain\"\nSecRule ARGS:b \"@streq 2\"\n";
    let three = "SecRule ARGS:a \"@streq 1\" \"id:1,phase:1,pass,chain\"\n\
                 SecRule ARGS:b \"@streq 2\" \"chain\"\nSecRule ARGS:c \"!@streq 3\" \"t:none\"\n";
    check([
        (two, get("/?a=1&b=2"), "1"),
        (two, get("/?a=1&b=3"), ""),
        (two, get("/?b=2"), ""),
        (three, get("/?a=1&b=2&c=4"), "1"),
        (three, get("/?a=1&b=2&c=3"), ""),
        (three, get("/?a=1&b=2"), ""),
    ]);
}

#[test]
fn what_a_link_sets_stays_although_the_chain_fails() {
    let rules = "SecRule ARGS:a \"@rx (\\d)\" \"id:1,phase:1,pass,capture,setvar:tx.seen=+1,chain\"\n\
                 SecRule ARGS:b \"@streq 2\" \"setvar:tx.both=1\"\n\
                 SecRule TX:seen \"@eq 1\" \"id:2,phase:1,pass\"\n\
                 SecRule TX:1 \"@eq 7\" \"id:3,phase:1,pass\"\n\
                 SecRule TX:both \"@eq 1\" \"id:4,phase:1,pass\"\n";
    check([(rules, get("/?a=7"), "2 3"), (rules, get("/?a=7&b=2"), "1 2 3 4"), (rules, get("/?b=2"), "")]);
}

#[test]
fn a_negated_rule_needs_a_value_that_does_not_match() {
    let rules = "SecRule ARGS:a \"!@rx ^\\d+$\" \"id:1,phase:1,pass\"\n\
                 SecRule &ARGS:a \"!@eq 1\" \"id:2,phase:1,pass\"\n\
                 SecRule ARGS \"!@within 1 2\" \"id:3,phase:1,pass\"\n";
    check([
        (rules, get("/"), "2"),
        (rules, get("/?a=1"), ""),
        (rules, get("/?a=x"), "1 3"),
        (rules, get("/?a=1&b=3"), "3"),
        (rules, get("/?a=1&a=2"), "2"),
    ]);
}

#[test]
fn skip_counts_rules_and_not_links() {
    let rules = "SecRule ARGS:a \"@streq 1\" \"id:1,phase:1,pass,nolog,skip:2\"\n\
                 SecRule ARGS:a \"@rx .\" \"id:2,phase:1,pass,chain\"\nSecRule ARGS:a \"@rx .\"\n\
                 SecAction \"id:20,phase:2,pass,msg:'m'\"\n\
                 SecMarker M\n\
                 SecAction \"id:3,phase:1,pass,msg:'m'\"\n\
                 SecAction \"id:4,phase:1,pass,msg:'m'\"\n";
    check([(rules, get("/?a=1"), "4 20"), (rules, get("/?a=2"), "2 3 4 20")]);
}

#[test]
fn skip_after_goes_on_behind_the_marker() {
    let forward = "SecRule ARGS:a \"@streq 1\" \"id:1,phase:1,pass,nolog,skipAfter:M\"\n\
                   SecAction \"id:2,phase:1,pass,msg:'m'\"\nSecAction \"id:3,phase:2,pass,msg:'m'\"\nSecMarker M\n\
                   SecAction \"id:4,phase:1,pass,msg:'m'\"\n";
    let folded = "SecAction \"id:1,phase:1,pass,nolog,skipAfter:M\"\n\
                  SecAction \"id:2,phase:1,pass,msg:'m'\"\nSecMarker M\nSecAction \"id:4,phase:1,pass,msg:'m'\"\n";
    check([(forward, get("/?a=1"), "4 3"), (forward, get("/?a=2"), "2 4 3"), (folded, get("/"), "4")]);
}

/// ModSecurity 3.0.9 carries both into the next phases: there the rest of a `skip` is skipped, and
/// all rules up to the marker, or all without one. Weir's jumps end with their phase.
#[test]
fn jumps_end_with_their_phase() {
    let rest = "SecRule ARGS:a \"@rx .\" \"id:2,phase:1,pass\"\nSecRule ARGS:a \"@rx .\" \"id:3,phase:2,pass\"\n\
                SecRule ARGS:a \"@rx .\" \"id:5,phase:5,pass\"\n";
    for flow in ["skip:9", "skipAfter:NONE", "skipAfter:BACK"] {
        let rules = format!("SecMarker BACK\nSecRule ARGS:a \"@streq 1\" \"id:1,phase:1,pass,nolog,{flow}\"\n{rest}");
        check([(&*rules.leak(), get("/?a=1"), "3 5")]);
    }
}

#[test]
fn rules_run_by_phase_and_in_the_order_of_the_file() {
    let rules = "SecAction \"id:5,phase:5,pass,msg:'m'\"\nSecAction \"id:4,phase:4,pass,msg:'m'\"\nSecAction \"id:2,phase:2,pass,msg:'m'\"\n\
                 SecAction \"id:3,phase:3,pass,msg:'m'\"\nSecAction \"id:1,phase:1,pass,msg:'m'\"\nSecAction \"id:22,phase:request,pass,msg:'m'\"\n\
                 SecAction \"id:55,phase:logging,pass,msg:'m'\"\nSecAction \"id:11,pass,msg:'m'\"\n";
    check([(rules, get("/").answer(200, "text/html", ""), "1 11 2 22 3 4 5 55"), (rules, get("/"), "1 11 2 22 5 55")]);
}

#[test]
fn jumps_of_rules_that_look_at_the_request_undo_what_was_worked_out() {
    // 2 and 3 depend on nothing but TX, and are worked out ahead of time.
    let rules = "SecAction \"id:1,phase:1,nolog,pass,setvar:tx.level=1,setvar:tx.a=0\"\n\
                 SecRule ARGS:x \"@streq jump\" \"id:2,phase:1,nolog,pass,skipAfter:M\"\n\
                 SecRule ARGS:x \"@streq up\" \"id:3,phase:1,nolog,pass,setvar:tx.level=2\"\n\
                 SecAction \"id:4,phase:1,nolog,pass,setvar:tx.a=+1\"\n\
                 SecRule TX:level \"@lt 2\" \"id:5,phase:1,nolog,pass,skipAfter:DEEP\"\n\
                 SecMarker M\n\
                 SecAction \"id:6,phase:1,pass,msg:'m'\"\n\
                 SecMarker DEEP\n\
                 SecRule TX:a \"@eq 0\" \"id:10,phase:1,pass\"\n\
                 SecRule TX:a \"@eq 1\" \"id:11,phase:1,pass\"\n\
                 SecRule TX:level \"@eq 2\" \"id:12,phase:1,pass\"\n";
    check([(rules, get("/"), "11"), (rules, get("/?x=up"), "6 11 12"), (rules, get("/?x=jump"), "6 10")]);
}

#[test]
fn phases_that_are_passed_over_set_nothing() {
    let rules = "SecRule ARGS:x \"@streq allow\" \"id:1,phase:1,nolog,allow\"\n\
                 SecRule ARGS:x \"@streq phase\" \"id:2,phase:1,nolog,allow:phase\"\n\
                 SecRule ARGS:x \"@streq deny\" \"id:3,phase:1,nolog,deny\"\n\
                 SecAction \"id:4,phase:1,nolog,pass,setvar:tx.one=1\"\n\
                 SecAction \"id:5,phase:2,nolog,pass,setvar:tx.two=1\"\n\
                 SecRule TX:one \"@eq 1\" \"id:8,phase:5,pass\"\n\
                 SecRule TX:two \"@eq 1\" \"id:9,phase:5,pass\"\n";
    check([
        (rules, get("/"), "8 9"),
        (rules, get("/?x=phase"), "9"),
        (rules, get("/?x=allow"), ""),
        (rules, get("/?x=deny"), ""),
    ]);
}

#[test]
fn removed_rules_are_not_there() {
    let rules = "SecAction \"id:1,phase:1,pass,skip:1,msg:'m'\"\nSecAction \"id:2,phase:1,pass,msg:'m'\"\n\
                 SecRuleRemoveById 1 4-6\nSecAction \"id:4,phase:1,pass,msg:'m'\"\nSecAction \"id:5,phase:1,pass,tag:'x',msg:'m'\"\n\
                 SecRule ARGS|!ARGS:a \"@rx .\" \"id:7,phase:1,pass\"\nSecRuleUpdateTargetById 7 !ARGS:b\n";
    assert_eq!(Site::new(rules).see(&get("/?a=1&b=2")).ids(), "2");
    assert_eq!(Site::new(rules).see(&get("/?c=3")).ids(), "2 7");
}

#[test]
fn a_rule_that_collects_values_is_passed_over_where_nobody_sees_it() {
    const RULES: &str = r#"
SecAction "id:1,phase:1,nolog,pass,setvar:'tx.list=/proxy/ /lock-token/'"
SecRule REQUEST_HEADERS_NAMES "@rx ^.*$" "id:2,phase:1,pass,capture,t:none,t:lowercase,setvar:'tx.own_%{tx.0}=/%{tx.0}/',chain"
    SecRule TX:/^own_/ "@within %{tx.list}" "setvar:tx.listed=+1"
"#;
    // Rules that see what it leaves behind, and whether they match where nothing is listed.
    for (other, ids) in [
        ("", ""),
        (r#"SecRule TX:/^owner_/ "@rx ." "id:3,phase:1,pass""#, ""),
        (r#"SecRule TX:/^own/ "@rx ." "id:3,phase:1,pass""#, "3"),
        (r#"SecRule TX:/_x-on/ "@rx ." "id:3,phase:1,pass""#, "3"),
        (r#"SecRule TX:/_x-two/ "@rx ." "id:3,phase:1,pass""#, ""),
        (r#"SecRule TX "@rx ^/x-one/$" "id:3,phase:1,pass""#, "3"),
        (r#"SecRule TX:own_x-one "@rx ." "id:3,phase:1,pass""#, "3"),
        (r#"SecRule TX:0 "@rx x-" "id:3,phase:1,pass""#, "3"),
        (r#"SecRule ARGS:a "@streq %{tx.0}" "id:3,phase:1,pass""#, "3"),
        (r#"SecRule ARGS:a "@rx (.*)" "id:3,phase:1,pass,capture,logdata:'%{tx.0}'""#, "3"),
        (r#"SecRule ARGS:a "@streq x-one" "id:3,phase:1,pass,setvar:tx.of=%{tx.own_x-one}""#, "3"),
    ] {
        let site = Site::new(&format!("{RULES}{other}\n"));
        let request = |name: &str| Request::get("/?a=x-one").header(name, "1").header("X-One", "1");
        assert_eq!(site.see(&request("Accept")).ids(), ids, "{other}");
        let listed = site.see(&request("Proxy")).ids();
        assert_eq!(listed, format!("2 {ids}").trim_end(), "{other}");
    }
}
