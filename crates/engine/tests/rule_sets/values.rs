//! What rules look at and what they keep: selectors, captures, `setvar`, macros, `MATCHED_*`,
//! transformations, `multiMatch`, scores.

use crate::site::{Request, Site, check};

fn get(target: &str) -> Request {
    Request::get(target)
}

#[test]
fn selectors_choose_members() {
    let rules = "SecRule ARGS:Foo \"@rx .\" \"id:1,phase:1,pass\"\n\
                 SecRule ARGS|!ARGS:foo \"@rx .\" \"id:2,phase:1,pass\"\n\
                 SecRule ARGS:/^fo+$/ \"@rx .\" \"id:3,phase:1,pass\"\n\
                 SecRule ARGS|!ARGS:/^f/ \"@rx .\" \"id:4,phase:1,pass\"\n\
                 SecRule &ARGS \"@eq 2\" \"id:5,phase:1,pass\"\n\
                 SecRule &ARGS:foo \"@eq 0\" \"id:6,phase:1,pass\"\n\
                 SecRule ARGS_NAMES \"@streq foo\" \"id:7,phase:1,pass\"\n\
                 SecRule REQUEST_HEADERS:x-a|REQUEST_COOKIES:c \"@streq 1\" \"id:8,phase:1,pass\"\n\
                 SecRule REQUEST_HEADERS_NAMES \"@rx ^x-\" \"id:9,phase:1,pass,t:lowercase\"\n";
    check([
        (rules, get("/?foo=1"), "1 3 7"),
        (rules, get("/?FOO=1"), "1 3"),
        (rules, get("/?bar=1&fox=2"), "2 4 5 6"),
        (rules, get("/?fox=2").header("X-A", "1"), "2 6 8 9"),
        (rules, get("/").header("Cookie", "b=2; c=1"), "6 8"),
    ]);
}

#[test]
fn a_target_twice_is_looked_at_twice() {
    let rules = "SecRule ARGS|ARGS:a|ARGS_GET \"@streq x\" \"id:1,phase:1,nolog,pass,setvar:tx.n=+1\"\n\
                 SecRule TX:n \"@eq 3\" \"id:2,phase:1,pass\"\nSecRule TX:n \"@eq 2\" \"id:3,phase:1,pass\"\n";
    check([(rules, get("/?a=x"), "2"), (rules, get("/?b=x"), "3"), (rules, get("/?b=y"), "")]);
}

#[test]
fn captures_stay_until_others_replace_them() {
    let rules = "SecRule ARGS:a \"@rx ^(\\w)(\\w)?$\" \"id:1,phase:1,nolog,pass,capture\"\n\
                 SecRule ARGS:b \"@rx ^(\\w)$\" \"id:2,phase:1,nolog,pass,capture\"\n\
                 SecRule ARGS:c \"@rx ^(\\w)$\" \"id:3,phase:1,nolog,pass\"\n\
                 SecRule TX:0 \"@streq xy\" \"id:10,phase:2,pass\"\n\
                 SecRule TX:1 \"@streq x\" \"id:11,phase:2,pass\"\n\
                 SecRule TX:2 \"@streq y\" \"id:12,phase:2,pass\"\n\
                 SecRule TX:1 \"@streq z\" \"id:13,phase:2,pass\"\n\
                 SecRule &TX:2 \"@eq 0\" \"id:14,phase:2,pass\"\n";
    check([
        (rules, get("/?a=xy"), "10 11 12"),
        (rules, get("/?a=xy&b=z"), "12 13"),
        (rules, get("/?a=xy&c=z"), "10 11 12"),
        (rules, get("/?c=z"), "14"),
    ]);
    let phrases = "SecRule ARGS \"@pm Union select\" \"id:1,phase:1,nolog,pass,capture\"\n\
                   SecRule TX:0 \"@streq UNION\" \"id:2,phase:1,pass\"\n";
    check([(phrases, get("/?a=a+UNION+b"), "2"), (phrases, get("/?a=un"), "")]);
}

#[test]
fn variables_are_set_counted_and_removed() {
    let set = |assignments: &str, test: &str| {
        let rules =
            format!("SecAction \"id:1,phase:1,nolog,pass{assignments}\"\nSecRule {test} \"id:2,phase:1,pass\"\n");
        !Site::new(&rules).see(&get("/?n=b&v=3")).ids.is_empty()
    };
    for (assignments, test) in [
        (",setvar:tx.a", "TX:a \"@streq 1\""),
        (",setvar:tx.a=5", "TX:a \"@eq 5\""),
        (",setvar:TX.A=5", "TX:a \"@eq 5\""),
        (",setvar:'tx.a=a b'", "TX:a \"@streq a b\""),
        (",setvar:tx.a=5,setvar:tx.a=+2", "TX:a \"@eq 7\""),
        (",setvar:tx.a=+2", "TX:a \"@eq 2\""),
        (",setvar:tx.a=-2", "TX:a \"@eq -2\""),
        (",setvar:tx.a=x,setvar:tx.a=+2", "TX:a \"@eq 2\""),
        (",setvar:tx.a=3abc,setvar:tx.a=+2", "TX:a \"@eq 5\""),
        (",setvar:tx.a=1,setvar:!tx.a", "&TX:a \"@eq 0\""),
        (",setvar:tx.b=4,setvar:tx.a=%{tx.b}", "TX:a \"@eq 4\""),
        (",setvar:tx.b=4,setvar:tx.a=+%{tx.b},setvar:tx.a=+%{tx.b}", "TX:a \"@eq 8\""),
        (",setvar:tx.a=%{tx.none}", "&TX:a \"@eq 1\""),
        (",setvar:tx.a=%{args.v}", "TX:a \"@eq 3\""),
        (",setvar:tx.a=<%{ARGS.v}>", "TX:a \"@streq <3>\""),
        (",setvar:tx.%{args.n}=7", "TX:b \"@eq 7\""),
        (",setvar:'tx.p_%{args.n}=7'", "TX:p_b \"@eq 7\""),
        (",setvar:'tx.q_%{args.n}_x=7'", "TX:/^q_._x$/ \"@eq 7\""),
        (",setvar:tx.a=%{request_method}", "TX:a \"@streq GET\""),
        (",setvar:tx.a=3,setvar:tx.b=3", "TX:a \"@eq %{tx.b}\""),
        (",setvar:tx.a=%{unique_id}", "TX:a \"@streq id\""),
    ] {
        assert!(set(assignments, test), "{assignments} {test}");
        assert!(!set("", test) || test.starts_with('&') || test.contains("%{tx.b}"), "{test} proves nothing");
    }
}

#[test]
fn setvar_runs_for_each_value_that_matches() {
    let rules = "SecRule ARGS \"@rx ^\\d$\" \"id:1,phase:1,nolog,pass,setvar:tx.n=+1,setvar:tx.last=%{matched_var}\"\n\
                 SecRule TX:n \"@eq 3\" \"id:2,phase:1,pass\"\nSecRule TX:last \"@eq 4\" \"id:3,phase:1,pass\"\n";
    check([(rules, get("/?a=1&b=2&c=x&d=4"), "2 3"), (rules, get("/?a=4"), "3"), (rules, get("/?a=x"), "")]);
}

#[test]
fn what_has_matched_can_be_asked() {
    let rules = "SecRule ARGS \"@rx ^e\" \"id:1,phase:1,nolog,pass,t:lowercase,chain\"\n\
                 SecRule MATCHED_VARS \"@streq evil\" \"t:none\"\n\
                 SecRule ARGS \"@rx ^e\" \"id:2,phase:1,pass,chain\"\nSecRule MATCHED_VARS_NAMES \"@streq ARGS:a\"\n\
                 SecRule ARGS \"@rx ^e\" \"id:3,phase:1,pass,chain\"\nSecRule MATCHED_VAR \"@streq ex\"\n\
                 SecRule ARGS \"@rx ^e\" \"id:4,phase:1,pass,chain\"\nSecRule MATCHED_VAR_NAME \"@streq ARGS:b\"\n\
                 SecRule ARGS \"@rx ^not\" \"id:9,phase:1,pass\"\n\
                 SecRule ARGS \"@rx ^e\" \"id:5,phase:1,pass,chain\"\nSecRule &MATCHED_VARS \"@eq 2\"\n";
    check([(rules, get("/?a=ex"), "2 3"), (rules, get("/?a=evil&b=ex"), "2 3 4 5"), (rules, get("/?a=o"), "")]);
}

#[test]
fn the_highest_severity_is_the_lowest_number() {
    let rules = "SecRule ARGS:a \"@rx .\" \"id:1,phase:1,nolog,pass,severity:WARNING\"\n\
                 SecRule ARGS:b \"@rx .\" \"id:2,phase:1,nolog,pass,severity:2\"\n\
                 SecRule HIGHEST_SEVERITY \"@eq 255\" \"id:3,phase:1,pass\"\n\
                 SecRule HIGHEST_SEVERITY \"@le 4\" \"id:4,phase:1,pass\"\n\
                 SecRule HIGHEST_SEVERITY \"@eq 2\" \"id:5,phase:1,pass\"\n";
    check([(rules, get("/"), "3"), (rules, get("/?a=1"), "4"), (rules, get("/?a=1&b=1"), "4 5")]);
}

#[test]
fn transformations_come_in_order_after_those_of_the_phase() {
    let rules = "SecDefaultAction \"phase:1,pass,log,t:lowercase\"\n\
                 SecRule ARGS:a \"@streq evil\" \"id:1,phase:1\"\n\
                 SecRule ARGS:a \"@streq EVIL\" \"id:2,phase:1,t:none\"\n\
                 SecRule ARGS:a \"@streq evil\" \"id:3,phase:1,t:none,t:hexDecode,t:lowercase\"\n\
                 SecRule ARGS:a \"@eq 4\" \"id:4,phase:1,t:length\"\n\
                 SecRule ARGS:a \"@streq evil\" \"id:5,phase:1,t:urlDecodeUni,t:none,t:lowercase\"\n";
    check([(rules, get("/?a=EVIL"), "1 2 4 5"), (rules, get("/?a=evil"), "1 4 5"), (rules, get("/?a=4556494c"), "3")]);
}

#[test]
fn multi_match_sees_each_form_once() {
    let rules = "SecRule ARGS:a \"@rx ^.\" \"id:1,phase:1,nolog,pass,multiMatch,t:none,t:urlDecodeUni,t:lowercase,t:compressWhitespace,setvar:tx.n=+1\"\n\
                 SecRule TX:n \"@eq 1\" \"id:2,phase:1,pass\"\nSecRule TX:n \"@eq 2\" \"id:3,phase:1,pass\"\n\
                 SecRule TX:n \"@eq 3\" \"id:4,phase:1,pass\"\n\
                 SecRule ARGS:a \"@streq Evil%20\" \"id:5,phase:1,pass,multiMatch,t:urlDecode,t:lowercase\"\n\
                 SecRule ARGS:a \"@streq Evil \" \"id:6,phase:1,pass,multiMatch,t:urlDecode,t:lowercase\"\n\
                 SecRule ARGS:a \"@streq evil \" \"id:7,phase:1,pass,multiMatch,t:urlDecode,t:lowercase\"\n";
    check([
        (rules, get("/?a=x"), "2"),
        (rules, get("/?a=X"), "3"),
        (rules, get("/?a=Evil%2520"), "4 5 6 7"),
        (rules, get("/?a=evil%2520"), "3 7"),
    ]);
}

#[test]
fn findings_say_what_matched_and_what_it_scored() {
    let rules = "SecAction \"id:1,phase:1,nolog,pass,setvar:tx.critical=5\"\n\
                 SecRule ARGS \"@rx e(v)il\" \"id:2,phase:1,pass,capture,msg:'Evil in %{MATCHED_VAR_NAME}',\
                 logdata:'%{TX.1} of %{MATCHED_VAR}',setvar:tx.anomaly_score_pl1=+%{tx.critical}\"\n\
                 SecRule ARGS \"@streq x\" \"id:3,phase:1,pass,setvar:tx.anomaly_score_pl2=+2,msg:'Plain'\"\n\
                 SecAction \"id:4,phase:2,nolog,pass,setvar:tx.anomaly_score=+%{tx.anomaly_score_pl1}\"\n";
    let seen = Site::new(rules).see(&get("/?a=so+evil+it+is&b=x"));
    assert_eq!((seen.ids().as_str(), seen.score), ("2 3", 7));
    let [first, second] = &seen.findings[..] else { panic!("{:?}", seen.findings) };
    assert_eq!((first.variable.as_str(), &first.matched[..], first.score), ("ARGS:a", &b"evil"[..], 5));
    assert_eq!(first.message.as_deref(), Some("Evil in ARGS:a"));
    assert_eq!(first.log_data, b"v of so evil it is");
    assert_eq!((second.variable.as_str(), second.score, &second.message), ("ARGS:b", 2, &None));
}

#[test]
fn addresses_are_located() {
    let rules = "SecRule GEO \"@rx .\" \"id:1,phase:1,pass\"\n\
                 SecRule ARGS_GET \"@geoLookup\" \"id:2,phase:1,pass,chain\"\n\
                 SecRule GEO:COUNTRY_CODE \"@within DE FR\" \"t:none\"\n\
                 SecRule GEO:COUNTRY_CONTINENT \"@streq OC\" \"id:3,phase:1,pass\"\n\
                 SecRule ARGS_GET \"!@geoLookup\" \"id:4,phase:1,pass\"\n";
    check([
        (rules, Request::get("/?a=192.0.2.1"), "2"),
        (rules, Request::get("/?a=2001:db8::1"), "3"),
        (rules, Request::get("/?a=192.0.2.1&b=2001:db8::1"), "3"),
        (rules, Request::get("/?a=192.0.2.2"), "4"),
        (rules, Request::get("/?a=no+address"), "4"),
    ]);
}
