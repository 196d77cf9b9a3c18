//! What `perf script` prints: a line that says who, when and which event, then the stack, leaf first.
//!
//! Which fields the first line has depends on perf's version and on its options, and nothing
//! names them: [`header`] finds them by their shapes. Frames are tidied as folding tools do
//! ([`frame`]). If there are several events, the first one counts and the others are left out with
//! a remark, because their weights do not add up.

mod frame;
mod header;

use std::collections::BTreeMap;

use crate::label::UNKNOWN;
use crate::{Frame, Kind, Origin, Profile, Thread, ThreadIndex};

use super::intake::{Intake, MAX_DEPTH};
use super::{Format, FormatError, Place};
use header::Header;

/// Lines that are looked at to tell this format from others.
const SNIFFED_LINES: usize = 200;
/// Different events that are counted by name, to say what was left out.
const MAX_EVENTS: usize = 64;
/// Events whose periods are nanoseconds of CPU time.
const CLOCKS: &[&str] = &["cpu-clock", "task-clock"];

/// A header with an event, and something of a stack behind it.
pub(super) fn sniff(bytes: &[u8]) -> bool {
    if !super::pprof::is_text(bytes) {
        return false;
    }
    let lines: Vec<String> =
        lines(bytes).filter(|(_, line)| !line.trim().is_empty()).take(SNIFFED_LINES).map(|(_, line)| line).collect();
    (0..lines.len()).any(|at| {
        let Some(header) = header::parse(&lines[at]).filter(|header| !header.event.is_empty()) else {
            return false;
        };
        let next = lines.get(at + 1).map(String::as_str);
        let stack_follows = next.is_some_and(|next| header::parse(next).is_none() && frame::parse(next, "").is_some());
        let alone = header.rest.is_empty() && next.is_none_or(|next| header::parse(next).is_some());
        stack_follows || alone || frame::parse(header.rest, "").is_some()
    })
}

pub(super) fn read(bytes: &[u8]) -> Result<Profile, FormatError> {
    let mut reader = Reader {
        intake: Intake::new(Format::PerfScript),
        open: None,
        event: None,
        left_out: BTreeMap::new(),
        clock: true,
        unread: (0, 0),
    };
    let mut last = Place::Line(1);
    for (number, line) in lines(bytes) {
        last = Place::Line(number);
        reader.line(&last, number, &line)?;
    }
    reader.close(&last)?;
    reader.finish()
}

/// Lines without comments, with their numbers.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, String)> {
    let all = bytes.split(|byte| *byte == b'\n');
    let all = (1..).zip(all).filter(|(_, line)| !line.starts_with(b"#"));
    all.map(|(number, line)| (number, String::from_utf8_lossy(line).trim_end().to_owned()))
}

/// A sample whose stack is being read.
struct Open {
    thread: ThreadIndex,
    comm: String,
    weight: u64,
    /// Leaf first.
    stack: Vec<Frame>,
}

struct Reader {
    intake: Intake,
    open: Option<Open>,
    /// The event that counts: the first.
    event: Option<String>,
    /// Samples of other events.
    left_out: BTreeMap<String, u64>,
    /// Whether every weight so far is a time on the CPU.
    clock: bool,
    /// Number of lines that were not understood, and the first.
    unread: (u64, u64),
}

impl Reader {
    fn line(&mut self, place: &Place, number: u64, line: &str) -> Result<(), FormatError> {
        if line.trim().is_empty() {
            return self.close(place);
        }
        if let Some(header) = header::parse(line) {
            self.close(place)?;
            return self.header(place, &header);
        }
        let frames = frame::parse(line, self.open.as_ref().map_or("", |open| &open.comm));
        let understood = match (&mut self.open, frames) {
            (Some(open), Some(frames)) => {
                if open.stack.len() <= MAX_DEPTH {
                    open.stack.extend(frames);
                }
                true
            }
            (Some(open), None) => frame::place(line, open.stack.last_mut()),
            // Frames of a sample that is left out.
            (None, frames) => frames.is_some() && !self.left_out.is_empty(),
        };
        if !understood {
            let first = if self.unread.0 == 0 { number } else { self.unread.1 };
            self.unread = (self.unread.0 + 1, first);
        }
        Ok(())
    }

    fn header(&mut self, place: &Place, header: &Header<'_>) -> Result<(), FormatError> {
        let event = self.event.get_or_insert_with(|| header.event.to_owned());
        if header::without_modifiers(event) != header::without_modifiers(header.event) {
            if self.left_out.len() < MAX_EVENTS || self.left_out.contains_key(header.event) {
                *self.left_out.entry(header.event.to_owned()).or_default() += 1;
            }
            return Ok(());
        }
        self.clock &= header.period.is_some() && CLOCKS.contains(&header::without_modifiers(header.event));
        let thread = Thread { pid: header.pid, tid: header.tid, name: header.comm.to_owned() };
        let thread = self.intake.thread(place, thread)?;
        let stack = frame::parse(header.rest, header.comm).unwrap_or_default();
        let weight = header.period.filter(|period| *period > 0).unwrap_or(1);
        self.open = Some(Open { thread, comm: header.comm.to_owned(), weight, stack });
        Ok(())
    }

    /// Adds the sample that was read.
    fn close(&mut self, place: &Place) -> Result<(), FormatError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let health = &mut self.intake.profile_mut().health;
        health.frames += open.stack.len() as u64;
        let unknown = |frame: &&Frame| frame.name == UNKNOWN || frame.name.starts_with('[');
        health.unknown_frames += open.stack.iter().filter(unknown).count() as u64;
        let mut stack = Vec::with_capacity(open.stack.len());
        for frame in open.stack.into_iter().rev() {
            stack.push(self.intake.frame(place, frame)?);
        }
        self.intake.sample(place, open.thread, &stack, (1, open.weight))
    }

    fn finish(mut self) -> Result<Profile, FormatError> {
        let remarks = &mut self.intake.profile_mut().meta.remarks;
        for (event, samples) in &self.left_out {
            remarks.push(format!(
                "{samples} samples of the event {event} were left out: it is not the first event of the file"
            ));
        }
        if self.unread.0 > 0 {
            remarks.push(format!("{} lines were not understood, the first is line {}", self.unread.0, self.unread.1));
        }
        let event = self.event.unwrap_or_default();
        let profile = self.intake.profile_mut();
        profile.kind = if self.clock { Kind::OnCpu } else { Kind::Count };
        profile.meta.source = "perf script".into();
        profile.meta.title =
            if event.is_empty() { "perf script".into() } else { format!("perf script, event {event}") };
        self.intake.finish()
    }
}

/// A frame of which only the binary is known.
fn unknown(module: &str, origin: Origin) -> Frame {
    let origin = if origin == Origin::Kernel { Origin::Kernel } else { Origin::Marker };
    let known = !module.is_empty() && module != UNKNOWN;
    let name = match (origin, known) {
        (Origin::Kernel, true) if module.starts_with('[') => module.to_owned(),
        (Origin::Kernel, true) => format!("[{}]", crate::label::file_name(module)),
        _ => UNKNOWN.to_owned(),
    };
    Frame { module: if known { module.to_owned() } else { String::new() }, ..Frame::named(name, origin) }
}

#[cfg(test)]
mod tests;
