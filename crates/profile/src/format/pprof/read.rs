//! Converts messages to a profile.

use std::collections::HashMap;

use crate::label::{UNKNOWN, is_jit};
use crate::{Frame, FrameId, Origin, Profile, ProfileKind, Thread};

use super::super::intake::{Intake, MAX_DEPTH};
use super::super::{FilePosition, Format, FormatError};
use super::message::{Sample, ValueType, field};
use super::tables::{Tables, Value, bad, decode, walk};
use super::{PID_LABELS, REQUESTS_COMMENT, THREAD_LABELS, TID_LABELS, TITLE_COMMENT};

/// Units of time, in nanoseconds.
const UNITS: &[(&str, u64)] =
    &[("nanoseconds", 1), ("microseconds", 1_000), ("milliseconds", 1_000_000), ("seconds", 1_000_000_000)];
/// Types of values that are off-CPU times.
const OFF_CPU: &[&str] = &["off_cpu", "offcpu", "delay", "wait", "block"];

pub(in super::super) fn read(bytes: &[u8]) -> Result<Profile, FormatError> {
    let tables = Tables::of(bytes)?;
    let mut reader = Reader {
        columns: Columns::of(&tables)?,
        intake: Intake::new(Format::Pprof),
        frames: HashMap::new(),
        negative: 0,
        tables,
    };
    walk(bytes, &mut |number, value, place| match value {
        Value::Bytes(bytes) if number == field::SAMPLE => reader.sample(&decode(bytes, place)?, place),
        _ => Ok(()),
    })?;
    reader.finish()
}

/// The columns of a sample's values that are used.
struct Columns {
    count: Option<usize>,
    weight: usize,
    /// Factor for a value.
    scale: u64,
    kind: ProfileKind,
    /// Type and unit of the weight, and unused types.
    title: (String, String),
    left_out: Vec<String>,
}

impl Columns {
    fn of(tables: &Tables<'_>) -> Result<Self, FormatError> {
        let place = FilePosition::Field("sample_type".into());
        let name = |value: &ValueType| Ok((tables.string(value.kind, &place)?, tables.string(value.unit, &place)?));
        let types: Vec<(String, String)> = tables.types.iter().map(name).collect::<Result<_, FormatError>>()?;
        let default = tables.string(tables.default_type, &place)?;
        let time = |unit: &str| UNITS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
        let named = types.iter().position(|(kind, _)| !default.is_empty() && *kind == default);
        let timed = types.iter().rposition(|(_, unit)| time(unit).is_some());
        let Some(weight) = named.or(timed).or(types.len().checked_sub(1)) else {
            return Err(bad(&place, "it is missing, so the values have no meaning".into()));
        };
        let title = types[weight].clone();
        let kind = match time(&title.1) {
            Some(_) if title.0 == "cpu" => ProfileKind::OnCpu,
            Some(_) if OFF_CPU.iter().any(|kind| title.0.contains(kind)) => ProfileKind::OffCpu,
            _ => ProfileKind::Count,
        };
        let count = types.iter().position(|(kind, unit)| *kind == "samples" && *unit == "count");
        let count = count.or_else(|| types.iter().position(|(_, unit)| *unit == "count"));
        let left_out = (0..types.len()).filter(|at| *at != weight && Some(*at) != count);
        let left_out = left_out.map(|at| types[at].0.clone()).collect();
        Ok(Self { count, weight, scale: time(&title.1).unwrap_or(1), kind, title, left_out })
    }
}

struct Reader<'a> {
    tables: Tables<'a>,
    columns: Columns,
    intake: Intake,
    /// Frames of a location, from the outermost.
    frames: HashMap<u64, Box<[FrameId]>>,
    negative: u64,
}

impl Reader<'_> {
    fn sample(&mut self, sample: &Sample, place: &FilePosition) -> Result<(), FormatError> {
        let value = |at: usize| sample.value.get(at).copied();
        let Some(weight) = value(self.columns.weight) else {
            let what =
                format!("a sample of {} values; there are {} types", sample.value.len(), self.tables.types.len());
            return Err(bad(place, what));
        };
        let (Ok(weight), Ok(count)) =
            (u64::try_from(weight), u64::try_from(self.columns.count.and_then(value).unwrap_or(1)))
        else {
            self.negative += 1;
            return Ok(());
        };
        let thread = self.thread(sample, place)?;
        let thread = self.intake.thread(place, thread)?;
        let mut stack = Vec::new();
        for location in &sample.location_id {
            stack.extend(self.location(*location, place)?.iter().rev());
            // Deeper frames would be cut off.
            if stack.len() > MAX_DEPTH {
                break;
            }
        }
        stack.reverse();
        self.intake.sample(place, thread, &stack, (count, weight.saturating_mul(self.columns.scale)))
    }

    fn thread(&self, sample: &Sample, place: &FilePosition) -> Result<Thread, FormatError> {
        let mut thread = Thread::default();
        for label in &sample.label {
            let key = self.tables.string(label.key, place)?;
            let number = u32::try_from(label.num).unwrap_or_default();
            if THREAD_LABELS.contains(&key.as_str()) {
                thread.name = self.tables.string(label.str, place)?;
            } else if PID_LABELS.contains(&key.as_str()) {
                thread.pid = number;
            } else if TID_LABELS.contains(&key.as_str()) {
                thread.tid = number;
            }
        }
        Ok(thread)
    }

    fn location(&mut self, id: u64, place: &FilePosition) -> Result<&[FrameId], FormatError> {
        if !self.frames.contains_key(&id) {
            let frames = self.frames_of(id, place)?;
            self.frames.insert(id, frames);
        }
        Ok(&self.frames[&id])
    }

    fn frames_of(&mut self, id: u64, place: &FilePosition) -> Result<Box<[FrameId]>, FormatError> {
        let Some((location, place)) = self.tables.locations.get(&id) else {
            return Err(bad(place, format!("there is no location {id}")));
        };
        let (module, build_id) = match self.tables.mappings.get(&location.mapping_id) {
            Some(mapping) => {
                (self.tables.string(mapping.filename, place)?, self.tables.string(mapping.build_id, place)?)
            }
            None => (String::new(), String::new()),
        };
        let mut frames = Vec::with_capacity(location.line.len().max(1));
        for (at, line) in location.line.iter().rev().enumerate() {
            let Some(function) = self.tables.functions.get(&line.function_id) else {
                return Err(bad(place, format!("there is no function {}", line.function_id)));
            };
            let name = self.tables.string(function.name, place)?;
            let file = self.tables.string(function.filename, place)?;
            let line = u32::try_from(line.line).unwrap_or_default();
            let frame =
                Frame { name, module: module.clone(), build_id: build_id.clone(), file, line, ..Frame::default() };
            frames.push(self.intake.frame(place, with_origin(frame, at > 0))?);
        }
        if frames.is_empty() {
            let frame = Frame { module, build_id, ..Frame::named(UNKNOWN, Origin::Marker) };
            frames.push(self.intake.frame(place, frame)?);
        }
        Ok(frames.into())
    }

    fn finish(mut self) -> Result<Profile, FormatError> {
        let tables = &self.tables;
        let place = FilePosition::Field("comment".into());
        let profile = self.intake.profile_mut();
        profile.kind = self.columns.kind;
        let meta = &mut profile.meta;
        meta.source = "pprof".into();
        let (kind, unit) = &self.columns.title;
        meta.title = format!("pprof, {kind} in {unit}");
        for comment in &tables.comments {
            let text = tables.string(*comment, &place)?;
            if let Some(title) = text.strip_prefix(TITLE_COMMENT) {
                meta.title = title.to_owned();
            } else if let Some(requests) = text.strip_prefix(REQUESTS_COMMENT) {
                meta.requests = requests.parse().ok();
            }
        }
        meta.started_ms = u64::try_from(tables.time_nanos).unwrap_or_default() / 1_000_000;
        meta.duration_ns = u64::try_from(tables.duration_nanos).unwrap_or_default();
        meta.frequency_hz = frequency(tables, &place)?;
        if self.columns.kind == ProfileKind::Count && unit != "count" {
            meta.remarks.push(format!("weights are {kind} in {unit}"));
        }
        if !self.columns.left_out.is_empty() {
            meta.remarks.push(format!("values skipped: {}", self.columns.left_out.join(", ")));
        }
        self.intake.remark(
            self.negative,
            "sample",
            "with negative values, skipped (is this a difference of two profiles?)",
        );
        self.intake.finish()
    }
}

/// Samples per second, if the period is CPU time.
fn frequency(tables: &Tables<'_>, place: &FilePosition) -> Result<u32, FormatError> {
    let unit = tables.period_type.map_or(Ok(String::new()), |kind| tables.string(kind.unit, place))?;
    let period = u64::try_from(tables.period).unwrap_or_default();
    let timed = unit == "nanoseconds" && period > 0;
    Ok(if timed { u32::try_from(1_000_000_000 / period).unwrap_or_default() } else { 0 })
}

/// The origin of a frame's code, derived from its names.
fn with_origin(mut frame: Frame, inlined: bool) -> Frame {
    let kernel = frame.module.starts_with("[kernel") || crate::label::file_name(&frame.module).starts_with("vmlinux");
    let known = crate::label::frame(&frame.name).origin;
    frame.origin = if frame.name.is_empty() || known == Origin::Marker {
        Origin::Marker
    } else if inlined {
        Origin::Inlined
    } else if kernel {
        Origin::Kernel
    } else if frame.name.starts_with("trace ") && frame.name.contains(".lua:") && !is_jit(&frame.module) {
        Origin::LuaTrace
    } else if frame.name.contains(".lua:") {
        Origin::Lua
    } else {
        Origin::Native
    };
    if frame.name.is_empty() {
        UNKNOWN.clone_into(&mut frame.name);
    }
    frame
}
