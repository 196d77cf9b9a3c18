use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use proptest::prelude::*;

use super::header::{AREA_BYTES, area_start};
use super::*;

/// What a reader found, to be compared.
#[derive(Clone, Debug, PartialEq)]
enum Found {
    Base(u64, u64, u64),
    Op(Vec<u8>),
    Commit(u64),
    Runtime(Vec<u8>),
}

fn all(reader: &mut Reader) -> Vec<Found> {
    let mut found = Vec::new();
    let mut buffer = Vec::new();
    while let Some(read) = reader.next(&mut buffer).unwrap() {
        found.push(find(read));
    }
    found
}

fn find(read: Read<'_>) -> Found {
    match read {
        Read::Base { epoch, revision, digest } => Found::Base(epoch, revision, digest),
        Read::Op(json) => Found::Op(json.to_vec()),
        Read::Commit { revision, .. } => Found::Commit(revision),
        Read::Runtime(json) => Found::Runtime(json.to_vec()),
    }
}

fn op(json: &str) -> Found {
    Found::Op(json.into())
}

fn base(ops: &[&str]) -> Vec<Vec<u8>> {
    ops.iter().map(|op| op.as_bytes().to_vec()).collect()
}

fn journal() -> (tempfile::TempDir, Writer, Reader) {
    let dir = tempfile::tempdir().unwrap();
    let reader = Reader::create_or_open(dir.path()).unwrap();
    let writer = Writer::open(dir.path()).unwrap();
    (dir, writer, reader)
}

fn blocks(dir: &Path) -> u64 {
    std::fs::metadata(dir.join("policy.journal")).unwrap().blocks() * 512
}

#[test]
fn a_reader_sees_base_changes_and_the_next_base() {
    let (dir, mut writer, mut reader) = journal();
    assert_eq!(all(&mut reader), []);
    assert!(writer.needs_rotation());
    assert!(matches!(writer.append(&[Frame::Op(b"a")]), Err(JournalError::NotBegun)));
    writer.begin(1, 5, 99, base(&["a", "b"])).unwrap();
    assert!(!writer.needs_rotation());
    assert_eq!(all(&mut reader), [Found::Base(1, 5, 99), op("a"), op("b"), Found::Commit(5)]);
    writer.append(&[Frame::Op(b"c"), Frame::Commit { revision: 6, time_ms: 1 }, Frame::Runtime(b"r")]).unwrap();
    assert_eq!(all(&mut reader), [op("c"), Found::Commit(6), Found::Runtime(b"r".to_vec())]);
    // The end of the generation comes before the next one.
    writer.append(&[Frame::Runtime(b"last")]).unwrap();
    writer.begin(1, 6, 98, base(&["abc"])).unwrap();
    assert_eq!(
        all(&mut reader),
        [Found::Runtime(b"last".to_vec()), Found::Base(1, 6, 98), op("abc"), Found::Commit(6)]
    );
    // One that was opened later, through an fd, begins with the newest base; skipping it leads behind its commit.
    writer.append(&[Frame::Op(b"d")]).unwrap();
    let mut late = Reader::from_fd(Reader::open(dir.path()).unwrap().as_fd().try_clone_to_owned().unwrap()).unwrap();
    assert!(matches!(late.next(&mut Vec::new()).unwrap(), Some(Read::Base { revision: 6, .. })));
    late.skip_base();
    assert_eq!(all(&mut late), [op("d")]);
    late.restart();
    assert_eq!(all(&mut late).len(), 4);
}

#[test]
fn there_is_one_writer_and_its_successor_begins_anew() {
    let (dir, mut writer, mut reader) = journal();
    let Err(JournalError::Locked { pid, .. }) = Writer::open(dir.path()) else { panic!("two writers") };
    assert_eq!(pid, std::process::id());
    writer.begin(1, 1, 0, base(&["a"])).unwrap();
    writer.append(&[Frame::Runtime(b"health")]).unwrap();
    drop(writer);
    let mut successor = Writer::open(dir.path()).unwrap();
    // What the predecessor has left can be read until the first generation of the successor is complete.
    let mut left = Reader::open(dir.path()).unwrap();
    assert_eq!(all(&mut left).last(), Some(&Found::Runtime(b"health".to_vec())));
    assert!(matches!(successor.append(&[]), Err(JournalError::NotBegun)));
    successor.begin(2, 1, 0, base(&["a"])).unwrap();
    assert_eq!(
        all(&mut reader).iter().filter(|found| matches!(found, Found::Base(..))).count(),
        1,
        "straight to the newest"
    );
}

#[test]
fn a_reader_cannot_write_to_the_journal() {
    let (_dir, mut writer, reader) = journal();
    writer.begin(1, 1, 0, base(&["a"])).unwrap();
    let inherited = reader.as_fd().try_clone_to_owned().unwrap();
    let file = File::from(inherited.try_clone().unwrap());
    assert!(file.write_all_at(b"x", 8).is_err() && file.set_len(0).is_err());
    assert!(memmap2::MmapOptions::new().len(4096).map_raw(&file).is_err());
    let mut again = Reader::from_fd(inherited).unwrap();
    assert_eq!(all(&mut again).len(), 3);
}

#[test]
fn a_writer_knows_whether_its_file_has_the_name() {
    let (dir, writer, _reader) = journal();
    let path = dir.path().join("policy.journal");
    assert_eq!(writer.place(), Place::Kept);
    std::fs::rename(&path, dir.path().join("old")).unwrap();
    assert_eq!(writer.place(), Place::Gone);
    Reader::create_or_open(dir.path()).unwrap();
    assert_eq!(writer.place(), Place::Taken);
    Writer::open(dir.path()).unwrap();
}

#[test]
fn an_overtaken_reader_goes_on_with_the_newest_base() {
    let (_dir, mut writer, mut reader) = journal();
    for generation in 1..=12u64 {
        writer.begin(1, generation, 0, (0..100).map(|n| format!("{generation}:{n}").into_bytes())).unwrap();
        let mut buffer = Vec::new();
        // It reads a little of each third generation; two have begun since.
        if generation % 3 == 0 {
            assert_eq!(reader.next(&mut buffer).unwrap().map(find), Some(Found::Base(1, generation, 0)));
            for n in 0..10 {
                assert_eq!(reader.next(&mut buffer).unwrap().map(find), Some(op(&format!("{generation}:{n}"))));
            }
        }
    }
}

#[test]
fn space_of_old_generations_is_given_back() {
    let (dir, mut writer, _reader) = journal();
    for revision in 0..10 {
        writer.begin(1, revision, 0, (0..4).map(|_| vec![b'x'; 1 << 20])).unwrap();
        assert!(blocks(dir.path()) <= 12 << 20, "{} bytes after {revision}", blocks(dir.path()));
    }
    assert!(blocks(dir.path()) >= 8 << 20);
}

#[test]
fn deltas_make_a_rotation_due() {
    let (_dir, mut writer, _reader) = journal();
    writer.begin(1, 1, 0, base(&[])).unwrap();
    let frame = vec![b'x'; 1 << 20];
    let mut appended = 0;
    while !writer.needs_rotation() {
        writer.append(&[Frame::Op(&frame)]).unwrap();
        appended += 1;
    }
    assert!((32..=33).contains(&appended));
}

#[test]
fn long_and_empty_frames_pass() {
    let (_dir, mut writer, mut reader) = journal();
    let lengths = [0, 1, 7, 8, 9, 4096, (256 << 10) - 16, 256 << 10, 3 << 20, 5];
    let frames: Vec<Vec<u8>> = lengths.iter().map(|&length| vec![length as u8; length]).collect();
    writer.begin(1, 1, 0, frames.clone()).unwrap();
    writer.append(&frames.iter().map(|frame| Frame::Runtime(frame)).collect::<Vec<_>>()).unwrap();
    let expected: Vec<_> = [Found::Base(1, 1, 0)]
        .into_iter()
        .chain(frames.iter().cloned().map(Found::Op))
        .chain([Found::Commit(1)])
        .chain(frames.iter().cloned().map(Found::Runtime))
        .collect();
    assert!(all(&mut reader) == expected);
}

#[test]
fn what_is_no_journal_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Reader::open(dir.path()), Err(JournalError::Io { .. })));
    Reader::create_or_open(dir.path()).unwrap();
    let path = dir.path().join("policy.journal");
    let file = File::options().write(true).open(&path).unwrap();
    file.write_all_at(b"x", 3).unwrap();
    assert!(matches!(Writer::open(dir.path()), Err(JournalError::Foreign { .. })));
    std::fs::write(&path, "short").unwrap();
    assert!(matches!(Reader::create_or_open(dir.path()), Err(JournalError::Foreign { .. })));
}

#[test]
fn damage_names_its_place_and_ends_with_the_next_generation() {
    let (dir, mut writer, mut reader) = journal();
    writer.begin(1, 1, 0, base(&["first", "second"])).unwrap();
    let file = File::options().write(true).open(dir.path().join("policy.journal")).unwrap();
    file.write_all_at(b"X", area_start(1) + 24 + 16).unwrap();
    let mut buffer = Vec::new();
    assert!(matches!(reader.next(&mut buffer), Ok(Some(Read::Base { .. }))));
    assert!(matches!(reader.next(&mut buffer), Ok(Some(Read::Op(b"first")))));
    for _ in 0..2 {
        let error = reader.next(&mut buffer).unwrap_err();
        let JournalError::Damaged { offset, generation: 1, .. } = error else { panic!("{error}") };
        assert_eq!(offset, area_start(1) + 24);
        assert!(error.to_string().contains("restart control"), "{error}");
    }
    writer.begin(1, 1, 0, base(&["first"])).unwrap();
    assert_eq!(all(&mut reader), [Found::Base(1, 1, 0), op("first"), Found::Commit(1)]);
}

#[test]
fn a_writer_that_was_killed_leaves_nothing_to_see() {
    let (dir, mut writer, mut reader) = journal();
    writer.begin(1, 1, 0, base(&["a"])).unwrap();
    all(&mut reader);
    // Half an append and half a base, as they stand in the file when their writer is killed.
    let file = File::options().write(true).open(dir.path().join("policy.journal")).unwrap();
    file.write_all_at(&[7; 1000], area_start(1) + 24 + 32).unwrap();
    file.write_all_at(&[7; 1 << 20], area_start(2)).unwrap();
    drop(writer);
    assert_eq!(all(&mut reader), []);
    let mut successor = Writer::open(dir.path()).unwrap();
    successor.begin(2, 1, 0, base(&["b"])).unwrap();
    assert_eq!(all(&mut reader), [Found::Base(2, 1, 0), op("b"), Found::Commit(1)]);
}

/// Changes the format that a generation says to have.
fn set_format(dir: &Path, generation: u64, format: u64) {
    let file = File::options().write(true).open(dir.join("policy.journal")).unwrap();
    file.write_all_at(&format.to_ne_bytes(), 64 + generation % 4 * 128 + 40).unwrap();
}

#[test]
fn a_generation_in_another_format_is_left_alone_until_there_is_one_that_can_be_read() {
    let (dir, mut writer, mut reader) = journal();
    let other = |reader: &mut Reader| {
        let error = reader.next(&mut Vec::new()).unwrap_err();
        assert!(matches!(error, JournalError::OtherFormat { found: 9, reads } if reads == journal_format()), "{error}");
    };
    writer.begin(1, 1, 0, base(&["a"])).unwrap();
    writer.append(&[Frame::Runtime(b"health")]).unwrap();
    assert_eq!(all(&mut reader).len(), 4);
    writer.begin(1, 2, 0, base(&["b"])).unwrap();
    set_format(dir.path(), 2, 9);
    other(&mut reader);
    // A reader that begins now has what that one had, as long as the generation before is there.
    let mut late = Reader::open(dir.path()).unwrap();
    let found = [0; 4].map(|_| late.next(&mut Vec::new()).unwrap().map(find));
    assert_eq!(found[0], Some(Found::Base(1, 1, 0)));
    assert_eq!(found[3], Some(Found::Runtime(b"health".to_vec())));
    other(&mut late);
    writer.begin(1, 3, 0, base(&["c"])).unwrap();
    set_format(dir.path(), 3, 9);
    let mut too_late = Reader::open(dir.path()).unwrap();
    for reader in [&mut reader, &mut late, &mut too_late] {
        other(reader);
        other(reader);
    }
    writer.begin(1, 4, 0, base(&["d"])).unwrap();
    for reader in [&mut reader, &mut late, &mut too_late] {
        assert_eq!(all(reader), [Found::Base(1, 4, 0), op("d"), Found::Commit(4)]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is in the file, a reader neither panics nor goes on for ever, and what it hands out before the first
    /// error is a beginning of what was written.
    #[test]
    fn damage_is_never_taken_for_frames(
        frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 0..20),
        damage in proptest::collection::vec((0..3000u64, proptest::collection::vec(any::<u8>(), 1..40)), 1..6),
        header in any::<bool>(),
    ) {
        let (dir, mut writer, _) = journal();
        let expected: Vec<Found> = frames.iter().cloned().map(Found::Op).chain([Found::Commit(3)]).collect();
        writer.begin(1, 3, 0, frames).unwrap();
        let file = File::options().write(true).open(dir.path().join("policy.journal")).unwrap();
        for (at, bytes) in &damage {
            // The header's first line has the magic and the newest generation.
            let at = if header { 8 + at % 600 } else { area_start(1) + at };
            file.write_all_at(bytes, at).unwrap();
        }
        let mut reader = Reader::open(dir.path()).unwrap();
        let mut buffer = Vec::new();
        let mut found = Vec::new();
        while let Ok(Some(read)) = reader.next(&mut buffer) {
            if !matches!(read, Read::Base { .. }) {
                found.push(find(read));
            }
            prop_assert!(found.len() <= expected.len());
        }
        prop_assert!(expected.starts_with(&found), "{:?}", found);
    }

    #[test]
    fn random_bytes_are_no_frame(bytes in proptest::collection::vec(any::<u8>(), 0..200), generation: u64, offset in 0..AREA_BYTES) {
        prop_assert!(super::frame::Frame::decode(generation, offset, &bytes).is_err());
    }
}
