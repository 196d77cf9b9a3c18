use prost::Message as _;

use super::message::{Function, Label, Line, Location, Mapping, Profile, Sample, ValueType};
use crate::{Origin, ProfileKind};

/// A file as written by Go's runtime: two functions inlined into a third, and labels.
fn file(types: &[(&str, &str)], values: &[i64]) -> Profile {
    let mut strings: Vec<String> =
        ["", "main.run", "main.step", "bytes.Equal", "/srv/shop", "a1b2", "thread", "worker", "pid", "run.go"]
            .map(str::to_owned)
            .to_vec();
    let mut sample_type = Vec::new();
    for (kind, unit) in types {
        strings.extend([(*kind).to_owned(), (*unit).to_owned()]);
        sample_type.push(ValueType { kind: strings.len() as i64 - 2, unit: strings.len() as i64 - 1 });
    }
    let line = |function_id, line| Line { function_id, line };
    let function = |id, name| Function { id, name, system_name: name, filename: 9 };
    Profile {
        sample_type,
        sample: vec![Sample {
            location_id: vec![2, 1],
            value: values.to_vec(),
            label: vec![Label { key: 6, str: 7, num: 0 }, Label { key: 8, str: 0, num: 12 }],
        }],
        mapping: vec![Mapping { id: 1, filename: 4, build_id: 5, has_functions: true, has_inline_frames: true }],
        location: vec![
            Location { id: 1, mapping_id: 1, address: 16, line: vec![line(3, 30), line(2, 20), line(1, 10)] },
            Location { id: 2, mapping_id: 0, address: 17, line: Vec::new() },
        ],
        function: vec![function(1, 1), function(2, 2), function(3, 3)],
        string_table: strings,
        ..Profile::default()
    }
}

fn read(file: &Profile) -> crate::Profile {
    super::read(&file.encode_to_vec()).unwrap()
}

#[test]
fn inlined_functions_are_frames_below_their_host() {
    let profile = read(&file(&[("samples", "count"), ("cpu", "nanoseconds")], &[3, 30_000_000]));
    let names: Vec<_> = profile.frames.iter().map(|f| (f.name.as_str(), f.origin, f.line, f.module.as_str())).collect();
    let expected = [
        ("[unknown]", Origin::Marker, 0, ""),
        ("bytes.Equal", Origin::Inlined, 30, "/srv/shop"),
        ("main.step", Origin::Inlined, 20, "/srv/shop"),
        ("main.run", Origin::Native, 10, "/srv/shop"),
    ];
    let stack: Vec<_> = profile.stacks[0].iter().rev().map(|id| names[id.0 as usize]).collect();
    assert_eq!(stack, expected);
    assert_eq!((profile.frames[1].build_id.as_str(), profile.frames[1].file.as_str()), ("a1b2", "run.go"));
    let thread = &profile.threads[0];
    assert_eq!((thread.name.as_str(), thread.pid, thread.tid), ("worker", 12, 0));
}

/// Types and values of a sample; kind, count and weight, and remarks.
type Values<'a> = (&'a [(&'a str, &'a str)], &'a [i64], ProfileKind, (u64, u64), &'a [&'a str]);
/// A kind of damage, and the expected error.
type Damage<'a> = (fn(&mut Profile), &'a str);

#[test]
fn the_type_that_counts_is_the_default_one_else_a_time_else_the_last() {
    let cases: &[Values<'_>] = &[
        (&[("samples", "count"), ("cpu", "nanoseconds")], &[3, 30], ProfileKind::OnCpu, (3, 30), &[]),
        (&[("cpu", "microseconds"), ("samples", "count")], &[30, 3], ProfileKind::OnCpu, (3, 30_000), &[]),
        (&[("contentions", "count"), ("delay", "nanoseconds")], &[2, 9], ProfileKind::OffCpu, (2, 9), &[]),
        (&[("events", "count")], &[4], ProfileKind::Count, (4, 4), &[]),
        (
            &[("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_space", "bytes")],
            &[1, 64, 32],
            ProfileKind::Count,
            (1, 32),
            &["weights are inuse_space in bytes", "values skipped: alloc_space"],
        ),
    ];
    for (types, values, kind, sums, remarks) in cases {
        let profile = read(&file(types, values));
        let sample = profile.samples[0];
        assert_eq!((profile.kind, (sample.count, sample.weight)), (*kind, *sums), "{types:?}");
        assert_eq!(profile.meta.remarks, *remarks, "{types:?}");
    }
    let mut named = file(&[("cpu", "nanoseconds"), ("events", "count")], &[30, 5]);
    named.default_sample_type = named.sample_type[1].kind;
    assert_eq!(read(&named).samples[0].weight, 5);
}

#[test]
fn damaged_tables_are_refused_with_a_place() {
    let cases: &[Damage<'_>] = &[
        (|file| file.sample[0].location_id = vec![9], "there is no location 9"),
        (|file| file.location[0].line[0].function_id = 8, "there is no function 8"),
        (|file| file.function[0].name = 99, "there is no string 99"),
        (|file| file.function[0].name = -1, "there is no string -1"),
        (|file| file.mapping[0].filename = 99, "there is no string 99"),
        (|file| file.sample[0].label[0].key = 99, "there is no string 99"),
        (|file| file.sample_type.clear(), "sample_type: it is missing"),
        (|file| file.sample[0].value.clear(), "a sample of 0 values; there are 2 types"),
    ];
    for (damage, expected) in cases {
        let mut damaged = file(&[("samples", "count"), ("cpu", "nanoseconds")], &[3, 30]);
        damage(&mut damaged);
        let error = super::read(&damaged.encode_to_vec()).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn negative_values_are_left_out_and_said_so() {
    let mut both = file(&[("cpu", "nanoseconds")], &[30]);
    both.sample.push(Sample { value: vec![-5], ..both.sample[0].clone() });
    let profile = read(&both);
    assert_eq!(profile.total(), 30);
    assert!(profile.meta.remarks[0].starts_with("1 sample with negative values"), "{:?}", profile.meta.remarks);
}

#[test]
fn a_location_of_many_lines_does_not_take_more_time_than_is_kept_of_it() {
    let mut large = file(&[("cpu", "nanoseconds")], &[1]);
    large.location[0].line = vec![Line { function_id: 1, line: 1 }; 20_000];
    large.sample[0].location_id = vec![1; 20_000];
    let samples = vec![large.sample[0].clone(); 500];
    large.sample = samples;
    // Without the limit: 200 billion frames.
    let profile = crate::hang::ends("reading", move || read(&large));
    assert_eq!(profile.stacks[0].len(), super::super::MAX_DEPTH);
}
