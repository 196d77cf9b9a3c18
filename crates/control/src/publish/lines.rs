//! What changes in a list file: lines that come and go, whatever their order.

use std::collections::HashMap;

use weir_gateway::resource::CapturedFile;

use crate::objects::Objects;
use weir_policy::counted;

/// Larger files are not compared line by line.
const MAX_BYTES: u64 = 64 << 20;

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
}
