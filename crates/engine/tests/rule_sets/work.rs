//! What a request may cost, whatever its sender makes of it.

use weir_http::Anomalies;

use crate::site::{Request, Site};

/// A pattern that only a backtracker decides, on values that keep it busy.
const RULES: &str = "SecRule ARGS \"@rx (?=(a+)+$)x\" \"id:1,phase:2,pass\"\n\
    SecRule ARGS \"!@rx (?=(a+)+$)x|.\" \"id:2,phase:2,pass\"\n\
    SecRule ARGS:attack \"@contains select\" \"id:8,phase:2,pass,setvar:tx.score=+5\"\n\
    SecRule TX:score \"@ge 5\" \"id:9,phase:2,deny\"\n";

fn busy(fields: usize, length: usize) -> Request {
    let body: Vec<String> = (0..fields).map(|field| format!("f{field}={}xb{field}", "a".repeat(length))).collect();
    Request::form("/", &format!("attack=union+select&{}", body.join("&")))
}

#[test]
fn too_expensive_is_an_anomaly_that_names_rule_and_value_and_hides_no_attack() {
    let site = Site::new(RULES);
    let seen = site.see_bounded(&busy(500, 200));
    let (_, anomalies) = site.work();
    assert!(anomalies.contains(Anomalies::TOO_EXPENSIVE) && Anomalies::UNREADABLE.contains(Anomalies::TOO_EXPENSIVE));
    assert_eq!(seen.answered.as_ref().map(|answer| answer.0), Some(403), "an attack that has been found");
    let finding = seen
        .findings
        .iter()
        .find(|finding| finding.message.as_deref().is_some_and(|it| it.starts_with("too expensive")));
    let finding = finding.expect("a finding says what was too expensive");
    assert_eq!((finding.rule.0, finding.via.map(|via| via.0), finding.score), (1, Some(0), 5), "{finding:?}");
    assert!(finding.variable.starts_with("ARGS:f") && finding.matched.starts_with(b"aaaa"), "{finding:?}");
    assert!(!seen.ids.contains(&2), "what could not be tested does not match a negated rule either");
    assert_eq!(seen.findings.iter().filter(|it| it.message.is_some()).count(), 1, "told once");
}

#[test]
fn a_request_with_few_such_values_is_affordable() {
    let site = Site::new(&RULES.replace("(a+)+", "a+"));
    site.see_bounded(&busy(5, 20));
    assert_eq!(site.work().1, Anomalies::empty());
}

#[test]
fn a_macro_in_a_pattern_is_not_compiled_in_requests_unless_they_change_it() {
    let rules = "SecAction \"id:1,phase:1,pass,nolog,setvar:tx.kinds=a/b\"\n\
        SecRule ARGS \"@rx ^%{tx.kinds}$\" \"id:2,phase:1,pass\"\n\
        SecRule ARGS \"@rx ^%{args.p}$\" \"id:3,phase:1,pass\"\n";
    let site = Site::new(rules);
    site.see_bounded(&Request::get("/?q=x")); // compiles what the unset argument comes to
    site.see_bounded(&Request::get("/?q=x"));
    let constant = site.work().0;
    site.see_bounded(&Request::get("/?p=x&q=xyz"));
    assert!(site.work().0 > constant + 100_000, "compiled for the request");
    site.see_bounded(&Request::get("/?q=x"));
    assert!(constant < 5_000 && site.work().0 <= constant, "{constant}");
    assert_eq!(site.see(&Request::get("/?p=x&q=x")).ids(), "3");
}
