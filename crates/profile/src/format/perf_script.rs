//! The output of `perf script`: a header line with thread, time and event, then the stack, leaf first.
//!
//! The fields of the header depend on perf's version and options, and they are not labelled: [`header`] recognises
//! them by their shapes. Frames are normalised as folding tools do ([`frame`]). Of several events only the first is
//! read; the others are skipped with a remark, because their weights cannot be added.

mod frame;
mod header;

use std::collections::BTreeMap;

use crate::label::UNKNOWN;
use crate::{Frame, Origin, Profile, ProfileKind, Thread, ThreadIndex};

use super::intake::{Intake, MAX_DEPTH};
use super::{FilePosition, Format, FormatError};
use crate::amount::counted;
use header::Header;

/// Number of lines examined to recognise this format.
const SNIFFED_LINES: usize = 200;
/// Maximum number of distinct events counted by name, for the remark on skipped ones.
const MAX_EVENTS: usize = 64;
/// Events whose periods are nanoseconds of CPU time.
const CLOCKS: &[&str] = &["cpu-clock", "task-clock"];

/// A header with an event, followed by part of a stack.
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
    let mut last = FilePosition::Line(1);
    for (number, line) in lines(bytes) {
        last = FilePosition::Line(number);
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

/// The sample whose stack is being read.
struct OpenSample {
    thread: ThreadIndex,
    comm: String,
    weight: u64,
    /// Leaf first.
    stack: Vec<Frame>,
}

struct Reader {
    intake: Intake,
    open: Option<OpenSample>,
    /// The event that is read: the first one.
    event: Option<String>,
    /// Numbers of skipped samples of other events.
    left_out: BTreeMap<String, u64>,
    /// Whether every weight so far is CPU time.
    clock: bool,
    /// Number of unrecognised lines, and the first of them.
    unread: (u64, u64),
}

impl Reader {
    fn line(&mut self, place: &FilePosition, number: u64, line: &str) -> Result<(), FormatError> {
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
            // Frames of a skipped sample.
            (None, frames) => frames.is_some() && !self.left_out.is_empty(),
        };
        if !understood {
            let first = if self.unread.0 == 0 { number } else { self.unread.1 };
            self.unread = (self.unread.0 + 1, first);
        }
        Ok(())
    }

    fn header(&mut self, place: &FilePosition, header: &Header<'_>) -> Result<(), FormatError> {
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
        self.open = Some(OpenSample { thread, comm: header.comm.to_owned(), weight, stack });
        Ok(())
    }

    /// Adds the completed sample.
    fn close(&mut self, place: &FilePosition) -> Result<(), FormatError> {
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
                "skipped {} of the event {event}: only the first event of a file is read",
                counted(*samples, "sample")
            ));
        }
        if self.unread.0 > 0 {
            remarks.push(format!(
                "skipped {} not recognised, the first is line {}",
                counted(self.unread.0, "line"),
                self.unread.1
            ));
        }
        let event = self.event.unwrap_or_default();
        let profile = self.intake.profile_mut();
        profile.kind = if self.clock { ProfileKind::OnCpu } else { ProfileKind::Count };
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
