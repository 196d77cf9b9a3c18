//! pprof: gzip'd protocol buffers, with the field numbers of
//! <https://github.com/google/pprof/blob/main/proto/profile.proto>.
//!
//! A location has a line for each function inlined there; in a [`Profile`] these are separate
//! frames. Threads are labels of samples. Inlining, modules and threads survive a round trip;
//! system calls and health, which the format cannot hold, are lost.

mod message;
mod read;
mod tables;
mod write;

pub(super) use read::read;
pub(super) use write::write;

/// Labels with the thread of a sample: the one that is written, and those of other tools.
const THREAD_LABELS: &[&str] = &["thread", "thread_name", "comm"];
const PID_LABELS: &[&str] = &["pid", "process_id"];
const TID_LABELS: &[&str] = &["tid", "thread_id", "thread id"];
/// Prefixes of comments that hold what the format has no field for.
const TITLE_COMMENT: &str = "title: ";
const REQUESTS_COMMENT: &str = "requests: ";

/// Number of bytes examined to distinguish text from other data.
const SNIFFED_BYTES: usize = 64 << 10;
/// The highest field number of a profile.
const LAST_FIELD: u8 = 15;

/// Whether bytes are text: a profile in this format has an empty string, which is a zero byte.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    !head.iter().any(|byte| matches!(byte, 0..=8 | 14..=26))
}

/// Not text, and the first byte is the key of an existing field.
pub(super) fn sniff(bytes: &[u8]) -> bool {
    let key = bytes.first().copied().unwrap_or_default();
    !is_text(bytes) && (1..=LAST_FIELD).contains(&(key >> 3)) && matches!(key & 7, 0 | 2)
}

#[cfg(test)]
mod tests;
