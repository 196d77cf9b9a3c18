//! Captures libbpf's messages, which contain the verifier's reasons.

use std::sync::{Mutex, MutexGuard, PoisonError};

use libbpf_rs::PrintLevel;

/// Number of bytes kept, from the end, where the verifier states its reason.
const MOST: usize = 64 << 10;
/// Number of lines shown.
const SHOWN: usize = 6;

static KEPT: Mutex<String> = Mutex::new(String::new());

fn kept() -> MutexGuard<'static, String> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts capturing libbpf's warnings, dropping earlier ones.
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

/// The last lines of libbpf's messages, without the verifier's statistics; all of them if WEIR_BPF_LOG is set.
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
