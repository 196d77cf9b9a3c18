//! Reading the logs that Weir writes: one JSON object per line, or the test fails.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::wait::until;

/// All complete lines of a log that is still being written; none if it does not exist yet.
/// (A file grows page by page, so a reader may see the beginning of a write.)
///
/// # Panics
/// If a line is not a JSON object in valid UTF-8.
#[must_use]
pub fn lines(path: &Path) -> Vec<Value> {
    let Ok(bytes) = fs::read(path) else { return Vec::new() };
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    parse_all(path, &bytes[..end])
}

/// All lines of a log that is no longer written.
///
/// # Panics
/// If a line is not a JSON object in valid UTF-8, or the last line is incomplete.
#[must_use]
pub fn whole(path: &Path) -> Vec<Value> {
    let Ok(bytes) = fs::read(path) else { return Vec::new() };
    assert!(bytes.is_empty() || bytes.ends_with(b"\n"), "{}: the last line is torn", path.display());
    parse_all(path, &bytes)
}

fn parse_all(path: &Path, bytes: &[u8]) -> Vec<Value> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|line| parse(path, line)).collect()
}

fn parse(path: &Path, line: &[u8]) -> Value {
    let value: Value = serde_json::from_slice(line)
        .unwrap_or_else(|error| panic!("{}: {error}: {}", path.display(), String::from_utf8_lossy(line)));
    assert!(value.is_object(), "{}: not an object: {value}", path.display());
    value
}

/// Waits until the log has `count` lines and returns them.
///
/// # Panics
/// If there are more lines, or on timeout.
#[must_use]
pub fn wait(path: &Path, count: usize) -> Vec<Value> {
    let found = until(&format!("{count} lines in {}", path.display()), || {
        let found = lines(path);
        (found.len() >= count).then_some(found)
    });
    assert_eq!(found.len(), count, "lines in {}: {found:#?}", path.display());
    found
}
