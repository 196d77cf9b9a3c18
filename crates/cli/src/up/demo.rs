//! What `weir up` prints first: where things are, and what to try.

use super::installation::Installation;
use super::run_dir::RunDir;
use crate::arguments::Up;
use crate::style::{Stream, Style};
use crate::table::counted;

/// A request to try: arguments of curl after the URL, what is asked for, and what it yields.
struct Try {
    path: &'static str,
    more: &'static str,
    expect: &'static str,
}

/// What shows the demo policy at work; `tests/command` sends each and compares the status.
const TRIES: &[Try] = &[
    Try { path: "/", more: "", expect: "200, the demo site" },
    Try { path: "/search?q=union+station", more: "", expect: "200, harmless" },
    Try { path: "/search?q=1+union+select+password", more: "", expect: "403, rule sql-injection" },
    Try { path: "/search?page=../../etc/passwd", more: "", expect: "403, rule path-traversal" },
    Try { path: "/", more: "-A sqlmap/1.8", expect: "403, rule scanner" },
    Try { path: "/login", more: "-d 'user=ann&password=secret'", expect: "200; 429 after five in a minute" },
    Try { path: "/echo/products/1", more: "", expect: "200; 429 after five products, by the inspector" },
    Try { path: "/live/news", more: "-d hello", expect: "200, a message for all who look at /counter" },
    Try { path: "/login", more: r#"-d "user=admin' or 1=1""#, expect: "403, rule sql-injection, in a form" },
];

/// Everything before the line that says that it is ready.
pub(super) fn introduction(up: &Up, dir: &RunDir, installation: &Installation) -> String {
    let style = Style::of(Stream::Out);
    let path = dir.path().display();
    let port = up.port;
    let (policy, change) = match &installation.policy {
        Some(policy) => (policy.display().to_string(), format!("kill -HUP $(cat {path}/nginx.pid)")),
        None => {
            ("weir get, weir apply FILE, weir put PATH BODY".into(), "weir revisions, weir diff, weir rollback".into())
        }
    };
    let mut text = format!(
        "{}\n  policy    {policy}\n  changes   {change}\n  logs      {path}/{{access,attack,heartbeat,error}}.log\n  \
         commands  export WEIR_RUNTIME={}\n            weir status, weir cost --watch, weir silence on\n",
        style.bold(&format!(
            "nginx with Weir on 127.0.0.1:{port}, {}, in front of a demo site",
            counted(up.workers as u64, "worker")
        )),
        dir.runtime().display(),
    );
    if up.policy.is_none() && up.apply.is_empty() {
        text.push_str(&format!("{}\n", style.bold("to try in another terminal")));
        let lines: Vec<String> = TRIES
            .iter()
            .map(|one| format!("curl -i 'http://127.0.0.1:{port}{}' {}", one.path, one.more).trim_end().to_owned())
            .collect();
        let width = lines.iter().map(String::len).max().unwrap_or(0);
        for (line, one) in lines.iter().zip(TRIES) {
            text.push_str(&format!("  {line:width$}  {}\n", style.dim(&format!("# {}", one.expect))));
        }
    }
    text.push_str("attacks appear below; Ctrl-C stops everything\n");
    text
}
