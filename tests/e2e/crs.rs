//! The OWASP Core Rule Set from Debian's package, unedited.

use serde_json::{Value, json};
use weir_tests::load::{Life, during};
use weir_tests::origin::Echo;
use weir_tests::{Nginx, Request, Setup, wait};

/// A policy that runs the CRS with these parameters.
fn policy(parameters: &str) -> String {
    format!(
        "policies:\n  - id: site\n    rules:\n      - {{id: crs, when: 'true', action: {{crs: {{{parameters}}}}}}}\n"
    )
}

fn serve(parameters: &str) -> Nginx {
    Setup::policy(&policy(parameters)).proxy(Echo::start()).start()
}

const SQLI: &str = "1%27%20OR%20%271%27=%271%27%20--%20";
const XSS: &str = "%3Cscript%3Ealert(1)%3C/script%3E";
const FORM: &str = "application/x-www-form-urlencoded";

fn ids(line: &Value) -> Vec<&str> {
    line["rule_ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect()
}

fn browser(request: Request) -> Request {
    request
        .header("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")
        .header("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
}

#[test]
fn ordinary_requests_pass() {
    let nginx = serve("paranoia: 1");
    let multipart = "--B\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhello\r\n--B--\r\n";
    for request in [
        Request::get("/"),
        Request::get("/search?q=red+shoes&page=2&sort=price"),
        Request::get("/static/app.js").header("Cookie", "session=0123456789abcdef; theme=dark"),
        Request::post("/login", FORM, "user=smith&password=correct+horse"),
        Request::post("/api", "application/json", r#"{"name": "Smith", "age": 42, "tags": ["a", "b"]}"#),
        Request::post("/upload", "multipart/form-data; boundary=B", multipart),
    ] {
        let request = browser(request);
        assert_eq!(nginx.send(&request).status, 200, "{}", String::from_utf8_lossy(&request.wire()));
    }
}

#[test]
fn attacks_are_refused_and_explained() {
    let nginx = serve("paranoia: 1");
    let attacks = [
        (format!("/?id={SQLI}"), "942100"),
        (format!("/?q={XSS}"), "941100"),
        ("/?file=../../../../etc/passwd".to_owned(), "930120"),
        ("/?cmd=;cat%20/etc/passwd".to_owned(), "932160"),
    ];
    for (target, _) in &attacks {
        assert_eq!(nginx.send(&browser(Request::get(target))).status, 403, "{target}");
    }
    let lines = nginx.attacks(attacks.len());
    for (target, rule) in &attacks {
        let line = lines.iter().find(|line| line["uri"] == target.as_str()).unwrap();
        assert!(ids(line).contains(rule) && ids(line).contains(&"949110"), "{target}: {line:#}");
        assert_eq!((&line["action"], &line["policy"]), (&json!("block"), &json!("site")));
        assert!(line["score"].as_u64().unwrap() >= 5, "{line:#}");
        let finding = line["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == *rule).unwrap();
        assert_eq!((&finding["score"], &finding["severity"]), (&json!(5), &json!("CRITICAL")), "{finding:#}");
        assert_eq!(finding["via"], "crs");
        assert!(finding["variable"].as_str().unwrap().starts_with("ARGS:"), "{finding:#}");
        assert!(finding["tags"].as_array().unwrap().contains(&json!("OWASP_CRS")), "{finding:#}");
    }
}

#[test]
fn bodies_of_all_kinds_are_inspected() {
    let nginx = serve("paranoia: 1");
    let multipart = |value: &str| {
        let body = format!("--B\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\n{value}\r\n--B--\r\n");
        Request::post("/", "multipart/form-data; boundary=B", body)
    };
    let plain = "1' OR '1'='1' -- ";
    for request in [
        Request::post("/", FORM, format!("a=b&id={SQLI}")),
        Request::post("/", FORM, format!("a=b&id={SQLI}")).chunked(),
        Request::post("/", "application/json", format!(r#"{{"a": [{{"id": "{plain}"}}]}}"#)),
        Request::post("/", "text/xml", format!("<a><id>{plain}</id></a>")),
        multipart(plain),
        multipart(plain).chunked(),
    ] {
        let request = browser(request);
        assert_eq!(nginx.send(&request).status, 403, "{}", String::from_utf8_lossy(&request.wire()));
    }
    assert_eq!(nginx.send(&browser(multipart("harmless"))).status, 200);
}

#[test]
fn beyond_the_body_limit_the_bounds_decide() {
    let text = policy("paranoia: 1");
    let body = |first: &str, last: &str| format!("{first}&{}&{last}", "pad=".to_owned() + &"x".repeat(8 << 10));
    let send = |nginx: &Nginx, body: String| nginx.send(&browser(Request::post("/", FORM, body))).status;
    let attack = format!("id={SQLI}");
    let open = Setup::policy(&text).server("weir_body_limit 4k;\nweir_bounds open;").proxy(Echo::start()).start();
    assert_eq!(send(&open, body(&attack, "a=b")), 403);
    assert_eq!(send(&open, body("a=b", "c=d")), 200);
    let closed = Setup::policy(&text).server("weir_body_limit 4k;").proxy(Echo::start()).start();
    assert_eq!(send(&closed, body(&attack, "a=b")), 413, "not 403: what rules see is not all");
    assert_eq!(send(&closed, body("a=b", "c=d")), 413);
}

#[test]
fn detection_logs_what_would_have_been_done() {
    let nginx = serve("detect: true");
    assert_eq!(nginx.send(&browser(Request::get(&format!("/?id={SQLI}")))).status, 200);
    let line = &nginx.attacks(1)[0];
    assert_eq!(line["action"], "detect");
    assert!(ids(line).contains(&"942100") && ids(line).contains(&"949110"), "{line:#}");
}

#[test]
fn exclusions_apply_only_where_they_say() {
    let nginx = serve(
        r#"exclude: [{tag: attack-sqli, target: "ARGS:comment", when: 'http.request.uri.path eq "/post"'}, {rule: [941000-941999]}]"#,
    );
    for (target, status) in [
        (format!("/post?comment={SQLI}"), 200),
        (format!("/post?other={SQLI}"), 403),
        (format!("/other?comment={SQLI}"), 403),
        (format!("/other?q={XSS}"), 200),
    ] {
        assert_eq!(nginx.send(&browser(Request::get(&target))).status, status, "{target}");
    }
}

#[test]
fn the_policy_takes_precedence_over_the_setup_file() {
    // 942432 (paranoia level 4) counts special characters; 942430 does the same at level 2.
    let target = "/?q=a'b;c,d:e=f(g)h~i*j";
    for (parameters, status) in [
        ("paranoia: 1", 200),
        ("paranoia: 4, inbound_threshold: 3", 403),
        ("paranoia: 4, inbound_threshold: 1000", 200),
        ("paranoia: 1, executing_paranoia: 4, inbound_threshold: 3", 200),
    ] {
        let nginx = serve(parameters);
        assert_eq!(nginx.send(&browser(Request::get(target))).status, status, "{parameters}");
    }
}

#[test]
fn sites_have_their_own_settings_in_one_policy_and_in_several() {
    let one = r#"
policies:
  - id: sites
    selectors:
      - {id: a, when: 'http.host eq "a.test"', rules: [{id: crs-a, when: 'true', action: {crs: {exclude: [{tag: attack-sqli}]}}}]}
      - {id: b, when: 'http.host eq "b.test"', rules: [{id: crs-b, when: 'true', action: {crs: {exclude: [{tag: attack-xss}]}}}]}
      - {id: c, when: 'http.host eq "c.test"', rules: [{id: crs-c, when: 'true', action: {crs: {detect: true}}}]}
"#;
    let nginx = Setup::policy(one).proxy(Echo::start()).start();
    for (host, sqli, xss) in [("a.test", 200, 403), ("b.test", 403, 200), ("c.test", 200, 200), ("d.test", 200, 200)] {
        let get = |target: String| nginx.send(&browser(Request::get(&target)).host(host)).status;
        assert_eq!((get(format!("/?id={SQLI}")), get(format!("/?q={XSS}"))), (sqli, xss), "{host}");
    }
    let lines = nginx.attacks(4);
    let via = |host: &str| {
        let line = lines.iter().find(|line| line["host"] == host).unwrap();
        line["findings"][0]["via"].clone()
    };
    assert_eq!((via("a.test"), via("b.test"), via("c.test")), (json!("crs-a"), json!("crs-b"), json!("crs-c")));
}

#[test]
fn two_hundred_sites_with_their_own_exclusions_share_the_rules() {
    let serve = |sites: usize| {
        let mut text = "policies:\n  - id: sites\n    selectors:\n".to_owned();
        for site in 0..sites {
            let exclude = format!("{{tag: attack-sqli, target: 'ARGS:a{site}'}}");
            let rule = format!("{{id: r{site}, when: 'true', action: {{crs: {{paranoia: 1, exclude: [{exclude}]}}}}}}");
            text += &format!("      - {{id: s{site}, when: 'http.host eq \"s{site}.test\"', rules: [{rule}]}}\n");
        }
        Setup::policy(&text).proxy(Echo::start()).start()
    };
    let resident_kb = |pid: i32| -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
        text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4
    };
    let (one, many) = (serve(1), serve(200));
    for (host, target, status) in [
        ("s7.test", format!("/?a7={SQLI}"), 200),
        ("s7.test", format!("/?a8={SQLI}"), 403),
        ("s199.test", format!("/?a199={SQLI}"), 200),
        ("s199.test", format!("/?a7={SQLI}"), 403),
    ] {
        assert_eq!(many.send(&browser(Request::get(&target)).host(host)).status, status, "{host}{target}");
    }
    let (one, many) = (resident_kb(one.master()), resident_kb(many.master()));
    assert!(many < one + (64 << 10), "{one} kB for one site, {many} for 200");
}

#[test]
fn reloads_under_load_reuse_the_rule_set_and_lose_nothing() {
    let nginx = serve("paranoia: 1");
    let request = browser(Request::post("/x?a=b", FORM, "c=d"));
    let totals = during(nginx.port, 2, Life::KeepAlive, &request, |count| {
        for _ in 0..5 {
            nginx.reload();
            let before = count.load(std::sync::atomic::Ordering::Relaxed);
            let more = || count.load(std::sync::atomic::Ordering::Relaxed) > before + 20;
            wait::until("traffic after the reload", || more().then_some(()));
        }
    });
    assert!(totals.failed.is_empty(), "{} failed: {:?}", totals.failed.len(), &totals.failed[..1]);
    assert!(nginx.crashes().is_empty(), "{:?}", nginx.crashes());
    assert_eq!(nginx.send(&browser(Request::get(&format!("/?id={SQLI}")))).status, 403);
}

/// Run with `cargo test ... -- --ignored`; takes a minute and a half.
#[test]
#[ignore = "long"]
fn three_hundred_reloads_under_load_leak_nothing() {
    let nginx = serve("paranoia: 2");
    let resident = |pid: i32| -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
        text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4
    };
    let request = browser(Request::post("/x?a=b", FORM, "c=d"));
    let mut sizes = Vec::new();
    let mut longest = std::time::Duration::ZERO;
    let totals = during(nginx.port, 2, Life::KeepAlive, &request, |_| {
        for round in 0..300 {
            let begun = std::time::Instant::now();
            nginx.reload();
            longest = longest.max(begun.elapsed());
            if round % 50 == 49 {
                sizes.push((resident(nginx.master()), resident(nginx.workers()[0])));
            }
        }
    });
    println!("{} answered, longest reload {longest:?}, kB of master and a worker: {sizes:?}", totals.answered);
    assert!(totals.failed.is_empty(), "{} failed: {:?}", totals.failed.len(), &totals.failed[..1]);
    let (first, last) = (sizes[0].0, sizes[sizes.len() - 1].0);
    assert!(last < first + first / 20, "the master grows: {sizes:?}");
    assert!(nginx.crashes().is_empty(), "{:?}", nginx.crashes());
}

/// Tests a checkout, such as CRS 4: `CRS_PATH=/path/to/coreruleset cargo test ... -- --ignored any_checkout`.
#[test]
#[ignore = "needs a checkout of CRS"]
fn any_checkout_protects_unedited() {
    let path = std::env::var("CRS_PATH").expect("CRS_PATH says where the checkout is");
    let nginx = serve(&format!("path: {path}, paranoia: 1"));
    let json = r#"{"a": [{"id": "1' OR '1'='1' -- "}]}"#;
    for (request, status) in [
        (Request::get("/search?q=red+shoes&page=2"), 200),
        (Request::post("/login", FORM, "user=smith&password=correct+horse"), 200),
        (Request::get(&format!("/?id={SQLI}")), 403),
        (Request::get(&format!("/?q={XSS}")), 403),
        (Request::get("/?file=../../../../etc/passwd"), 403),
        (Request::get("/?cmd=;cat%20/etc/passwd"), 403),
        (Request::post("/", "application/json", json), 403),
    ] {
        let request = browser(request);
        assert_eq!(nginx.send(&request).status, status, "{}", String::from_utf8_lossy(&request.wire()));
    }
}
