//! The guide "Moving from ModSecurity": its files are written and its commands run in one shell, with
//! Debian's nginx, ModSecurity and CRS. They must print the output shown, as in the README's tour.
//!
//! A block other than `console` is a file, whose name is the last one in the paragraph above. The
//! guide's directory, ports and build are replaced by those of this test.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::running::{root, weir};
use crate::tour::{lines_match, steps};

const MODSECURITY: &str = "/usr/lib/nginx/modules/ngx_http_modsecurity_module.so";
const MARK: &str = "=== end of a command ===";
const FILE_END: &str = "END_OF_THE_FILE";
/// The command that the test skips, because the build exists.
const BUILD: &str = "make build";
/// The guide's command for reloading nginx, and its replacement: on a busy machine, loading CRS for
/// two modules may take longer than the guide sleeps, so the test waits until the old workers are gone.
const RELOAD: &str = "kill -HUP $(cat nginx.pid); sleep 3";
const RELOAD_AND_WAIT: &str = r"master=$(cat nginx.pid); old=$(cat /proc/$master/task/$master/children)
kill -HUP $master
for pid in $old; do for try in $(seq 600); do kill -0 $pid 2>/dev/null || break; sleep 0.05; done; done";

/// The last name of a configuration file or policy in backquotes on a line.
fn file_name(line: &str) -> Option<&str> {
    let is_file = |name: &&str| {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'.');
        name.bytes().all(is_plain) && (name.ends_with(".conf") || name.ends_with(".yaml"))
    };
    line.split('`').skip(1).step_by(2).filter(is_file).last()
}

/// The guide as a script: files are written at their position, [`MARK`] is printed after each command.
fn script(guide: &str) -> String {
    let mut script = String::from("exec 2>&1\n");
    let (mut last, mut block) = ("", "");
    for line in guide.lines() {
        match (block, line) {
            ("", "```console") => block = "console",
            ("", fence) if fence.starts_with("```") => {
                let name = file_name(last).expect("a file's name stands above it");
                script.push_str(&format!("cat > /tmp/move/{name} <<'{FILE_END}'\n"));
                block = "file";
            }
            ("", text) if !text.is_empty() => last = text,
            ("console", "```") => block = "",
            ("file", "```") => {
                script.push_str(&format!("{FILE_END}\n"));
                block = "";
            }
            ("console", line) => {
                if let Some(command) = line.strip_prefix("$ ") {
                    let command = if command == BUILD { ":" } else { command };
                    script.push_str(&format!("{}\necho '{MARK}'\n", command.replace(RELOAD, RELOAD_AND_WAIT)));
                }
            }
            ("file", line) => script.push_str(&format!("{line}\n")),
            _ => {}
        }
    }
    script
}

#[test]
#[ignore = "needs ModSecurity's nginx module: `make test-more`"]
fn every_command_of_the_guide_from_modsecurity_prints_what_it_shows() {
    assert!(Path::new(MODSECURITY).exists(), "there is no {MODSECURITY}");
    let guide = std::fs::read_to_string(root().join("docs/from-modsecurity.md")).expect("is there");
    let steps = steps(&guide);
    assert!(steps.len() >= 40, "the guide has shrunk to {} commands", steps.len());
    let dir = tempfile::tempdir().expect("temp dir");
    let path = |path: &Path| path.to_str().expect("is text").to_owned();
    let (module, command) = (weir_tests::setup::module(), weir());
    let mine = [
        ("target/quick/libngx_http_weir_module.so", path(&module)),
        ("$PWD/target/quick", path(command.parent().expect("is in a directory"))),
        ("/tmp/move", path(dir.path())),
        ("18080", weir_tests::port::free().to_string()),
        ("18081", weir_tests::port::free().to_string()),
    ];
    let script = mine.iter().fold(script(&guide), |script, (guide, mine)| script.replace(guide, mine));
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(root())
        .env_remove("WEIR_RUNTIME")
        .envs([("NO_COLOR", "1"), ("COLUMNS", "100")])
        .stdin(Stdio::null())
        .output()
        .expect("bash runs");
    let output = String::from_utf8(output.stdout).expect("is text");
    let output = mine[2..].iter().fold(output, |output, (guide, mine)| output.replace(mine, guide));
    let mut wrong = Vec::new();
    for (step, printed) in steps.iter().zip(output.split(&format!("{MARK}\n"))) {
        if step.command != BUILD && !lines_match(&step.shown, &printed.lines().collect::<Vec<_>>()) {
            wrong.push(format!("$ {}\nshown:\n{}\nprinted:\n{printed}", step.command, step.shown.join("\n")));
        }
    }
    // The last command stops nginx; if an earlier one failed, the file still names the process to stop.
    if let Some(pid) =
        std::fs::read_to_string(dir.path().join("nginx.pid")).ok().and_then(|pid| pid.trim().parse().ok())
    {
        // SAFETY: sends a signal to the nginx that the guide has started and not ended.
        unsafe { libc::kill(pid, libc::SIGTERM) };
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert_eq!(output.matches(MARK).count(), steps.len());
}

#[test]
fn a_file_is_named_at_the_end_of_its_paragraph() {
    let cases = [
        ("A policy, `policy.yaml`:", Some("policy.yaml")),
        ("As `own.conf` for `modsec.conf`:", Some("modsec.conf")),
        ("Load it in `nginx.conf`, `a b.conf`, and in `weir on`:", Some("nginx.conf")),
        ("Nothing here: policy.yaml", None),
    ];
    for (line, want) in cases {
        assert_eq!(file_name(line), want, "{line}");
    }
    let text = "As `a.conf`:\n\n```apache\nx\n```\n\n```console\n$ cat a.conf\nx\n```\n";
    let want = format!("exec 2>&1\ncat > /tmp/move/a.conf <<'{FILE_END}'\nx\n{FILE_END}\ncat a.conf\necho '{MARK}'\n");
    assert_eq!(script(text), want);
}
