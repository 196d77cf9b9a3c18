//! JSON for profiler.firefox.com, by the crate of its processed format.
//!
//! A [`Profile`] does not record the time of each sample, so the samples of a thread are placed one after another,
//! each as long as its weight: the call tree and the flame graph are correct, the timeline is meaningless.

use std::collections::HashMap;
use std::io::Write;
use std::time::{Duration, SystemTime};

use fxprof_processed_profile as fx;
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, FrameFlags, FrameInfo, SamplingInterval, Timestamp,
};

use crate::label::label;
use crate::{Origin, Profile, ProfileKind};

use super::{Format, FormatError, speedscope};

/// Categories, with their origins.
const CATEGORIES: &[(&str, CategoryColor, &[Origin])] = &[
    ("Kernel", CategoryColor::Orange, &[Origin::Kernel]),
    ("Native", CategoryColor::Blue, &[Origin::Native, Origin::Inlined]),
    ("Lua", CategoryColor::Green, &[Origin::Lua, Origin::LuaBuiltin]),
    ("Lua, compiled", CategoryColor::Purple, &[Origin::LuaTrace]),
];
/// Units of time, in nanoseconds: weights have 31 bits in this format, so long ones need larger units.
const UNITS: &[(&str, u64)] = &[("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
/// The marks must occur within this many bytes from the start.
const SNIFFED_BYTES: usize = 16 << 10;

pub(super) fn sniff(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(SNIFFED_BYTES)]);
    head.trim_start().starts_with('{') && head.contains("\"preprocessedProfileVersion\"")
}

pub(super) fn write(profile: &Profile, out: &mut dyn Write) -> Result<(), FormatError> {
    let made = convert(profile);
    serde_json::to_writer(out, &made).map_err(|error| FormatError::Encode(Format::Firefox, error))
}

fn convert(profile: &Profile) -> fx::Profile {
    let meta = &profile.meta;
    let interval = SamplingInterval::from_nanos(1_000_000_000 / u64::from(meta.frequency_hz.max(1)));
    let start = SystemTime::UNIX_EPOCH + Duration::from_millis(meta.started_ms);
    let largest = profile.samples.iter().map(|sample| sample.weight).max().unwrap_or_default();
    let unit = UNITS.iter().find(|(_, unit)| i32::try_from(largest / unit).is_ok()).unwrap_or(&UNITS[UNITS.len() - 1]);
    let title =
        if profile.kind == ProfileKind::Count { meta.title.clone() } else { format!("{} ({})", meta.title, unit.0) };
    let mut made = fx::Profile::new(&title, start.into(), interval);
    let frames = frames(profile, &mut made);
    let threads = threads(profile, &mut made);
    let mut elapsed = vec![0_u64; threads.len()];
    for sample in &profile.samples {
        let at = sample.thread.0 as usize;
        let stack = profile.stack(sample.stack).iter().map(|id| frames[id.0 as usize].clone());
        let stack = made.intern_stack_frames(threads[at], stack);
        let time = Timestamp::from_nanos_since_reference(elapsed[at]);
        let cpu = if profile.kind == ProfileKind::OnCpu { CpuDelta::from_nanos(sample.weight) } else { CpuDelta::ZERO };
        made.add_sample(threads[at], time, stack, cpu, i32::try_from(sample.weight / unit.1).unwrap_or(i32::MAX));
        elapsed[at] = elapsed[at].saturating_add(sample.weight.max(1));
    }
    made
}

fn frames(profile: &Profile, made: &mut fx::Profile) -> Vec<FrameInfo> {
    let mut categories: HashMap<Origin, CategoryHandle> = HashMap::new();
    for (name, colour, origins) in CATEGORIES {
        let category = made.add_category(name, *colour);
        categories.extend(origins.iter().map(|origin| (*origin, category)));
    }
    let frame = |frame: &crate::Frame| FrameInfo {
        frame: fx::Frame::Label(made.intern_string(&label(frame))),
        category_pair: categories.get(&frame.origin).copied().unwrap_or(CategoryHandle::OTHER).into(),
        flags: FrameFlags::empty(),
    };
    profile.frames.iter().map(frame).collect()
}

fn threads(profile: &Profile, made: &mut fx::Profile) -> Vec<fx::ThreadHandle> {
    let start = Timestamp::from_nanos_since_reference(0);
    let mut processes = HashMap::new();
    let mut handles = Vec::with_capacity(profile.threads.len());
    for thread in &profile.threads {
        let process = *processes.entry(thread.pid).or_insert_with(|| made.add_process(&thread.name, thread.pid, start));
        let handle = made.add_thread(process, thread.tid, start, thread.pid == thread.tid);
        made.set_thread_name(handle, &speedscope::title(thread));
        handles.push(handle);
    }
    handles
}
