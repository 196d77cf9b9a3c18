//! What becomes of the request: disruptive actions, `block`, detection only, `allow`.

use weir_engine::Verdict;
use weir_engine::seclang::Tuning;

use crate::site::{Request, Site, check};

fn get(target: &str) -> Request {
    Request::get(target)
}

#[test]
fn disruptive_actions_answer() {
    let to = |location: &str| Some(location.as_bytes().to_vec());
    for (head, actions, answered, verdict) in [
        ("", "deny", Some((403, None)), Verdict::Block),
        ("", "deny,status:418", Some((418, None)), Verdict::Block),
        ("", "drop", Some((444, None)), Verdict::Block),
        ("", "redirect:https://example.org/", Some((302, to("https://example.org/"))), Verdict::Redirect),
        ("", "redirect:/%{args.a},status:307", Some((307, to("/x"))), Verdict::Redirect),
        ("", "redirect:/,status:403", Some((302, to("/"))), Verdict::Redirect),
        ("", "pass", None, Verdict::Pass),
        ("", "block", None, Verdict::Pass),
        ("", "log", None, Verdict::Pass),
        ("", "allow", None, Verdict::Allow),
        ("SecDefaultAction \"phase:1,deny,status:429,log\"\n", "block", Some((429, None)), Verdict::Block),
        ("SecDefaultAction \"phase:1,deny,status:429,log\"\n", "log", None, Verdict::Pass),
        ("SecDefaultAction \"phase:1,deny,log\"\n", "block,status:404", Some((404, None)), Verdict::Block),
        ("SecDefaultAction \"phase:2,deny,log\"\n", "block", None, Verdict::Pass),
        ("SecRuleEngine DetectionOnly\n", "deny", None, Verdict::Detect),
        ("SecRuleEngine Off\n", "deny", None, Verdict::Pass),
    ] {
        let rules = format!("{head}SecRule ARGS:a \"@rx .\" \"id:1,phase:1,{actions}\"\n");
        let seen = Site::new(&rules).see(&get("/?a=x"));
        assert_eq!((seen.answered, seen.verdict), (answered, verdict), "{rules}");
        assert_eq!(Site::new(&rules).see(&get("/")).verdict, Verdict::Pass, "{rules}");
    }
}

#[test]
fn an_answer_ends_all_but_the_log() {
    let rules = "SecRule ARGS:a \"@rx .\" \"id:1,phase:1,deny\"\nSecRule ARGS:a \"@rx .\" \"id:2,phase:1,pass\"\n\
                 SecRule ARGS:a \"@rx .\" \"id:3,phase:2,pass\"\nSecRule ARGS:a \"@rx .\" \"id:5,phase:5,pass\"\n";
    check([(rules, get("/?a=1"), "1 5"), (rules, get("/?b=1"), "")]);
}

#[test]
fn allow_reaches_as_far_as_it_says() {
    let rest = "SecRule ARGS:a \"@rx .\" \"id:2,phase:1,pass\"\nSecRule ARGS:a \"@rx .\" \"id:3,phase:2,pass\"\n\
                SecRule ARGS:a \"@rx .\" \"id:4,phase:3,pass\"\nSecRule RESPONSE_BODY \"@rx ^ok\" \"id:5,phase:4,pass\"\n\
                SecRule ARGS:a \"@rx .\" \"id:6,phase:5,pass\"\nSecRule ARGS_POST:b \"@rx .\" \"id:7,phase:5,pass\"\n";
    // ModSecurity reads the body nevertheless, so that its phase 5 sees arguments of it (7); Weir
    // does not ask nginx for a body that no phase before the log may judge.
    for (allow, ids) in [("allow", "1 6"), ("allow:phase", "1 3 4 5 6 7"), ("allow:request", "1 4 5 6")] {
        let rules = format!("SecResponseBodyAccess On\nSecRule ARGS:a \"@rx .\" \"id:1,phase:1,{allow}\"\n{rest}");
        let request = Request::form("/?a=1", "b=1").answer(200, "text/html", "ok");
        assert_eq!(Site::new(&rules).see(&request).ids(), ids, "{rules}");
    }
}

#[test]
fn detection_by_tuning_decides_nothing_but_says_so() {
    let rules = "SecRule ARGS:a \"@rx .\" \"id:1,phase:1,deny\"\nSecRule ARGS:a \"@rx .\" \"id:2,phase:2,deny\"\n";
    let seen = Site::tuned(rules, Tuning { detect: true, ..Tuning::default() }).see(&get("/?a=1"));
    assert_eq!((seen.ids().as_str(), seen.verdict, seen.answered), ("1 2", Verdict::Detect, None));
    assert!(seen.findings.iter().all(|finding| finding.detected_only && finding.action == "block"));
}

#[test]
fn responses_are_judged_in_their_phases() {
    let rules = "SecResponseBodyAccess On\n\
                 SecRule RESPONSE_STATUS \"@rx ^5\" \"id:1,phase:3,pass\"\n\
                 SecRule RESPONSE_HEADERS:X-Leak \"@rx .\" \"id:2,phase:3,deny\"\n\
                 SecRule RESPONSE_BODY \"@contains secret\" \"id:3,phase:4,deny,status:500\"\n\
                 SecRule RESPONSE_CONTENT_TYPE \"@beginsWith image\" \"id:4,phase:3,pass\"\n\
                 SecRule RESPONSE_STATUS \"@eq 500\" \"id:5,phase:5,pass\"\n\
                 SecRule RESPONSE_BODY \"@contains secret\" \"id:6,phase:5,pass\"\n";
    let mut leaky = get("/").answer(200, "text/html", "");
    leaky.answer.as_mut().unwrap().headers.push(("X-Leak".to_owned(), b"1".to_vec()));
    check([
        (rules, get("/").answer(200, "text/html", "fine"), ""),
        (rules, get("/").answer(500, "text/html", "fine"), "1 5"),
        (rules, get("/").answer(200, "text/html", "a secret"), "3 6"),
        (rules, get("/").answer(200, "text/html; charset=utf-8", "a secret"), "3 6"),
        (rules, get("/").answer(200, "image/png", "a secret"), "4"),
        (rules, leaky, "2"),
    ]);
}
