//! `weir profile`, `weir diagnose` and `weir baseline` on a real nginx with Weir, under load: costs are
//! per request without an option, and a process that ends meanwhile loses no results.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;
use std::thread;

use serde_json::Value;
use weir_profile::{Profile, format};
use weir_tests::load::{Life, during};
use weir_tests::{Nginx, Request, Setup};

use crate::running::command;

const POLICY: &str = r#"
policies:
  - id: shop
    rules:
      - id: form-sql
        when: 'any(http.request.body.form.values[*] matches r"(?i)\bunion\b.{0,40}\bselect\b")'
        action: block
"#;

fn demand_privilege() {
    weir_sample::privilege().unwrap_or_else(|error| panic!("{error}"));
}

fn nginx() -> Nginx {
    Setup::policy(POLICY).server("location = / { return 200 ok; }").start()
}

fn weir(nginx: &Nginx, arguments: &[&str]) -> Output {
    command(arguments).arg("--runtime").arg(nginx.path("run")).output().expect("runs")
}

fn request() -> Request {
    Request::post("/", "application/x-www-form-urlencoded", "q=1")
}

/// Runs `weir` while nginx is under load; returns its output, and the requests answered from before its
/// start until after its end.
fn under_load(nginx: &Nginx, arguments: &[&str]) -> (String, u64) {
    let mut output = None;
    let totals = during(nginx.port, 2, Life::KeepAlive, &request(), |_| {
        output = Some(weir(nginx, arguments));
    });
    assert!(totals.failed.is_empty(), "{:?}", totals.failed);
    (succeeded(&output.expect("has run")), totals.answered as u64)
}

fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("is text")
}

fn read(path: &Path) -> Profile {
    format::read(&std::fs::read(path).expect("is written")).expect("is a profile")
}

#[test]
fn a_profile_is_per_request_only_for_an_nginx_with_weir() {
    demand_privilege();
    let (nginx, other) = (nginx(), nginx());
    let (ours, theirs) = (nginx.path("ours.weir.json.gz"), nginx.path("theirs.weir.json.gz"));
    let master = nginx.master().to_string();
    let sample = ["profile", "--duration", "0.5", "--hz", "499", "--pid"];
    let (_, answered) = under_load(&nginx, &[&sample[..], &[&master, "-o", text(&ours)]].concat());
    let profile = read(&ours);
    let requests = profile.meta.requests.expect("is counted");
    assert!(requests > 0 && requests < answered, "{requests} of {answered}");
    assert!(profile.samples.iter().any(|sample| sample.count > 0));

    // Both are under load; the one with a ledger is not the one that is sampled.
    let pid = other.master().to_string();
    let totals = during(other.port, 1, Life::KeepAlive, &request(), |_| {
        let _ = under_load(&nginx, &[&sample[..], &[&pid, "-o", text(&theirs)]].concat());
    });
    assert!(totals.answered > 0);
    assert_eq!(read(&theirs).meta.requests, None);

    let diff = nginx.path("diff.svg");
    succeeded(&weir(&nginx, &["profile", "diff", text(&ours), text(&ours), "-o", text(&diff)]));
    let svg = std::fs::read_to_string(diff).expect("is written");
    assert!(svg.contains("<svg") && svg.contains("per request"), "{svg}");
}

#[test]
fn without_stub_status_at_the_end_only_the_number_of_requests_is_lost() {
    demand_privilege();
    const PAGES: [&str; 2] = ["100 100 1000", "200 200 1051"];
    let nginx = nginx();
    let master = nginx.master().to_string();
    for (answers, expected) in [(2, Some(50)), (1, None)] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let url = format!("http://{}/status", listener.local_addr().expect("is bound"));
        let server = thread::spawn(move || {
            for counts in &PAGES[..answers] {
                let (mut stream, _) = listener.accept().expect("accepts");
                let _ = stream.read(&mut [0; 1024]);
                let page = format!(
                    "HTTP/1.1 200 OK\r\n\r\nActive connections: 1 \nserver accepts handled requests\n {counts} \n"
                );
                stream.write_all(page.as_bytes()).expect("writes");
            }
        });
        let file = nginx.path("p.weir.json.gz");
        let (_, answered) =
            under_load(&nginx, &["profile", &master, "--duration", "0.3", "--requests-from", &url, "-o", text(&file)]);
        server.join().expect("does not panic");
        let profile = read(&file);
        assert_eq!(profile.meta.requests, expected);
        assert!(answered > 0 && !profile.samples.is_empty());
    }
}

#[test]
fn a_saved_diagnosis_can_be_repeated_without_the_process() {
    let mut nginx = nginx();
    let (master, file) = (nginx.master().to_string(), nginx.path("facts.json.gz"));
    let (said, answered) =
        under_load(&nginx, &["diagnose", &master, "--seconds", "1", "--json", "--save", text(&file)]);
    let live: Value = serde_json::from_str(&said).expect("is JSON");
    nginx.stop();
    let again = succeeded(&weir(&nginx, &["diagnose", text(&file), "--json"]));
    let again: Value = serde_json::from_str(&again).expect("is JSON");
    assert_eq!(live["findings"], again["findings"]);
    assert!(answered > 0 && live["findings"].is_array(), "{live:#}");
    // The process has ended by now, and the rule is checked first.
    let unknown = weir(&nginx, &["diagnose", &master, "--rule", "no-such"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("there is no rule no-such"));
}

#[test]
fn a_baseline_reports_only_what_changed() {
    let nginx = nginx();
    let master = nginx.master().to_string();
    let directory = nginx.path("baselines");
    let place = ["--dir", text(&directory)];
    let watch = ["--seconds", "1", "--no-profile"];
    let _ = under_load(&nginx, &[&["baseline", "save", "good", &master][..], &watch, &place].concat());
    let listed = succeeded(&weir(&nginx, &[&["baseline", "list"][..], &place].concat()));
    assert!(listed.contains("good"), "{listed}");
    let compare = [&["baseline", "compare", "good", &master, "--json"][..], &watch, &place].concat();
    let (same, _) = under_load(&nginx, &compare);
    let same: Value = serde_json::from_str(&same).expect("is JSON");
    assert_eq!(same["comparison"]["context"].as_array().map(Vec::len), Some(0), "{same:#}");

    let other = self::nginx();
    let pid = other.master().to_string();
    let run = weir(&other, &[&["baseline", "compare", "good", &pid, "--json", "--seconds", "0"][..], &place].concat());
    assert_eq!(run.status.code(), Some(3), "{}", String::from_utf8_lossy(&run.stderr));
    let changed: Value = serde_json::from_slice(&run.stdout).expect("is JSON");
    assert!(changed["comparison"]["context"].as_array().is_some_and(|changes| !changes.is_empty()), "{changed:#}");
}
