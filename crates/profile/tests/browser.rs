//! The page in a real browser: it draws, searches, zooms and keeps hostile names as text.
//!
//! Chromium is started once: a probe at the end of a copy of the page acts like a user and writes
//! its observations into the document, which Chromium prints. Without Chromium the test prints a
//! note and passes.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use weir_profile::diff::{DiffOptions, diff};
use weir_profile::graph::{GraphOptions, html, html_diff};
use weir_profile::{Builder, Frame, Origin, Profile, ProfileKind, SystemCall, Thread};

/// Names of its executable in distributions.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Longer than a start takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);
const HOSTILE: &str = "</script><img src=x onerror=\"document.title='broken'\">\u{202e}";

fn browser() -> &'static str {
    let runs = |name: &&&str| {
        let version = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    };
    BROWSERS.iter().find(runs).expect("Chromium is installed")
}

fn profile(kind: ProfileKind, stacks: &[(u32, &[&str], u64)]) -> Profile {
    let mut builder = Builder::new(kind);
    for (pid, names, ms) in stacks {
        let thread = builder.thread(Thread { pid: *pid, tid: *pid, name: "nginx".into() });
        let frame = |name: &&str| Frame { module: "/usr/sbin/nginx".into(), ..Frame::named(*name, Origin::Native) };
        let frames: Vec<_> = names.iter().map(|name| builder.frame(frame(name))).collect();
        let stack = builder.stack(&frames);
        builder.add(thread, stack, *ms, ms * 1_000_000);
    }
    builder.finish()
}

/// The document after Chromium has run it at this address.
fn dom(browser: &str, page: &Path, hash: &str) -> String {
    let user = tempfile::tempdir().expect("temp dir");
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--window-size=1000,700", "--dump-dom"])
        .arg(format!("--user-data-dir={}", user.path().display()))
        .arg(format!("file://{}#{hash}", page.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let stdout = child.stdout.take().expect("is piped");
    let reader = std::thread::spawn(move || std::io::read_to_string(stdout));
    let start = Instant::now();
    while child.try_wait().expect("waits").is_none() {
        if start.elapsed() > LIMIT {
            child.kill().expect("ends");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    reader.join().expect("reads").expect("is UTF-8")
}

/// Adds a probe to a page: an expression for each thing to look at.
fn with_probe(page: &str, steps: &[(&str, &str)]) -> String {
    let steps: String = steps.iter().map(|(name, step)| format!("see({name:?}, () => {step});\n")).collect();
    let probe = format!(
        "<script>\nconst seen = document.createElement('pre');\nseen.id = 'seen';\ndocument.body.append(seen);\n\
         const see = (name, step) => {{ let value; try {{ value = step(); }} catch (error) {{ value = error; }}\n\
         seen.append(`${{name}}=${{value}};`); }};\n{steps}</script></body>"
    );
    page.replace("</body>", &probe)
}

fn assert_seen(dom: &str, wanted: &[(&str, &str)]) {
    let (_, seen) = dom.split_once("<pre id=\"seen\">").expect("the probe has run");
    for (name, value) in wanted {
        assert!(seen.contains(&format!("{name}={value};")), "{name} is not {value}: {}", &seen[..seen.len().min(2000)]);
    }
}

#[test]
#[ignore = "needs Chromium: `make test-more`"]
fn the_page_works_in_a_browser() {
    let browser = browser();
    let dir = tempfile::tempdir().expect("temp dir");
    let mut on = profile(
        ProfileKind::OnCpu,
        &[(7, &["main", "ngx_run", "sort"], 60), (7, &["main", "ngx_log"], 30), (8, &["main", HOSTILE, "sort"], 10)],
    );
    on.system_calls = vec![SystemCall { pid: 7, name: "writev".into(), calls: 3, ..SystemCall::default() }];
    let off = profile(ProfileKind::OffCpu, &[(7, &["main", "epoll_wait"], 5)]);
    let click = "(() => { const box = $('canvas').getBoundingClientRect(); const at = (type) => $('canvas').dispatchEvent(\
                 new MouseEvent(type, { clientX: box.left + 5, clientY: box.top + flame.top(1) + 5, bubbles: true })); \
                 at('mousemove'); const tip = $('tip').textContent; at('click'); return tip; })()";
    let page = with_probe(
        &html(&[&on, &off], &GraphOptions::default()),
        &[
            ("matched", "$('matched').textContent"),
            ("tip", click),
            ("path", "$('path').textContent"),
            (
                "key",
                "(document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'r', bubbles: true })), state.reverse)",
            ),
            ("reversed", "tree.rows[1].length"),
            ("thread", "(choose({ threads: 'p8', reverse: false }), tree.total[0])"),
            (
                "calls",
                "(choose({ panel: 'calls', threads: '' }), document.querySelectorAll('#tables tbody tr').length)",
            ),
            (
                "off",
                "(choose({ profile: 1, panel: 'functions', search: '' }), $('tables').textContent.includes('epoll_wait'))",
            ),
            ("hash", "location.hash"),
        ],
    );
    let path = dir.path().join("page.html");
    std::fs::write(&path, page).expect("writes");
    let seen = dom(browser, &path, "search=ngx_");
    assert!(!seen.contains("<title>broken") && !seen.contains("<img"), "a name became markup");
    assert_seen(
        &seen,
        &[
            ("matched", "90.00 % matched in 2 functions"),
            ("tip", "maintotal100 ms, 100.00 %self0 ns, 0.00 %samples100module/usr/sbin/nginxoriginnative"),
            ("path", "all › main"),
            ("key", "true"),
            // The leaves: sort and ngx_log.
            ("reversed", "2"),
            ("thread", "10000000"),
            ("calls", "1"),
            ("off", "true"),
            ("hash", "#profile=1&amp;panel=functions"),
        ],
    );
    the_difference_works_too(browser, &on, &path);
}

fn the_difference_works_too(browser: &str, old: &Profile, path: &Path) {
    let new = profile(ProfileKind::OnCpu, &[(7, &["main", "ngx_run"], 60), (7, &["main", "ngx_log"], 30)]);
    let difference = diff(old, &new, &DiffOptions::default());
    let page = with_probe(
        &html_diff(&difference, &GraphOptions::default()),
        &[
            ("hatched", "Array.from(tree.functions.keys()).some((node) => paint.isHatched(node))"),
            ("old", "(choose({ side: 'old' }), Math.round(tree.total[0] * 1000))"),
            ("vanished", "(choose({ panel: 'vanished' }), $('tables').textContent.includes('sort'))"),
        ],
    );
    std::fs::write(path, page).expect("writes");
    let seen = dom(browser, path, "");
    assert_seen(&seen, &[("hatched", "true"), ("old", "1000"), ("vanished", "true")]);
}
