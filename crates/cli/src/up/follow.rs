//! Follows the attack log and tells each line in one that people read.

use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use weir_log::attack::AttackLine;

use crate::style::Style;
use crate::terminal::shown;

/// Bytes read at a time, and of one line: what is longer is cut there.
const READ_BYTES: u64 = 1 << 20;

/// Reads what is added to a file, over rotations.
pub(super) struct Follower {
    path: PathBuf,
    open: Option<(File, u64)>,
    rest: Vec<u8>,
}

impl Follower {
    /// From the beginning of the file, which need not be there yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, open: None, rest: Vec::new() }
    }

    /// The whole lines that have been added.
    pub fn lines(&mut self) -> Vec<String> {
        let more = self.read().unwrap_or_default();
        self.rest.extend_from_slice(&more);
        let Some(end) = self.rest.iter().rposition(|&byte| byte == b'\n') else {
            if self.rest.len() as u64 > READ_BYTES {
                self.rest.clear();
            }
            return Vec::new();
        };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        whole
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect()
    }

    fn read(&mut self) -> std::io::Result<Vec<u8>> {
        let mut more = Vec::new();
        if let Some((file, at)) = &mut self.open {
            file.take(READ_BYTES).read_to_end(&mut more)?;
            *at += more.len() as u64;
            if !more.is_empty() {
                return Ok(more);
            }
        }
        // At the end of what is open: the name may stand for another file by now.
        let now = std::fs::metadata(&self.path)?;
        let same =
            |(file, at): &(File, u64)| file.metadata().is_ok_and(|then| is_same(&then, &now)) && now.len() >= *at;
        if !self.open.as_ref().is_some_and(same) {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(0))?;
            self.open = Some((file, 0));
            self.rest.clear();
        }
        Ok(more)
    }
}

fn is_same(a: &Metadata, b: &Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// One line of the attack log for people; any other line as it is.
pub(super) fn readable(line: &str, style: Style) -> String {
    let Some(attack) = AttackLine::parse(line.as_bytes()) else { return shown(line, 200) };
    let time = shown(&attack.time, 40);
    let clock = time.split_once('T').and_then(|(_, clock)| clock.get(..8)).unwrap_or(&time);
    let action = shown(&attack.action, 20);
    let action = if action == "block" || action == "fail" { style.red(&action) } else { style.yellow(&action) };
    let head = format!(
        "{} {action} {} {} {} {}",
        style.dim(clock),
        attack.status,
        shown(&attack.client, 45),
        shown(&attack.method, 12),
        shown(&attack.uri, 80),
    );
    let findings = attack.findings.iter().map(|finding| {
        let message =
            if finding.message.is_empty() { String::new() } else { format!(" ({})", shown(&finding.message, 60)) };
        let rule = style.bold(&shown(&finding.rule, 60));
        let key = if finding.key.is_empty() { String::new() } else { format!(", key {}", shown(&finding.key, 60)) };
        let (variable, matched) = (shown(&finding.variable, 60), shown(&finding.matched, 60));
        format!("{rule}{message} {variable} = \"{matched}\"{key}")
    });
    let findings: Vec<String> = findings.collect();
    if findings.is_empty() { head } else { format!("{head}: {}", findings.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_finding_is_one_line_that_explains_itself() {
        let line = r#"{"request_id":"r","time":"2030-01-02T03:04:05.678Z","client":"192.0.2.7","host":"h","method":"GET",
            "uri":"/search?q=\u001b[2J","status":403,"action":"block","policy":"p","revision":"1","rule_ids":["sqli"],
            "findings":[{"rule":"sqli","message":"SQL injection","variable":"args[\"q\"]","matched":"union select"}],"score":5}"#;
        assert_eq!(
            readable(line, Style::plain()),
            r#"03:04:05 block 403 192.0.2.7 GET /search?q=\x1b[2J: sqli (SQL injection) args["q"] = "union select""#
        );
        let limited = line.replace(r#""matched":"#, r#""key":"ip:192.0.2.7","matched":"#);
        assert!(readable(&limited, Style::plain()).ends_with(r#" = "union select", key ip:192.0.2.7"#));
        assert_eq!(readable("not json\x07", Style::plain()), "not json\\x07");
    }

    #[test]
    fn lines_come_whole_once_and_over_rotations() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("log");
        let mut follower = Follower::new(path.clone());
        let mut lines = || [follower.lines(), follower.lines(), follower.lines()].concat();
        assert!(lines().is_empty(), "no file yet");
        let mut file = File::create(&path).expect("creates");
        file.write_all(b"one\ntw").expect("writes");
        assert_eq!(lines(), ["one"]);
        file.write_all(b"o\n").expect("writes");
        assert_eq!(lines(), ["two"]);
        std::fs::rename(&path, dir.path().join("old")).expect("renames");
        file.write_all(b"three\n").expect("writes");
        std::fs::write(&path, "four\n").expect("writes");
        assert_eq!(lines(), ["three", "four"]);
    }
}
