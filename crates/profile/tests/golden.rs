//! Golden tests: recordings of perf and hand-made files of its shapes, folded; and a difference.
//!
//! `chain-*.perf` were recorded from `chain.c` with `perf record -e cpu-clock --call-graph dwarf`,
//! built with gcc 12 at `-O0` and `-O2`. `WEIR_GOLDEN=write` updates the files; review the change
//! before committing it.

#![allow(clippy::unwrap_used, reason = "in a test it is the assertion, in its helpers too")]

use std::path::PathBuf;

use weir_profile::Profile;
use weir_profile::diff::{DiffOptions, TailCalls, diff};
use weir_profile::format::{self, Format};

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn read(name: &str) -> Profile {
    let bytes = std::fs::read(directory().join(name)).unwrap();
    format::read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Compares with a file, or writes it.
fn golden(name: &str, text: &str) {
    let path = directory().join(name);
    if std::env::var_os("WEIR_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{name} differs; WEIR_GOLDEN=write rewrites it");
}

/// The profile as folded stacks, with a header that shows its other contents.
fn shown(profile: &Profile) -> String {
    let mut folded = Vec::new();
    format::write(profile, Format::Folded, &mut folded).unwrap();
    let threads: Vec<_> = profile.threads.iter().map(|t| format!("{} {}/{}", t.name, t.pid, t.tid)).collect();
    let mut text = format!("# {}: {}, {:?}\n", profile.meta.source, profile.meta.title, profile.kind);
    text += &format!("# {} samples, threads: {}\n", profile.health.samples, threads.join(", "));
    for remark in &profile.meta.remarks {
        text += &format!("# {remark}\n");
    }
    text + &String::from_utf8(folded).unwrap()
}

#[test]
fn recordings_fold_as_reviewed() {
    for name in [
        "chain-o0.perf",
        "chain-o2.perf",
        "flat.perf",
        "kernel.perf",
        "shapes.folded",
        "shapes.perf",
        "source-lines.perf",
        "two-events.perf",
    ] {
        golden(&format!("{name}.expected"), &shown(&read(name)));
    }
}

#[test]
fn source_lines_belong_to_the_frames_above_them() {
    let profile = read("source-lines.perf");
    let clone = profile.frames.iter().find(|frame| frame.name == "clone3").unwrap();
    assert_eq!((clone.file.as_str(), clone.line), ("clone3.S", 81));
}

#[test]
fn tail_calls_are_merged_and_reported() {
    let (mut old, mut new) = (read("chain-o0.perf"), read("chain-o2.perf"));
    (old.meta.title, new.meta.title) = ("chain, -O0".into(), "chain, -O2".into());
    (old.meta.requests, new.meta.requests) = (Some(3_000), Some(3_000));
    golden("chain-diff.expected", &diff(&old, &new, &DiffOptions::default()).text(20));
    let kept = diff(&old, &new, &DiffOptions { tail_calls: TailCalls::Keep, ..DiffOptions::default() });
    golden("chain-diff-unmerged.expected", &kept.text(20));
}
