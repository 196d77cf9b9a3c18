//! What changes in a list file: lines that come and go, whatever their order.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};
use weir_gateway::resource::CapturedFile;
use weir_resource::ResourceKind;

use crate::objects::Objects;
use crate::sandbox::Uses;
use weir_policy::counted;

/// Larger files are not compared line by line.
const MAX_BYTES: u64 = 64 << 20;

/// Lines that an answer shows of each side.
const MAX_SHOWN: usize = 1_000;

/// Lines that came and went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    pub added: Vec<String>,
    pub removed: Vec<String>,
}

/// Compares two contents as sets of lines; lines that occur several times count as often.
pub(crate) fn compare(old: &[u8], new: &[u8]) -> Lines {
    let mut counts: HashMap<&[u8], i64> = HashMap::new();
    for (content, step) in [(old, -1), (new, 1)] {
        for line in content.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()) {
            *counts.entry(line).or_default() += step;
        }
    }
    let mut lines = Lines::default();
    for (line, count) in counts.into_iter().filter(|(_, count)| *count != 0) {
        let side = if count > 0 { &mut lines.added } else { &mut lines.removed };
        let text = String::from_utf8_lossy(line).into_owned();
        side.extend(std::iter::repeat_n(text, usize::try_from(count.unsigned_abs()).unwrap_or(1)));
    }
    lines.added.sort_unstable();
    lines.removed.sort_unstable();
    lines
}

impl Lines {
    /// The first lines of each side, and how many there are.
    pub fn shown(&self) -> Value {
        let side = |lines: &[String]| json!({"count": lines.len(), "lines": &lines[..lines.len().min(MAX_SHOWN)]});
        json!({"added": side(&self.added), "removed": side(&self.removed)})
    }
}

/// Whether only lists use a file: others may hold secrets.
pub(crate) fn is_list(uses: &Uses, path: &Path) -> bool {
    let mut users = uses.iter().filter(|(_, groups)| groups.iter().any(|group| group.iter().any(|one| one == path)));
    users.clone().next().is_some() && users.all(|(key, _)| key.kind == ResourceKind::Lists)
}

/// Compares two captured lists; `None` if they are too large, or not kept.
pub(crate) fn of_lists(objects: &Objects, old: &CapturedFile, new: &CapturedFile) -> Option<Lines> {
    if old.size.max(new.size) > MAX_BYTES {
        return None;
    }
    Some(compare(&objects.read(old).ok()?, &objects.read(new).ok()?))
}

/// The change of a file in words.
pub(super) fn said(objects: &Objects, old: &CapturedFile, new: &CapturedFile, is_list: bool) -> String {
    let lines = |all: &[_]| counted(all.len(), "line");
    match is_list.then(|| of_lists(objects, old, new)).flatten() {
        Some(Lines { added, removed }) => {
            format!("{}: {} added, {} removed", new.path, lines(&added), lines(&removed))
        }
        None if new.path.ends_with('/') => format!("{}: other entries", new.path),
        None => format!("{}: {} bytes instead of {}", new.path, new.size, old.size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_compared_whatever_their_order() {
        let lines = compare(b"a\nb\n\nb\nc\n", b"c\r\nd\nb\na");
        assert_eq!((lines.added, lines.removed), (vec!["d".to_owned()], vec!["b".to_owned()]));
        assert_eq!(compare(b"x", b"\nx\n"), Lines::default());
    }

    #[test]
    fn many_lines_are_cut_and_counted() {
        let new: String = (0..2_500).map(|n| format!("{n}\n")).collect();
        let shown = compare(b"", new.as_bytes()).shown();
        assert_eq!((&shown["added"]["count"], &shown["removed"]["count"]), (&json!(2_500), &json!(0)));
        assert_eq!(shown["added"]["lines"].as_array().map(Vec::len), Some(MAX_SHOWN));
    }

    #[test]
    fn a_file_that_something_else_uses_as_well_is_no_list() {
        let key = |kind| crate::state::Key::new(kind, "a");
        let paths = |paths: &[&str]| vec![paths.iter().map(|path| (*path).into()).collect::<std::sync::Arc<[_]>>()];
        let uses: Uses =
            [(key(ResourceKind::Lists), paths(&["/l", "/both"])), (key(ResourceKind::Policies), paths(&["/both"]))]
                .into();
        let cases = [("/l", true), ("/both", false), ("/none", false)];
        cases.iter().for_each(|(path, want)| assert_eq!(is_list(&uses, Path::new(path)), *want, "{path}"));
    }
}
