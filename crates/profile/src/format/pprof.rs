//! pprof: gzip'd protocol buffers, by the numbers of <https://github.com/google/pprof/blob/main/proto/profile.proto>.
//!
//! A location is a place in the code and has a line for each function that is inlined there; in
//! a [`Profile`] these are frames of their own. Threads are labels of samples. Inlining, modules
//! and threads survive writing and reading; what has no place there (system calls, health) is lost.

mod message;
mod read;
mod tables;
mod write;

pub(super) use read::read;
pub(super) use write::write;

/// Labels of a sample that say which thread it is of: as written, and as others write them.
const THREAD_LABELS: &[&str] = &["thread", "thread_name", "comm"];
const PID_LABELS: &[&str] = &["pid", "process_id"];
const TID_LABELS: &[&str] = &["tid", "thread_id", "thread id"];
/// Starts of the comments that carry what the format has no field for.
const TITLE_COMMENT: &str = "title: ";
const REQUESTS_COMMENT: &str = "requests: ";

/// Bytes that are looked at to tell text from other things.
const SNIFFED_BYTES: usize = 64 << 10;
/// The highest field number of a profile.
const LAST_FIELD: u8 = 15;

/// Whether bytes are text: a profile of this format has an empty string, which is a zero byte.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    !head.iter().any(|byte| matches!(byte, 0..=8 | 14..=26))
}

/// Not text, and the first byte is the key of a field that there is.
pub(super) fn sniff(bytes: &[u8]) -> bool {
    let key = bytes.first().copied().unwrap_or_default();
    !is_text(bytes) && (1..=LAST_FIELD).contains(&(key >> 3)) && matches!(key & 7, 0 | 2)
}

#[cfg(test)]
mod tests;
