//! The command as people meet it: help, errors, exit codes and output, byte for byte.
//!
//! What is printed is compared with files in `golden/`; `WEIR_GOLDEN=write cargo test -p weir-cli`
//! writes them, to be read before they are committed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use weir_ledger::{Clock, Control, Entry, EntryKind, Ledger};

const SUBCOMMANDS: [&str; 41] = [
    "up",
    "control",
    "inspector",
    "check",
    "apply",
    "put",
    "patch",
    "delete",
    "refresh",
    "rollback",
    "schema",
    "status",
    "get",
    "revisions",
    "diff",
    "watch",
    "subscribe",
    "explain",
    "rules",
    "replay",
    "tune",
    "sign",
    "cost",
    "profile",
    "diagnose",
    "baseline",
    "ablate",
    "silence",
    "log-level",
    "ban",
    "unban",
    "bans",
    "publish",
    "probes",
    "token",
    "backup",
    "restore",
    "help",
    "completions",
    "docs",
    "version",
];

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn weir(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    for name in ["WEIR_RUNTIME", "WEIR_PORT", "WEIR_MODULE", "NGINX_BIN"] {
        command.env_remove(name);
    }
    // The width that help is wrapped to.
    command.env("COLUMNS", "100").args(arguments).current_dir(golden_dir());
    command.output().expect("runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("is UTF-8")
}

/// Exit code, standard output and error output, as one text.
fn transcript(arguments: &[&str], replace: &[(&str, &str)]) -> String {
    let output = weir(arguments);
    let code = output.status.code().expect("ends by itself");
    let all = format!("exit {code}\n--- out\n{}--- err\n{}", text(&output.stdout), text(&output.stderr));
    replace.iter().fold(all, |all, (from, to)| all.replace(from, to))
}

fn assert_golden(name: &str, have: &str) {
    let path = golden_dir().join(name);
    if std::env::var_os("WEIR_GOLDEN").is_some_and(|value| value == "write") {
        fs::write(&path, have).expect("writes");
    }
    let want = fs::read_to_string(&path).unwrap_or_default();
    assert!(have == want, "{} differs; now it is:\n{have}", path.display());
}

/// A runtime directory as a running nginx would have it, with this process as its worker.
fn runtime() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("temp dir");
    let rule = |id: &str, plugin: &str| Entry {
        kind: EntryKind::Rule,
        policy: "shop".into(),
        id: id.into(),
        plugin: plugin.into(),
        rules: vec![],
    };
    let control = Control::open_or_create(dir.path()).expect("creates");
    let ledger = Ledger::create(
        dir.path(),
        1,
        "abc",
        &[rule("sqli", "block"), rule("bots", "log")],
        1,
        64,
        weir_ledger::Reserve::Nothing,
    );
    let ledger = ledger.expect("creates");
    control.set_generation(1);
    let (row, clock) = (ledger.row(0), Clock::calibrate());
    row.attach();
    for (entry, us) in [(0, 20), (1, 100)] {
        row.add(entry, true);
        row.time(entry, clock.ticks_of(us * 1000));
    }
    row.request();
    let slot = control.claim_worker(std::process::id()).expect("has room");
    slot.set_revision("abc");
    slot.requests.add(1);
    slot.outcomes[6].add(1);
    dir
}

fn with_runtime(dir: &tempfile::TempDir, arguments: &[&str]) -> Output {
    let dir = dir.path().to_str().expect("is UTF-8");
    weir(&[arguments, &["--runtime", dir]].concat())
}

#[test]
fn help_of_every_subcommand_works() {
    assert_golden("help.txt", &transcript(&["--help"], &[]));
    for name in SUBCOMMANDS.into_iter().filter(|name| *name != "help") {
        let output = weir(&[name, "--help"]);
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains(&format!("Usage: weir {name}")), "{name}");
    }
    let listed = text(&weir(&["--help"]).stdout);
    for other in ["-h", "help"] {
        assert_eq!(text(&weir(&[other]).stdout), listed, "{other}");
    }
    assert_eq!(text(&weir(&["help", "put"]).stdout), text(&weir(&["put", "--help"]).stdout));
    let commands = listed.split("Options:").next().expect("a list");
    let names: Vec<&str> = commands
        .lines()
        .filter(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names, SUBCOMMANDS, "every subcommand is in this test");
}

#[test]
fn a_wrong_command_line_is_exit_code_2() {
    for arguments in [
        &[][..],
        &["chek"],
        &["check"],
        &["silence"],
        &["silence", "maybe"],
        &["cost", "--top", "x"],
        &["up", "--port", "0"],
    ] {
        assert_eq!(weir(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_good_policy_is_counted() {
    assert_golden("check-good.txt", &transcript(&["check", "good.yaml"], &[]));
    let json: serde_json::Value =
        serde_json::from_slice(&weir(&["check", "--json", "good.yaml"]).stdout).expect("JSON");
    assert_eq!((&json["ok"], &json["rules"], &json["policies"]), (&true.into(), &3.into(), &2.into()));
}

#[test]
fn a_bad_policy_shows_every_error_at_its_place() {
    assert_golden("check-bad.txt", &transcript(&["check", "bad.yaml"], &[]));
    let output = weir(&["check", "--json", "bad.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["ok"], false);
    let errors = json["errors"].as_array().expect("errors");
    assert!(errors.len() >= 2 && errors.iter().all(|error| error["line"].as_u64() > Some(0)), "{json}");
}

#[test]
fn files_for_a_gateway_are_checked_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("is written");
    write("a.yaml", "sites: {shop: {hosts: [shop.example]}}\nupstreams: {app: {members: {a: '10.0.0.1:80'}}}\n");
    write("b.yaml", "routes:\n  r: &r {site: shop, to: ap, methods: [FETCH]}\n  s: {<<: *r, path: /s, to: app}\n");
    let check = |names: &[&str]| {
        let mut arguments = vec!["check".to_owned()];
        arguments.extend(names.iter().map(|name| folder.path().join(name).display().to_string()));
        let output = weir(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let place = |name: &str, at: &str| format!("{}:{at}", folder.path().join(name).display());
    let (code, said) = check(&["a.yaml", "b.yaml"]);
    assert_eq!((code, said.matches("there is no upstream `ap`").count()), (Some(1), 1), "{said}");
    assert!(said.contains("b.yaml:2:") && said.contains("did you mean `app`?") && said.contains("1 error"), "{said}");
    write("b.yaml", "routes:\n  r: &r {site: shop, to: app, methods: [FETCH]}\n  s: {<<: *r, path: /s}\n");
    for names in [&["a.yaml", "b.yaml"][..], &["."]] {
        let (code, said) = check(names);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("good: 1 upstream, 1 site, 2 routes"), "{said}");
        assert!(said.contains("`FETCH` is not a method") && said.contains("b.yaml:2:"), "{said}");
    }
    write("c.yaml", "sites:\n  blog: {hosts: [blog.example, shop.example]}\n");
    let (code, said) = check(&["a.yaml", "c.yaml"]);
    assert_eq!((code, said.matches("already").count()), (Some(1), 1), "{said}");
    assert!(said.contains("the host `shop.example` is in /sites/blog already") && said.contains("1 error"), "{said}");
    write("d.yaml", "sites: {shop: {hosts: [other.example]}}\n");
    let (code, said) = check(&["a.yaml", "d.yaml"]);
    assert_eq!((code, said.matches("given twice").count()), (Some(1), 1), "{said}");
    assert!(said.contains(&place("d.yaml", "1:")) && said.contains("the first is in"), "{said}");
    write("e.yaml", "sites: {shop: {hosts: [a.example]}, shop: {hosts: [b.example]}}\n");
    let (code, said) = check(&["e.yaml"]);
    assert_eq!((code, said.matches("given twice").count()), (Some(1), 1), "{said}");
}

#[test]
fn what_is_no_text_file_is_refused_and_nothing_waits() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let made = Command::new("mkfifo").arg(path("fifo")).status().expect("mkfifo runs");
    assert!(made.success());
    for (name, bytes) in [
        ("utf16", &b"\xff\xfep\0o\0"[..]),
        ("bytes", b"policies:\n  - id: \xff\n"),
        ("nul", b"policies: []\n\0"),
        ("twice", b"{a: 1, a: 2}"),
    ] {
        fs::write(path(name), bytes).expect("is written");
    }
    fs::File::create(path("large")).and_then(|file| file.set_len(2 << 30)).expect("a sparse file");
    for (name, put, others) in [
        ("fifo", "it is not a regular file", "not a regular file"),
        (".", "it is a directory", "directory"),
        ("large", "more than 16777216 bytes", ""),
        ("utf16", "utf16:1:1: expected UTF-8 text", ""),
        ("bytes", "bytes:2:9: expected UTF-8 text", ""),
        ("nul", "nul:2:1: a NUL byte", ""),
        ("twice", "twice:1:8: \"a\" is given twice", ""),
        ("missing", "No such file", "o such file"),
    ] {
        let at = format!("@{}", path(name));
        let file = path(name);
        for (arguments, expected) in [
            (&["put", "settings", &at][..], put),
            (
                &["apply", &file],
                if name == "." {
                    "no file ends in"
                } else if name == "twice" {
                    "unknown key"
                } else {
                    put
                },
            ),
            (&["check", &file], if name == "." { "no file ends in" } else { others }),
            (&["check", "--lint", &file], if name == "." { "no file ends in" } else { others }),
            (&["replay", "--policy", "good.yaml", &file], others),
            (&["tune", &file, "--rule", "1"], others),
        ] {
            let output = weir(arguments);
            let said = text(&output.stdout) + &text(&output.stderr);
            assert!(!output.status.success() || expected.is_empty(), "{arguments:?}: {said}");
            assert!(said.contains(expected), "{arguments:?}: expected {expected} in {said}");
        }
    }
}

#[test]
fn a_policy_that_is_not_there_is_one_line() {
    let output = weir(&["check", "nowhere.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("nowhere.yaml"));
}

#[test]
fn without_a_running_nginx_every_command_says_so() {
    let dir = tempfile::tempdir().expect("temp dir");
    let path = dir.path().to_str().expect("is UTF-8");
    for arguments in [&["status"][..], &["cost"], &["silence", "on"], &["log-level"]] {
        let have = transcript(&[arguments, &["--runtime", path]].concat(), &[(path, "DIR")]);
        assert_golden("not-running.txt", &have);
    }
}

#[test]
fn a_foreign_runtime_file_is_an_error_and_no_crash() {
    let dir = tempfile::tempdir().expect("temp dir");
    for content in ["", "short", &"long ".repeat(50_000)] {
        fs::write(dir.path().join("control"), content).expect("writes");
        let output = with_runtime(&dir, &["status"]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        assert!(text(&output.stderr).starts_with("weir: "), "{}", text(&output.stderr));
    }
}

#[test]
fn silence_and_log_level_reach_the_running_nginx() {
    let dir = runtime();
    let control = Control::open(dir.path()).expect("opens");
    let say = |arguments: &[&str]| text(&with_runtime(&dir, arguments).stdout);
    assert_eq!(say(&["silence", "on"]), "silence is on: every request passes uninspected\n");
    assert!(control.silenced());
    assert_eq!(say(&["silence", "status"]), "silence is on: every request passes uninspected\n");
    assert_eq!(say(&["silence", "off"]), "silence is off: policies apply\n");
    assert!(!control.silenced());
    assert_eq!(say(&["log-level", "debug"]), "log level: debug\n");
    assert_eq!(control.log_level(), 8);
    assert_eq!(say(&["log-level"]), "log level: debug\n");
    assert_eq!(say(&["log-level", "default"]), "log level: as configured\n");
}

#[test]
fn status_shows_the_workers() {
    let dir = runtime();
    let shown = text(&with_runtime(&dir, &["status"]).stdout);
    assert!(shown.starts_with("policies apply at "), "{shown}");
    assert!(shown.contains(&format!("{}", std::process::id())) && shown.contains("verdicts: block 1"), "{shown}");
    let json: serde_json::Value =
        serde_json::from_slice(&with_runtime(&dir, &["status", "--json"]).stdout).expect("JSON");
    assert_eq!(json["workers"][0]["verdicts"]["block"], 1);
    assert_eq!(json["workers"][0]["revision"], "abc");
    assert_eq!(json["silenced"], false);
}

#[test]
fn cost_ranks_the_dearest_first() {
    let dir = runtime();
    let shown = text(&with_runtime(&dir, &["cost"]).stdout);
    let (bots, sqli) = (shown.find("bots").expect("is shown"), shown.find("sqli").expect("is shown"));
    assert!(bots < sqli, "{shown}");
    let json: serde_json::Value =
        serde_json::from_slice(&with_runtime(&dir, &["cost", "--json", "--top", "1"]).stdout).expect("JSON");
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["rows"][0]["id"], "bots");
    for by in ["rule", "plugin", "policy", "lane"] {
        assert!(with_runtime(&dir, &["cost", "--by", by]).status.success(), "{by}");
    }
}

#[test]
fn the_schema_is_json() {
    let schema: serde_json::Value = serde_json::from_slice(&weir(&["schema"]).stdout).expect("JSON");
    assert!(schema["$schema"].is_string());
}

#[test]
fn completions_are_made_for_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&weir(&["completions", shell]).stdout);
        assert!(SUBCOMMANDS.iter().all(|name| script.contains(name)), "{shell}");
    }
}

#[test]
fn up_without_its_parts_says_what_to_do() {
    let cases: [(&[&str], &str); 3] = [
        (&["up", "--nginx", "/nowhere/nginx"], "nginx /nowhere/nginx"),
        (&["up", "--module", "/nowhere/weir.so"], "make build"),
        (&["up", "--policy", "/nowhere/policy.yaml", "--module", "/dev/null"], "policy /nowhere/policy.yaml"),
    ];
    for (arguments, want) in cases {
        let output = weir(arguments);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains(want), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn up_on_a_taken_port_names_it_and_its_holder() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
    let port = listener.local_addr().expect("is bound").port().to_string();
    let output = weir(&["up", "--port", &port, "--module", "/dev/null", "--nginx", "/bin/true"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains(&format!("port {port} on 127.0.0.1 is taken by process {}", std::process::id())), "{error}");
    assert!(error.contains("WEIR_PORT"), "{error}");
}
