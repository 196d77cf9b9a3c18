//! Files that are missing, foreign, damaged or of another version are errors that help, and what
//! is made is for its owner only.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use weir_ledger::{Control, Entry, EntryKind, Ledger, LedgerError, MAX_ENTRIES, MAX_WORKERS, Report};

fn entry(id: &str) -> Entry {
    Entry { kind: EntryKind::Rule, policy: "p".into(), id: id.into(), plugin: "block".into(), rules: vec![] }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("is there").permissions().mode() & 0o777
}

#[test]
fn everything_is_for_its_owner_only() {
    let temp = tempfile::tempdir().expect("temp dir");
    let dir = temp.path().join("run/weir");
    let _control = Control::open_or_create(&dir).expect("creates");
    let _ledger = Ledger::create(&dir, 1, "r1", &[entry("a")], 2, 64, weir_ledger::Reserve::Nothing).expect("creates");
    assert_eq!(mode(&dir), 0o700);
    let mut names: Vec<_> = fs::read_dir(&dir).expect("reads").map(|file| file.expect("reads").file_name()).collect();
    names.sort();
    assert_eq!(names, ["control", "ledger.1", "ledger.1.json"]);
    for name in names {
        assert_eq!(mode(&dir.join(&name)), 0o600, "{name:?}");
    }
}

#[test]
fn switches_stay_and_are_seen_by_all() {
    let dir = tempfile::tempdir().expect("temp dir");
    let writer = Control::open_or_create(dir.path()).expect("creates");
    let reader = Control::open(dir.path()).expect("opens");
    assert!(!writer.silenced() && writer.log_level() == 0 && writer.generation() == 0);
    reader.set_silence(true);
    reader.set_log_level(99);
    reader.set_generation(7);
    assert!(writer.silenced());
    assert_eq!((writer.log_level(), writer.generation()), (8, 7));
    drop((reader, writer));
    assert!(Control::open_or_create(dir.path()).expect("opens").silenced());
}

#[test]
fn a_missing_file_names_the_likely_reason() {
    let dir = tempfile::tempdir().expect("temp dir");
    let error = Control::open(dir.path()).err().expect("is missing");
    assert!(matches!(error, LedgerError::Missing { .. }));
    assert!(error.to_string().contains("is nginx running"), "{error}");
    Control::open_or_create(dir.path()).expect("creates");
    assert!(matches!(Report::read(dir.path()), Err(LedgerError::Missing { .. })), "no generation yet");
}

#[test]
fn every_truncation_of_a_control_file_is_an_error() {
    let dir = tempfile::tempdir().expect("temp dir");
    drop(Control::open_or_create(dir.path()).expect("creates"));
    let path = dir.path().join("control");
    let whole = fs::read(&path).expect("reads");
    for length in [0, 1, 7, 8, 16, 100, 4096, whole.len() / 2, whole.len() - 1, whole.len() + 1] {
        let mut bytes = whole.clone();
        bytes.resize(length, 0);
        fs::write(&path, &bytes).expect("writes");
        let (opened, created) = (Control::open(dir.path()), Control::open_or_create(dir.path()));
        assert!(opened.is_err() && created.is_err(), "{length} of {} bytes", whole.len());
    }
}

#[test]
fn every_truncation_of_a_ledger_is_an_error() {
    let dir = tempfile::tempdir().expect("temp dir");
    Control::open_or_create(dir.path()).expect("creates").set_generation(1);
    drop(
        Ledger::create(dir.path(), 1, "r1", &[entry("a"), entry("b")], 3, 64, weir_ledger::Reserve::Nothing)
            .expect("creates"),
    );
    assert!(Report::read(dir.path()).is_ok());
    let path = dir.path().join("ledger.1");
    let whole = fs::read(&path).expect("reads");
    for length in (0..whole.len()).step_by(8).chain([whole.len() - 1, whole.len() + 1]) {
        let mut bytes = whole.clone();
        bytes.resize(length, 0);
        fs::write(&path, &bytes).expect("writes");
        assert!(Report::read(dir.path()).is_err(), "{length} of {} bytes", whole.len());
    }
}

#[test]
fn a_header_that_lies_about_sizes_is_an_error() {
    let dir = tempfile::tempdir().expect("temp dir");
    Control::open_or_create(dir.path()).expect("creates").set_generation(1);
    drop(Ledger::create(dir.path(), 1, "r1", &[entry("a")], 3, 64, weir_ledger::Reserve::Nothing).expect("creates"));
    let path = dir.path().join("ledger.1");
    let whole = fs::read(&path).expect("reads");
    for word in 0..6 {
        for lie in [0, 1 << 20, u64::MAX / 64, u64::MAX] {
            let mut bytes = whole.clone();
            bytes[word * 8..][..8].copy_from_slice(&u64::to_ne_bytes(lie));
            fs::write(&path, &bytes).expect("writes");
            assert!(Report::read(dir.path()).is_err(), "word {word} = {lie}");
        }
    }
}

#[test]
fn foreign_files_are_not_opened() {
    let dir = tempfile::tempdir().expect("temp dir");
    let path = dir.path().join("control");
    fs::write(&path, "# not ours\n".repeat(20_000)).expect("writes");
    let error = Control::open(dir.path()).err().expect("is foreign");
    assert!(error.to_string().contains("not a file of Weir"), "{error}");
    fs::remove_file(&path).expect("removes");
    std::os::unix::fs::symlink("/dev/zero", &path).expect("links");
    assert!(Control::open(dir.path()).is_err() && Control::open_or_create(dir.path()).is_err());
    fs::remove_file(&path).expect("removes");
    fs::create_dir(&path).expect("makes");
    assert!(Control::open(dir.path()).is_err());
}

#[test]
fn another_version_is_an_error_for_readers_and_replaced_by_nginx() {
    let dir = tempfile::tempdir().expect("temp dir");
    let old = Control::open_or_create(dir.path()).expect("creates");
    let path = dir.path().join("control");
    let mut bytes = fs::read(&path).expect("reads");
    bytes[8] = 99;
    fs::write(&path, bytes).expect("writes");
    let error = Control::open(dir.path()).err().expect("is of another version");
    assert!(error.to_string().contains("has format 99, this is format 5"), "{error}");
    let new = Control::open_or_create(dir.path()).expect("replaces it");
    new.set_silence(true);
    assert!(!old.silenced(), "processes with the old file keep it");
    assert!(Control::open(dir.path()).expect("opens").silenced());
}

#[test]
fn a_new_generation_removes_the_older_ones_and_leaves_them_usable() {
    let dir = tempfile::tempdir().expect("temp dir");
    let old =
        Ledger::create(dir.path(), 8, "r8", &[entry("a")], 1, 64, weir_ledger::Reserve::Nothing).expect("creates");
    fs::write(dir.path().join("ledger.3.json.new.1"), "").expect("writes");
    fs::write(dir.path().join("ledger.txt"), "").expect("writes");
    let _new =
        Ledger::create(dir.path(), 10, "r10", &[entry("a")], 1, 64, weir_ledger::Reserve::Nothing).expect("creates");
    old.row(0).add(0, true);
    let mut names: Vec<_> =
        fs::read_dir(dir.path()).expect("reads").map(|file| file.expect("reads").file_name()).collect();
    names.sort();
    assert_eq!(names, ["ledger.10", "ledger.10.json", "ledger.txt"]);
}

#[test]
fn names_that_do_not_fit_the_ledger_are_an_error() {
    let dir = tempfile::tempdir().expect("temp dir");
    Control::open_or_create(dir.path()).expect("creates").set_generation(1);
    let _ledger =
        Ledger::create(dir.path(), 1, "r1", &[entry("a")], 1, 64, weir_ledger::Reserve::Nothing).expect("creates");
    for text in ["", "[]", r#"{"revision":"r","sample_every":1,"entries":[]}"#] {
        fs::write(dir.path().join("ledger.1.json"), text).expect("writes");
        assert!(matches!(Report::read(dir.path()), Err(LedgerError::Damaged { .. })), "{text}");
    }
}

#[test]
fn more_than_there_is_room_for_is_refused() {
    let dir = tempfile::tempdir().expect("temp dir");
    let many = vec![entry("a"); MAX_ENTRIES + 1];
    let refused = |entries: &[Entry], workers| {
        matches!(
            Ledger::create(dir.path(), 1, "r", entries, workers, 64, weir_ledger::Reserve::Nothing),
            Err(LedgerError::Limit { .. })
        )
    };
    assert!(refused(&many, 1) && refused(&many[..1], MAX_WORKERS + 1) && refused(&many[..MAX_ENTRIES], MAX_WORKERS));
    assert!(fs::read_dir(dir.path()).expect("reads").next().is_none(), "nothing is left behind");
}
