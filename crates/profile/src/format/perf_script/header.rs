//! The first line of a sample: `nginx  4711/4711 [001]  5235.1234: 10101010 cpu-clock:pppH: ...`.
//!
//! The name may contain spaces and digits; the rest is optional and is found from the right: the
//! time is the only word like `5235.1234:`, it may be preceded by a CPU `[001]` and flags, and
//! these by the ids. Without a time, the ids must be followed by an event, a CPU or nothing.

/// A header's fields.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header<'a> {
    /// Name of the thread.
    pub(super) comm: &'a str,
    /// Process id; if only one id is printed, it is the thread's and stands for both.
    pub(super) pid: u32,
    /// Thread id.
    pub(super) tid: u32,
    /// Weight, in units of the event.
    pub(super) period: Option<u64>,
    /// Event with its modifiers: `cycles:u`; empty if not printed.
    pub(super) event: &'a str,
    /// The text after the event: arguments of a trace point, or the only frame.
    pub(super) rest: &'a str,
}

/// A word and its offset.
type Word<'a> = (usize, &'a str);

/// Number of words examined: the fields come first.
const MAX_WORDS: usize = 64;

pub(super) fn parse(line: &str) -> Option<Header<'_>> {
    let words = words(line);
    let (ids, after) = match words.iter().position(|(_, word)| is_time(word)) {
        Some(time) => (ids_before(&words, time), time + 1),
        None => ids_without_time(line, &words)?,
    };
    let name_end = words.get(ids.unwrap_or(after - 1)).map_or(line.len(), |(at, _)| *at);
    let comm = line[..name_end].trim();
    if comm.is_empty() {
        return None;
    }
    let (pid, tid) = ids.and_then(|at| ids_of(words[at].1)).unwrap_or((0, 0));
    let rest = words.get(after).map_or("", |(at, _)| &line[*at..]);
    let (period, event, rest) = event_of(rest);
    Some(Header { comm, pid, tid, period, event, rest })
}

fn words(line: &str) -> Vec<Word<'_>> {
    let start = line.as_ptr() as usize;
    line.split_ascii_whitespace().take(MAX_WORDS).map(|word| (word.as_ptr() as usize - start, word)).collect()
}

/// The ids before a time; a CPU and flags may be between them.
fn ids_before(words: &[Word<'_>], time: usize) -> Option<usize> {
    let nearest = |at: &usize| ids_of(words[*at].1).is_some();
    (time.saturating_sub(3).max(1)..time).rev().find(nearest)
}

/// The last ids with a valid successor.
fn ids_without_time(line: &str, words: &[Word<'_>]) -> Option<(Option<usize>, usize)> {
    let indented = line.starts_with([' ', '\t']);
    let word = |at: usize| words.get(at).map(|(_, word)| *word);
    let event_at = |at: usize| match (word(at), word(at + 1)) {
        (Some(event), _) if is_event(event) => true,
        (Some(period), Some(event)) => is_digits(period) && is_event(event),
        _ => false,
    };
    // A number after a CPU is a period.
    let ids = |at: &usize| ids_of(words[*at].1).is_some() && !is_cpu(words[at - 1].1);
    (1..words.len()).rev().filter(ids).find_map(|at| match word(at + 1) {
        None if !indented => Some((Some(at), at + 1)),
        Some(next) if is_cpu(next) && (event_at(at + 2) || word(at + 2).is_none()) => Some((Some(at), at + 2)),
        Some(_) if !indented && event_at(at + 1) => Some((Some(at), at + 1)),
        _ => None,
    })
}

/// Period, event and the rest: `10101010 cpu-clock:pppH: ...`.
fn event_of(text: &str) -> (Option<u64>, &str, &str) {
    let (first, behind) = word_of(text);
    let (period, text) = if is_digits(first) { (first.parse().ok(), behind) } else { (None, text) };
    let (event, rest) = word_of(text);
    match event.strip_suffix(':') {
        Some(event) if !event.is_empty() => (period, event, rest),
        _ => (period, "", text),
    }
}

fn word_of(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// Turns `cycles:uppp` into `cycles`; `sched:sched_switch` is unchanged.
pub(super) fn without_modifiers(event: &str) -> &str {
    const MODIFIERS: &[u8] = b"ukhIGHpPSDWeb";
    match event.rsplit_once(':') {
        Some((name, modifiers)) if modifiers.bytes().all(|byte| MODIFIERS.contains(&byte)) => name,
        _ => event,
    }
}

fn is_digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// `5235.1234:`
fn is_time(word: &str) -> bool {
    let parts = word.strip_suffix(':').and_then(|time| time.split_once('.'));
    parts.is_some_and(|(seconds, fraction)| is_digits(seconds) && is_digits(fraction))
}

/// `[001]`
fn is_cpu(word: &str) -> bool {
    word.strip_prefix('[').and_then(|word| word.strip_suffix(']')).is_some_and(is_digits)
}

/// `cycles:u:`; an address is not an event.
fn is_event(word: &str) -> bool {
    word.strip_suffix(':').is_some_and(|event| event.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// `4711` or `4711/4712`; idle threads of a virtual machine have the id -1.
fn ids_of(word: &str) -> Option<(u32, u32)> {
    let id = |text: &str| if text == "-1" { Some(0) } else { is_digits(text).then(|| text.parse().ok())? };
    match word.split_once('/') {
        Some((pid, tid)) => Some((id(pid)?, id(tid)?)),
        None => id(word).map(|id| (id, id)),
    }
}
