//! Reading the logs that Weir writes: one JSON object a line, or the test fails.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::wait::until;

/// All complete lines of a log so far; none if it does not exist yet.
///
/// # Panics
/// If a line is not a JSON object in valid UTF-8, or the last one is not ended.
#[must_use]
pub fn lines(path: &Path) -> Vec<Value> {
    let Ok(bytes) = fs::read(path) else { return Vec::new() };
    assert!(bytes.is_empty() || bytes.ends_with(b"\n"), "{}: the last line is torn", path.display());
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|line| parse(path, line)).collect()
}

fn parse(path: &Path, line: &[u8]) -> Value {
    let value: Value = serde_json::from_slice(line)
        .unwrap_or_else(|error| panic!("{}: {error}: {}", path.display(), String::from_utf8_lossy(line)));
    assert!(value.is_object(), "{}: not an object: {value}", path.display());
    value
}

/// Waits until the log has `count` lines and gives them; more than that fails.
///
/// # Panics
/// If there are more, or they do not come.
#[must_use]
pub fn wait(path: &Path, count: usize) -> Vec<Value> {
    let found = until(&format!("{count} lines in {}", path.display()), || {
        let found = lines(path);
        (found.len() >= count).then_some(found)
    });
    assert_eq!(found.len(), count, "lines in {}: {found:#?}", path.display());
    found
}
