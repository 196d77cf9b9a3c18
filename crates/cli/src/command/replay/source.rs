//! Where requests come from: which format a file has, and reading it within bounds.
//!
//! An attack log may have gigabytes and is read line by line. A HAR file is one JSON value and raw
//! requests may be of any length, so those are read whole, up to a bound.

use std::io::{BufRead, BufReader, Read, stdin};
use std::path::Path;

use weir_log::attack::AttackLine;

use super::attack_log::request_of;
use super::recorded::Recorded;
use super::{har, raw};
use crate::{Failure, body};

/// Bytes of a HAR file or of raw requests.
const MAX_WHOLE_BYTES: u64 = 256 << 20;
/// Bytes of one line of an attack log: 256 findings with all that they may keep.
const MAX_LINE_BYTES: usize = 4 << 20;

/// Requests of a file, one after the other.
pub(super) enum Source {
    Raw(raw::Requests, String),
    Har(std::vec::IntoIter<Recorded>),
    Log(Lines),
}

/// Opens a file, or standard input for `-`.
fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(stdin())));
    }
    Ok(Box::new(BufReader::with_capacity(1 << 16, body::open(path)?)))
}

impl Source {
    /// Finds out what a file is by its beginning.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let fail = |error: String| Failure::new(format!("{name}: {error}"));
        let mut reader = open(path)?;
        let mut first = Vec::new();
        while first.trim_ascii().is_empty() {
            first.clear();
            let read = reader.by_ref().take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut first);
            if read.map_err(|error| fail(error.to_string()))? == 0 {
                break;
            }
        }
        if AttackLine::parse(&first).is_some() {
            let rest: Box<dyn BufRead> = Box::new(BufReader::new(std::io::Cursor::new(first).chain(reader)));
            return Ok(Self::Log(Lines::new(rest, name)));
        }
        let mut whole = first;
        reader.take(MAX_WHOLE_BYTES + 1).read_to_end(&mut whole).map_err(|error| fail(error.to_string()))?;
        if whole.len() as u64 > MAX_WHOLE_BYTES {
            return Err(fail(format!("longer than {MAX_WHOLE_BYTES} bytes")).hint("split it"));
        }
        if whole.trim_ascii_start().starts_with(b"{") {
            return Ok(Self::Har(har::read(&whole).map_err(fail)?.into_iter()));
        }
        Ok(Self::Raw(raw::Requests::new(whole), name))
    }
}

impl Iterator for Source {
    type Item = Result<Recorded, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Raw(requests, name) => {
                let request = requests.next()?;
                let hint = "requests are separated by their bodies' lengths; check Content-Length of the one before";
                Some(request.map_err(|error| Failure::new(format!("{name}: {error}")).hint(hint)))
            }
            Self::Har(requests) => requests.next().map(Ok),
            Self::Log(lines) => Some(lines.next()?.map(|(_, entry)| request_of(&entry))),
        }
    }
}

/// Entries of an attack log with the numbers of their lines. What is no entry is skipped and
/// counted: a log that was rotated in the middle of a line is no reason to see nothing.
pub(crate) struct Lines {
    reader: Box<dyn BufRead>,
    name: String,
    number: u64,
    /// Lines that were no entries.
    pub skipped: u64,
}

impl Lines {
    /// Of a reader; `name` is what errors call it.
    pub fn new(reader: Box<dyn BufRead>, name: String) -> Self {
        Self { reader, name, number: 0, skipped: 0 }
    }

    /// The next line, `false` if it is too long, `None` at the end.
    fn line(&mut self, line: &mut Vec<u8>) -> std::io::Result<Option<bool>> {
        line.clear();
        self.number += 1;
        let read = self.reader.by_ref().take(MAX_LINE_BYTES as u64).read_until(b'\n', line)?;
        if read == 0 {
            return Ok(None);
        }
        if read < MAX_LINE_BYTES || line.ends_with(b"\n") {
            return Ok(Some(true));
        }
        while !line.ends_with(b"\n") {
            line.clear();
            if self.reader.by_ref().take(MAX_LINE_BYTES as u64).read_until(b'\n', line)? == 0 {
                break;
            }
        }
        Ok(Some(false))
    }
}

impl Iterator for Lines {
    type Item = Result<(u64, AttackLine), Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut line = Vec::new();
        loop {
            match self.line(&mut line) {
                Err(error) => return Some(Err(Failure::new(format!("{}:{}: {error}", self.name, self.number)))),
                Ok(None) => return None,
                Ok(Some(true)) if line.trim_ascii().is_empty() => {}
                Ok(Some(true)) => match AttackLine::parse(&line) {
                    Some(entry) => return Some(Ok((self.number, entry))),
                    None => self.skipped += 1,
                },
                Ok(Some(false)) => self.skipped += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_tells_the_format() {
        let dir = tempfile::tempdir().expect("temp dir");
        for (text, want) in [
            ("\r\nGET / HTTP/1.1\r\n\r\n", "raw"),
            ("{\n \"log\": {\"entries\": []}}", "har"),
            ("{\"request_id\":\"a\",\"method\":\"GET\",\"uri\":\"/\",\"findings\":[]}\n", "log"),
            ("", "raw"),
        ] {
            let path = dir.path().join("file");
            std::fs::write(&path, text).expect("writes");
            let have = match Source::open(&path).expect("opens") {
                Source::Raw(..) => "raw",
                Source::Har(..) => "har",
                Source::Log(..) => "log",
            };
            assert_eq!(have, want, "{text}");
        }
    }

    #[test]
    fn lines_that_are_no_entries_are_counted() {
        let long = "x".repeat(MAX_LINE_BYTES + 5);
        let text =
            format!("cut\"}}\n\n{long}\n{{\"request_id\":\"a\",\"method\":\"GET\",\"uri\":\"/\",\"findings\":[]}}");
        let mut lines = Lines::new(Box::new(std::io::Cursor::new(text)), "log".into());
        let (number, entry) = lines.next().expect("one").expect("is good");
        assert_eq!((number, entry.request_id.as_str(), lines.skipped), (4, "a", 2));
        assert!(lines.next().is_none());
    }
}
