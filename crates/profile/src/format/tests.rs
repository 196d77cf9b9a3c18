use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;

use super::intake::MAX_SUM;
use super::*;
use crate::label::{UNKNOWN, label};
use crate::{Builder, Frame, FrameId, Origin, ProfileKind, Sample, StackId, Thread, ThreadIndex};

fn written(profile: &Profile, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(profile, format, &mut bytes).unwrap();
    bytes
}

/// Arbitrary profiles, with names that contain characters special to the formats.
fn profiles() -> impl Strategy<Value = Profile> {
    let name = prop_oneof![
        "[a-z]{1,3}",
        r"[a-z;:.<> ()\[\]_é0-9]{1,12}",
        Just("access.lua:check".to_owned()),
        Just("trace 7 access.lua:30".to_owned())
    ];
    let origin = prop::sample::select(vec![
        Origin::Kernel,
        Origin::Native,
        Origin::Inlined,
        Origin::Lua,
        Origin::LuaTrace,
        Origin::LuaBuiltin,
        Origin::Marker,
    ]);
    let module = prop::sample::select(vec!["", "/usr/sbin/nginx", "[kernel]", "access.lua", "/tmp/perf-1.map"]);
    let frame = (name, origin, module, 0..3_u32).prop_map(|(name, origin, module, line)| Frame {
        module: module.to_owned(),
        file: if line > 0 { "a.c".to_owned() } else { String::new() },
        line,
        ..Frame::named(name, origin)
    });
    let stack = prop::collection::vec(frame, 1..6);
    let thread = (0..3_u32, "[a-z]{0,3}").prop_map(|(tid, name)| Thread { pid: tid, tid, name });
    let kind = prop::sample::select(vec![ProfileKind::OnCpu, ProfileKind::OffCpu, ProfileKind::Count]);
    (kind, prop::collection::vec((thread, stack, 1..100_u64, 1..1_000_000_u64), 1..12)).prop_map(|(kind, samples)| {
        let mut builder = Builder::new(kind);
        for (thread, stack, count, weight) in samples {
            let thread = builder.thread(thread);
            let stack: Vec<FrameId> = stack.into_iter().map(|frame| builder.frame(frame)).collect();
            let stack = builder.stack(&stack);
            builder.add(thread, stack, count, weight);
        }
        builder.profile_mut().meta.requests = Some(12);
        builder.finish()
    })
}

/// Weights by thread name and labels, with the changes that the folded format makes.
fn folded_stacks(profile: &Profile, threads: bool) -> BTreeMap<Vec<String>, u64> {
    let mut stacks = BTreeMap::new();
    for sample in &profile.samples {
        let thread = profile.threads[sample.thread.0 as usize].name.clone();
        let frames = profile.stack(sample.stack).iter().map(|id| label(profile.frame(*id)).trim().replace(';', ":"));
        let named = (threads && !thread.is_empty()).then_some(thread);
        let mut stack: Vec<String> = named.into_iter().chain(frames).collect();
        if stack == [""] {
            stack = vec![UNKNOWN.into()];
        }
        *stacks.entry(stack).or_default() += sample.weight;
    }
    stacks
}

/// Names, modules and lines of a stack, and its thread: the data that pprof preserves.
type StackEntry = (String, String, u32);
fn pprof_stacks(profile: &Profile) -> HashMap<(Thread, Vec<StackEntry>), (u64, u64)> {
    let mut stacks = HashMap::new();
    for sample in &profile.samples {
        let places = profile.stack(sample.stack).chunk_by(|_, next| profile.frame(*next).origin == Origin::Inlined);
        let frames = places.flat_map(|place| {
            // An inlined frame has its host's module.
            let module = profile.frame(place[0]).module.clone();
            place.iter().map(move |id| (profile.frame(*id).name.clone(), module.clone(), profile.frame(*id).line))
        });
        let thread = profile.threads[sample.thread.0 as usize].clone();
        let sum: &mut (u64, u64) = stacks.entry((thread, frames.collect())).or_default();
        *sum = (sum.0 + sample.count, sum.1 + sample.weight);
    }
    stacks
}

#[test]
fn a_frame_without_a_name_is_written_as_unknown() {
    let mut builder = Builder::new(ProfileKind::OnCpu);
    let (thread, frame) = (builder.thread(Thread::default()), builder.frame(Frame::named(" \u{1}", Origin::Native)));
    let stack = builder.stack(&[frame]);
    builder.add(thread, stack, 1, 7);
    let bytes = written(&builder.finish(), Format::Folded);
    assert_eq!(bytes, b"[unknown] 7\n");
    assert_eq!(written(&read_as(&bytes, Format::Folded).unwrap(), Format::Folded), bytes);
}

proptest! {
    #[test]
    fn weirs_own_format_keeps_everything(profile in profiles()) {
        let bytes = written(&profile, Format::Weir);
        prop_assert_eq!(read(&bytes).unwrap(), profile);
    }

    #[test]
    fn folded_stacks_keep_labels_and_weights(profile in profiles()) {
        let bytes = written(&profile, Format::Folded);
        let again = read_as(&bytes, Format::Folded).unwrap();
        prop_assert_eq!(folded_stacks(&again, false), folded_stacks(&profile, true));
        prop_assert_eq!(written(&again, Format::Folded), bytes);
    }

    #[test]
    fn pprof_keeps_frames_threads_counts_and_weights(profile in profiles()) {
        let again = read(&written(&profile, Format::Pprof)).unwrap();
        prop_assert_eq!(again.kind, profile.kind);
        prop_assert_eq!(again.meta.requests, profile.meta.requests);
        prop_assert_eq!(pprof_stacks(&again), pprof_stacks(&profile));
    }

    #[test]
    fn nothing_that_is_read_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
        for entry in FORMATS {
            let _ = read_as(&bytes, entry.format);
        }
    }

    #[test]
    fn text_of_any_shape_is_read_or_refused(text in r"([a-z]{1,3}|[0-9]{1,3}|[0-9]{2}\.[0-9]:|;| |\n|\t|cpu-clock:|\(|\)|\[001\]|\+0x1|/){0,60}") {
        for format in [Format::Folded, Format::PerfScript] {
            if let Ok(profile) = read_as(text.as_bytes(), format) {
                written(&profile, Format::Folded);
            }
        }
    }

    #[test]
    fn damaged_files_are_refused_or_read_without_a_panic(
        profile in profiles(), at in any::<prop::sample::Index>(), byte in any::<u8>(), pprof in any::<bool>(),
    ) {
        let format = if pprof { Format::Pprof } else { Format::Weir };
        let mut bytes = unpack::unpack(&written(&profile, format)).unwrap().into_owned();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(read) = read_as(&bytes, format) {
            written(&read, Format::Folded);
            written(&read, Format::Weir);
        }
    }
}

fn small() -> Profile {
    let mut builder = Builder::new(ProfileKind::OnCpu);
    let thread = builder.thread(Thread { pid: 7, tid: 8, name: "nginx".into() });
    let main = builder.frame(Frame { module: "/usr/sbin/nginx".into(), ..Frame::named("main", Origin::Native) });
    let inlined = builder.frame(Frame { file: "n.h".into(), line: 3, ..Frame::named("ngx_min", Origin::Inlined) });
    let stack = builder.stack(&[main, inlined]);
    builder.add(thread, stack, 2, 20_000_000);
    builder.profile_mut().meta.title = "nginx (pid 7)".into();
    builder.profile_mut().meta.frequency_hz = 99;
    builder.finish()
}

#[test]
fn formats_are_found_by_the_ends_of_names_and_by_their_own() {
    let cases = [
        ("a.weir.json.gz", Some(Format::Weir)),
        ("a.folded", Some(Format::Folded)),
        ("a.pb.gz", Some(Format::Pprof)),
        ("b/a.speedscope.json", Some(Format::Speedscope)),
        ("a.firefox.json", Some(Format::Firefox)),
        ("a.perf", Some(Format::PerfScript)),
        ("a.svg", None),
    ];
    for (name, format) in cases {
        assert_eq!(Format::of_path(Path::new(name)), format, "{name}");
    }
    for entry in FORMATS {
        assert_eq!(Format::named(entry.name), Some(entry.format));
        assert!(entry.format.is_read() || entry.format.is_written(), "{}", entry.name);
    }
}

#[test]
fn what_is_written_is_recognised() {
    for entry in FORMATS.iter().filter(|entry| entry.format.is_written()) {
        let bytes = unpack::unpack(&written(&small(), entry.format)).unwrap().into_owned();
        let found = FORMATS.iter().find(|entry| (entry.sniff)(&bytes)).map(|entry| entry.format);
        assert_eq!(found, Some(entry.format));
    }
}

#[test]
fn speedscope_gets_a_profile_of_each_thread() {
    let json: serde_json::Value = serde_json::from_slice(&written(&small(), Format::Speedscope)).unwrap();
    let thread = &json["profiles"][0];
    assert_eq!(json["shared"]["frames"][1]["line"], 3);
    assert_eq!((&thread["type"], &thread["unit"]), (&"sampled".into(), &"nanoseconds".into()));
    assert_eq!(
        (&thread["samples"][0][1], &thread["weights"][0], &thread["endValue"]),
        (&1.into(), &20_000_000.into(), &20_000_000.into())
    );
    assert_eq!(thread["name"], "nginx (7/8)");
}

#[test]
fn firefox_gets_weights_that_fit_and_names() {
    let mut profile = small();
    profile.samples[0].weight = 5_000_000_000_000;
    let json: serde_json::Value = serde_json::from_slice(&written(&profile, Format::Firefox)).unwrap();
    let thread = &json["threads"][0];
    assert_eq!(thread["samples"]["weight"][0], 5_000_000);
    assert!(json["meta"]["product"].as_str().unwrap().ends_with("(ms)"), "{}", json["meta"]["product"]);
    assert!(json.to_string().contains("ngx_min_[i]"));
}

#[test]
fn errors_say_what_where_and_what_to_do() {
    let stored = |change: fn(&mut Profile)| {
        let mut profile = small();
        change(&mut profile);
        written(&profile, Format::Weir)
    };
    let sample =
        |thread, stack, weight| Sample { thread: ThreadIndex(thread), stack: StackId(stack), count: 1, weight };
    let mut cut_short = written(&small(), Format::Pprof);
    cut_short.truncate(40);
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (b"".to_vec(), "empty"),
        (b" \n".to_vec(), "empty"),
        (b"# shop: 1.0\n".to_vec(), "empty"),
        (b"what is this\n".to_vec(), "folded profile, line 1: no weight"),
        (b"main 99999999999999999999\n".to_vec(), "line 1: the weight 99999999999999999999 is too large"),
        (b"a 9223372036854775807\nb 1\n".to_vec(), "line 2: the weights add up to more than 2^63"),
        (b"{\"weir_profile\":9}".to_vec(), "its version is 9"),
        (b"{\"weir_profile\":1,\n\"profile\":7}".to_vec(), "weir profile, line 2, column 11"),
        (stored(|profile| profile.stacks[0][1] = FrameId(2)), "stacks[0]: there is no frame 2"),
        (stored(|profile| profile.samples[0].thread = ThreadIndex(1)), "samples[0]: there is no thread 1"),
        (stored(|profile| profile.samples[0].stack = StackId(1)), "samples[0]: there is no stack 1"),
        (
            {
                let mut profile = small();
                profile.samples = vec![sample(0, 0, MAX_SUM), sample(0, 0, 1)];
                written(&profile, Format::Weir)
            },
            "weight: the values add up",
        ),
        (cut_short, "the gzip data is damaged"),
        (written(&small(), Format::Speedscope), "speedscope profiles are written, not read"),
        (b"\x0a\x00\x12\x05\x00".to_vec(), "pprof profile, byte 2: expected 5 bytes, 1 are left"),
        (b"\x32\x00\x0a\x00\x12\x04\x0a\x02\x07\x07\x32\x00".to_vec(), "a sample of 0 values"),
        (b"PERFILE2\x68\x00".to_vec(), "run `perf script -i FILE`"),
        (b"\xff\x00".to_vec(), "not a profile that Weir knows"),
    ];
    for (bytes, expected) in cases {
        let error = read(&bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn more_than_memory_holds_is_refused() {
    let zeros = vec![b' '; 1 << 20];
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..=MAX_UNPACKED_BYTES >> 20 {
        std::io::Write::write_all(&mut packed, &zeros).unwrap();
    }
    assert!(matches!(read(&packed.finish().unwrap()), Err(FormatError::TooLarge)));
}

#[test]
fn deep_stacks_are_cut_at_their_roots() {
    let deep = format!("{}leaf 1\n", "f;".repeat(MAX_DEPTH));
    let mut profile = read(deep.as_bytes()).unwrap();
    let stored = {
        let stack = [vec![FrameId(0); MAX_DEPTH], profile.stacks[0].to_vec()].concat();
        profile.stacks[0] = stack.into();
        read(&written(&profile, Format::Weir)).unwrap()
    };
    for profile in [read(deep.as_bytes()).unwrap(), stored] {
        let stack = profile.stack(StackId(0));
        assert_eq!(stack.len(), MAX_DEPTH);
        assert_eq!(profile.frame(stack[0]).name, "[truncated]");
        assert_eq!(profile.frame(stack[MAX_DEPTH - 1]).name, "leaf");
        assert!(profile.meta.remarks[0].contains("cut at the root"), "{:?}", profile.meta.remarks);
    }
}

#[test]
fn long_names_are_cut() {
    let profile = read(format!("{}é;b 1\n", "x".repeat(MAX_NAME_BYTES - 1)).as_bytes()).unwrap();
    assert_eq!(profile.frames[0].name.len(), MAX_NAME_BYTES - 1);
    assert_eq!(profile.meta.remarks, ["1 name longer than 8192 bytes, cut"]);
}
