//! JSON for speedscope.app, after <https://www.speedscope.app/file-format-schema.json>: one sampled
//! profile for each thread over a shared table of frames.

use std::io::Write;

use serde::Serialize;

use crate::label::label;
use crate::{Profile, ProfileKind, Thread};

use super::{Format, FormatError};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";
/// The schema must be named within this many bytes from the start.
const SNIFFED_BYTES: usize = 4_096;

#[derive(Serialize)]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: &'a str,
    shared: Shared<'a>,
    profiles: Vec<Sampled>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<FrameEntry<'a>>,
}

#[derive(Serialize)]
struct FrameEntry<'a> {
    name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled {
    r#type: &'static str,
    name: String,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Vec<Vec<u32>>,
    weights: Vec<u64>,
}

pub(super) fn sniff(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(SNIFFED_BYTES)]);
    head.trim_start().starts_with('{') && head.contains("speedscope.app/file-format-schema")
}

pub(super) fn write(profile: &Profile, out: &mut dyn Write) -> Result<(), FormatError> {
    let unit = if profile.kind == ProfileKind::Count { "none" } else { "nanoseconds" };
    let mut profiles: Vec<Sampled> = profile
        .threads
        .iter()
        .map(|thread| Sampled {
            r#type: "sampled",
            name: title(thread),
            unit,
            start_value: 0,
            end_value: 0,
            samples: Vec::new(),
            weights: Vec::new(),
        })
        .collect();
    for sample in &profile.samples {
        let thread = &mut profiles[sample.thread.0 as usize];
        thread.samples.push(profile.stack(sample.stack).iter().map(|id| id.0).collect());
        thread.weights.push(sample.weight);
        thread.end_value = thread.end_value.saturating_add(sample.weight);
    }
    let frames = profile.frames.iter();
    let frames = frames.map(|frame| FrameEntry {
        name: label(frame),
        file: if frame.file.is_empty() { &frame.module } else { &frame.file },
        line: (frame.line > 0 && !frame.file.is_empty()).then_some(frame.line),
    });
    let file = File {
        schema: SCHEMA,
        exporter: concat!("weir ", env!("CARGO_PKG_VERSION")),
        name: &profile.meta.title,
        shared: Shared { frames: frames.collect() },
        profiles,
    };
    serde_json::to_writer(out, &file).map_err(|error| FormatError::Encode(Format::Speedscope, error))
}

/// The title of a thread: `nginx (4711)`, `worker (4711/4712)`.
pub(super) fn title(thread: &Thread) -> String {
    let name = if thread.name.is_empty() { "all threads" } else { &thread.name };
    match (thread.pid, thread.tid) {
        (0, 0) => name.to_owned(),
        (pid, tid) if pid == tid => format!("{name} ({tid})"),
        (pid, tid) => format!("{name} ({pid}/{tid})"),
    }
}
