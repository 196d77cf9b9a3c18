//! A [`Builder`] with limits, for untrusted input.
//!
//! A few bytes of input can expand to much memory (a two-byte pprof location to a thousand inlined frames), so
//! limiting the file size is not enough. Overlong items are cut, with a remark; too many items are an error.

use crate::label::TRUNCATED;
use crate::{Builder, Frame, FrameId, Origin, Profile, ProfileKind, Thread, ThreadIndex};

use super::{FilePosition, Format, FormatError};
use crate::amount::counted;

/// Maximum stack depth; the innermost frames are kept. No unwinder returns more.
pub const MAX_DEPTH: usize = 2_048;
/// Maximum length of a name.
pub const MAX_NAME_BYTES: usize = 8_192;
/// Maximum number of distinct frames.
const MAX_FRAMES: usize = 4 << 20;
/// Maximum text of all frames, in bytes. The builder stores it twice.
const MAX_TEXT_BYTES: usize = 256 << 20;
/// Maximum total length of all distinct stacks, in frames. The builder stores them twice, 4 bytes each.
const MAX_STACKED_FRAMES: usize = 64 << 20;
/// Maximum number of threads.
const MAX_THREADS: usize = 1 << 20;
/// Maximum sum of all counts, and of all weights, of one file.
pub(super) const MAX_SUM: u64 = i64::MAX as u64;

const TOO_MUCH: &str = "record for a shorter time, or fewer processes";

/// Builds a profile from untrusted input.
pub(super) struct Intake {
    format: Format,
    builder: Builder,
    text: usize,
    stacked: usize,
    counts: u64,
    weights: u64,
    cut_stacks: u64,
    cut_names: u64,
}

impl Intake {
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            builder: Builder::new(ProfileKind::Count),
            text: 0,
            stacked: 0,
            counts: 0,
            weights: 0,
            cut_stacks: 0,
            cut_names: 0,
        }
    }

    /// Interns a frame.
    pub(super) fn frame(&mut self, place: &FilePosition, mut frame: Frame) -> Result<FrameId, FormatError> {
        for text in [&mut frame.name, &mut frame.module, &mut frame.build_id, &mut frame.file] {
            self.cut_names += u64::from(cut(text));
        }
        let bytes = frame.name.len() + frame.module.len() + frame.build_id.len() + frame.file.len();
        let before = self.builder.profile_mut().frames.len();
        let id = self.builder.frame(frame);
        if id.0 as usize == before {
            self.text += bytes;
        }
        if before >= MAX_FRAMES || self.text > MAX_TEXT_BYTES {
            return Err(self.bad(
                place,
                format!("more than {MAX_FRAMES} different frames, or too much text"),
                TOO_MUCH,
            ));
        }
        Ok(id)
    }

    /// Interns a thread.
    pub(super) fn thread(&mut self, place: &FilePosition, mut thread: Thread) -> Result<ThreadIndex, FormatError> {
        self.cut_names += u64::from(cut(&mut thread.name));
        if self.builder.profile_mut().threads.len() >= MAX_THREADS {
            return Err(self.bad(place, format!("more than {MAX_THREADS} threads"), TOO_MUCH));
        }
        Ok(self.builder.thread(thread))
    }

    /// Adds samples; the stack is given from its root.
    pub(super) fn sample(
        &mut self,
        place: &FilePosition,
        thread: ThreadIndex,
        stack: &[FrameId],
        (count, weight): (u64, u64),
    ) -> Result<(), FormatError> {
        let sums = (self.counts.saturating_add(count), self.weights.saturating_add(weight));
        if sums.0 > MAX_SUM || sums.1 > MAX_SUM {
            return Err(self.bad(place, "the weights add up to more than 2^63".into(), "the file is damaged"));
        }
        (self.counts, self.weights) = sums;
        let before = self.builder.profile_mut().stacks.len();
        let id = if stack.len() > MAX_DEPTH {
            self.cut_stacks += 1;
            let marker = self.builder.frame(Frame::named(TRUNCATED, Origin::Marker));
            let innermost = &stack[stack.len() - (MAX_DEPTH - 1)..];
            self.builder.stack(&[&[marker], innermost].concat())
        } else {
            self.builder.stack(stack)
        };
        if id.0 as usize == before {
            self.stacked += stack.len().min(MAX_DEPTH);
        }
        if self.stacked > MAX_STACKED_FRAMES {
            return Err(self.bad(
                place,
                format!("more than {MAX_STACKED_FRAMES} frames in different stacks"),
                TOO_MUCH,
            ));
        }
        self.builder.add(thread, id, count, weight);
        Ok(())
    }

    /// The profile so far, for its meta data.
    pub(super) fn profile_mut(&mut self) -> &mut Profile {
        self.builder.profile_mut()
    }

    /// Returns the profile, with remarks on what was cut; an error if it is empty.
    pub(super) fn finish(mut self) -> Result<Profile, FormatError> {
        if self.builder.profile_mut().samples.is_empty() {
            return Err(FormatError::Empty);
        }
        let remarks = [
            (self.cut_stacks, "stack", "deeper than 2048 frames, cut at the root"),
            (self.cut_names, "name", "longer than 8192 bytes, cut"),
        ];
        for (number, one, what) in remarks {
            self.remark(number, one, what);
        }
        let profile = self.builder.profile_mut();
        profile.health.samples = self.counts;
        Ok(self.builder.finish())
    }

    /// Adds a remark on so many things if there are any: what each is, and what is odd about it.
    pub(super) fn remark(&mut self, number: u64, one: &str, what: &str) {
        if number > 0 {
            self.builder.profile_mut().meta.remarks.push(format!("{} {what}", counted(number, one)));
        }
    }

    pub(super) fn bad(&self, place: &FilePosition, what: String, hint: &'static str) -> FormatError {
        FormatError::Bad { format: self.format, place: place.clone(), what, hint }
    }
}

/// Cuts a text at a character boundary; returns whether it did.
fn cut(text: &mut String) -> bool {
    if text.len() <= MAX_NAME_BYTES {
        return false;
    }
    let end = (0..=MAX_NAME_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.truncate(end);
    true
}
