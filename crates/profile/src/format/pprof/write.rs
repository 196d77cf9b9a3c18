//! Converts a profile to messages.

use std::collections::HashMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use crate::{Frame, FrameId, Origin, Profile, ProfileKind};

use super::super::FormatError;
use super::message::{self, Function, Label, Line, Location, Mapping, ValueType};
use super::{PID_LABELS, REQUESTS_COMMENT, THREAD_LABELS, TID_LABELS, TITLE_COMMENT};

pub(in super::super) fn write(profile: &Profile, out: &mut dyn Write) -> Result<(), FormatError> {
    let mut writer = Writer::new();
    writer.head(profile);
    for sample in &profile.samples {
        let labels = writer.labels(profile, sample.thread.0 as usize);
        let mut stack = Vec::new();
        for range in places(profile, profile.stack(sample.stack)) {
            stack.push(writer.location(profile, range));
        }
        stack.reverse();
        let value = [sample.count, sample.weight].map(|value| i64::try_from(value).unwrap_or(i64::MAX)).to_vec();
        writer.message.sample.push(message::Sample { location_id: stack, value, label: labels });
    }
    let mut packed = GzEncoder::new(out, Compression::default());
    packed.write_all(&writer.message.encode_to_vec())?;
    packed.finish()?;
    Ok(())
}

/// The code locations of a stack: a function and the functions inlined into it are one.
fn places<'a>(profile: &'a Profile, stack: &'a [FrameId]) -> impl Iterator<Item = &'a [FrameId]> {
    stack.chunk_by(|_, next| profile.frame(*next).origin == Origin::Inlined)
}

#[derive(Default)]
struct Writer {
    message: message::Profile,
    strings: HashMap<String, i64>,
    mappings: HashMap<(i64, i64), u64>,
    functions: HashMap<(i64, i64), u64>,
    locations: HashMap<Box<[FrameId]>, u64>,
}

impl Writer {
    fn new() -> Self {
        let mut writer = Self::default();
        writer.string("");
        writer
    }

    fn head(&mut self, profile: &Profile) {
        let meta = &profile.meta;
        let (kind, unit) = match profile.kind {
            ProfileKind::OnCpu => ("cpu", "nanoseconds"),
            ProfileKind::OffCpu => ("off_cpu", "nanoseconds"),
            ProfileKind::Count => ("events", "count"),
        };
        let samples = ValueType { kind: self.string("samples"), unit: self.string("count") };
        let weight = ValueType { kind: self.string(kind), unit: self.string(unit) };
        self.message.sample_type = vec![samples, weight];
        self.message.default_sample_type = weight.kind;
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.message.time_nanos = signed(meta.started_ms.saturating_mul(1_000_000));
        self.message.duration_nanos = signed(meta.duration_ns);
        if meta.frequency_hz > 0 {
            self.message.period_type = Some(weight);
            self.message.period = signed(1_000_000_000 / u64::from(meta.frequency_hz));
        }
        let mut comments = meta.remarks.clone();
        comments.insert(0, format!("{TITLE_COMMENT}{}", meta.title));
        comments.extend(meta.requests.map(|requests| format!("{REQUESTS_COMMENT}{requests}")));
        self.message.comment = comments.iter().map(|comment| self.string(comment)).collect();
    }

    fn string(&mut self, text: &str) -> i64 {
        if let Some(known) = self.strings.get(text) {
            return *known;
        }
        let index = self.message.string_table.len() as i64;
        self.message.string_table.push(text.to_owned());
        self.strings.insert(text.to_owned(), index);
        index
    }

    fn labels(&mut self, profile: &Profile, thread: usize) -> Vec<Label> {
        let thread = &profile.threads[thread];
        let mut labels = Vec::new();
        if !thread.name.is_empty() {
            labels.push(Label { key: self.string(THREAD_LABELS[0]), str: self.string(&thread.name), num: 0 });
        }
        for (key, id) in [(PID_LABELS[0], thread.pid), (TID_LABELS[0], thread.tid)] {
            if id > 0 {
                labels.push(Label { key: self.string(key), str: 0, num: i64::from(id) });
            }
        }
        labels
    }

    fn location(&mut self, profile: &Profile, frames: &[FrameId]) -> u64 {
        if let Some(known) = self.locations.get(frames) {
            return *known;
        }
        let id = self.locations.len() as u64 + 1;
        let mapping_id = self.mapping(profile.frame(frames[0]), frames.len() > 1);
        let mut line = Vec::with_capacity(frames.len());
        for frame in frames.iter().rev() {
            let frame = profile.frame(*frame);
            line.push(Line { function_id: self.function(frame), line: i64::from(frame.line) });
        }
        self.message.location.push(Location { id, mapping_id, address: 0, line });
        self.locations.insert(frames.into(), id);
        id
    }

    fn mapping(&mut self, frame: &Frame, inlines: bool) -> u64 {
        if frame.module.is_empty() && frame.build_id.is_empty() {
            return 0;
        }
        let key = (self.string(&frame.module), self.string(&frame.build_id));
        let next = self.mappings.len() as u64 + 1;
        let id = *self.mappings.entry(key).or_insert(next);
        if id == next {
            let (filename, build_id) = key;
            let mapping = Mapping { id, filename, build_id, has_functions: true, has_inline_frames: false };
            self.message.mapping.push(mapping);
        }
        self.message.mapping[id as usize - 1].has_inline_frames |= inlines;
        id
    }

    fn function(&mut self, frame: &Frame) -> u64 {
        let key = (self.string(&frame.name), self.string(&frame.file));
        let next = self.functions.len() as u64 + 1;
        let id = *self.functions.entry(key).or_insert(next);
        if id == next {
            let (name, filename) = key;
            self.message.function.push(Function { id, name, system_name: name, filename });
        }
        id
    }
}
