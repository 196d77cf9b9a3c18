//! Weir's own format: a version and the whole [`Profile`], as gzip'd JSON.
//!
//! JSON rather than a binary format, so that a profile attached to a report can be read with `zcat` and `jq`; gzip
//! removes most of the cost of field names. Ids are checked here once, so that later code need not check them.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use crate::label::TRUNCATED;
use crate::{Frame, FrameId, Origin, Profile};

use super::intake::{MAX_DEPTH, MAX_SUM};
use super::{FilePosition, Format, FormatError};
use crate::amount::counted;

/// Incremented when an older Weir could not read the file.
const VERSION: u32 = 1;
/// The field that identifies the format.
const MARK: &[u8] = b"\"weir_profile\"";
/// The mark must occur within this many bytes: it is written first.
const SNIFFED_BYTES: usize = 256;

#[derive(Serialize)]
struct VersionedProfile<'a> {
    weir_profile: u32,
    profile: &'a Profile,
}

#[derive(Deserialize)]
struct Version {
    weir_profile: u32,
}

#[derive(Deserialize)]
struct StoredProfile {
    profile: Profile,
}

pub(super) fn sniff(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    head.trim_ascii_start().starts_with(b"{") && head.windows(MARK.len()).any(|window| window == MARK)
}

pub(super) fn write(profile: &Profile, out: &mut dyn Write) -> Result<(), FormatError> {
    let mut packed = GzEncoder::new(out, Compression::default());
    serde_json::to_writer(&mut packed, &VersionedProfile { weir_profile: VERSION, profile })
        .map_err(|error| FormatError::Encode(Format::Weir, error))?;
    packed.finish()?;
    Ok(())
}

pub(super) fn read(bytes: &[u8]) -> Result<Profile, FormatError> {
    let Version { weir_profile } = serde_json::from_slice(bytes).map_err(|error| damaged(&error))?;
    if weir_profile != VERSION {
        let what = format!("its version is {weir_profile}, this Weir reads {VERSION}");
        return Err(bad("weir_profile", what, "read it with the Weir that wrote it"));
    }
    let StoredProfile { mut profile } = serde_json::from_slice(bytes).map_err(|error| damaged(&error))?;
    check(&profile)?;
    cut(&mut profile);
    Ok(profile)
}

fn damaged(error: &serde_json::Error) -> FormatError {
    FormatError::Bad {
        format: Format::Weir,
        place: FilePosition::Column(error.line() as u64, error.column() as u64),
        what: error.to_string(),
        hint: "the file is damaged or cut short; copy or record it again",
    }
}

fn bad(place: impl Into<String>, what: String, hint: &'static str) -> FormatError {
    FormatError::Bad { format: Format::Weir, place: FilePosition::Field(place.into()), what, hint }
}

/// Checks that ids are in range, and that all sums fit 63 bits.
fn check(profile: &Profile) -> Result<(), FormatError> {
    const HINT: &str = "the file is damaged; record it again";
    for (at, stack) in profile.stacks.iter().enumerate() {
        if let Some(id) = stack.iter().find(|id| id.0 as usize >= profile.frames.len()) {
            return Err(bad(format!("stacks[{at}]"), format!("there is no frame {}", id.0), HINT));
        }
    }
    for (at, sample) in profile.samples.iter().enumerate() {
        if sample.thread.0 as usize >= profile.threads.len() {
            return Err(bad(format!("samples[{at}]"), format!("there is no thread {}", sample.thread.0), HINT));
        }
        if sample.stack.0 as usize >= profile.stacks.len() {
            return Err(bad(format!("samples[{at}]"), format!("there is no stack {}", sample.stack.0), HINT));
        }
    }
    let sum = |values: &mut dyn Iterator<Item = u64>| values.fold(0, u64::saturating_add);
    let calls = || profile.system_calls.iter();
    let sums = [
        ("samples: weight", sum(&mut profile.samples.iter().map(|sample| sample.weight))),
        ("samples: count", sum(&mut profile.samples.iter().map(|sample| sample.count))),
        ("system_calls: calls", sum(&mut calls().map(|call| call.calls))),
        ("system_calls: errors", sum(&mut calls().map(|call| call.errors))),
        ("system_calls: total_ns", sum(&mut calls().map(|call| call.total_ns))),
        ("system_calls: max_ns", sum(&mut calls().map(|call| call.max_ns))),
    ];
    match sums.iter().find(|(_, sum)| *sum > MAX_SUM) {
        Some((field, _)) => Err(bad(*field, "the values add up to more than 2^63".into(), HINT)),
        None => Ok(()),
    }
}

/// Cuts overly deep stacks at their roots.
fn cut(profile: &mut Profile) {
    let deep = profile.stacks.iter().filter(|stack| stack.len() > MAX_DEPTH).count();
    if deep == 0 {
        return;
    }
    let marker = FrameId(u32::try_from(profile.frames.len()).expect("fewer than 2^32 frames: each takes memory"));
    profile.frames.push(Frame::named(TRUNCATED, Origin::Marker));
    for stack in profile.stacks.iter_mut().filter(|stack| stack.len() > MAX_DEPTH) {
        *stack = [&[marker], &stack[stack.len() - (MAX_DEPTH - 1)..]].concat().into();
    }
    profile
        .meta
        .remarks
        .push(format!("{} deeper than {MAX_DEPTH} frames, cut at the root", counted(deep as u64, "stack")));
}
