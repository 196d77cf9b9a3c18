//! What libbpf says besides its error numbers: the verifier's reasons.

use std::sync::{Mutex, MutexGuard, PoisonError};

use libbpf_rs::PrintLevel;

/// Bytes of messages that are kept, the last ones: there the verifier says what it refuses.
const MOST: usize = 64 << 10;
/// Lines that are shown.
const SHOWN: usize = 6;

static KEPT: Mutex<String> = Mutex::new(String::new());

fn kept() -> MutexGuard<'static, String> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps libbpf's warnings from now on, and nothing of before.
pub(super) fn keep() {
    kept().clear();
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, message| {
        let mut kept = kept();
        kept.push_str(&message);
        if kept.len() > MOST {
            let start = kept.ceil_char_boundary(kept.len() - MOST);
            kept.drain(..start);
        }
    })));
}

/// The last lines of what libbpf said, without the verifier's statistics; all of it where WEIR_BPF_LOG is set.
pub(super) fn last() -> String {
    let kept = kept();
    if std::env::var_os("WEIR_BPF_LOG").is_some() {
        return kept.clone();
    }
    let telling =
        |line: &&str| !line.is_empty() && !line.contains("-- END PROG LOAD LOG") && !line.starts_with("processed ");
    let lines: Vec<_> = kept.lines().filter(telling).collect();
    // The lines after the log repeat the error number.
    let end = lines.iter().rposition(|line| !line.starts_with("libbpf: ")).map_or(lines.len(), |last| last + 1);
    lines[end.saturating_sub(SHOWN)..end].join(" | ")
}
