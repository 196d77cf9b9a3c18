use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use super::*;
use crate::objects::Objects;
use crate::state::{Action, Edit, State, Target};
use crate::store::{Revision, Store, read_copy};

/// A state with a few revisions, tokens and two contents.
struct Place {
    dir: tempfile::TempDir,
    store: Store,
    state: State,
    objects: Arc<Objects>,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(&dir.path().join("state"), 7).unwrap();
        let objects = Objects::open(&dir.path().join("state"), &dir.path().join("run"), &[]).unwrap();
        let mut place = Self { dir, store, state: State::default(), objects: Arc::new(objects) };
        for content in ["one\n", "two\n"] {
            fs::write(place.path("file"), content).unwrap();
            place.objects.capture(&place.path("file"), 100).unwrap();
        }
        fs::write(place.path("state/tokens"), "ci edit 00\n").unwrap();
        (0..5).for_each(|n| place.change(n));
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn change(&mut self, n: u64) {
        let target = Target::parse(&format!("/sites/s{n}")).unwrap();
        let edit = Edit::new(target, Action::Put(serde_json::json!({"hosts": [format!("n{n}.example")]})));
        let applied = self.state.apply(self.state.revision() + 1, &[edit]).unwrap();
        let changes = Revision::changes_of(&applied);
        let row = Revision { revision: self.state.revision(), time_ms: 1, actor: "t".into(), message: None, changes };
        self.store.begin().unwrap();
        self.store.add(&row).unwrap();
        self.store.commit().unwrap();
    }

    fn source(&self) -> Source {
        let objects = Arc::clone(&self.objects);
        let held = objects.hold();
        Source { state: self.path("state"), store: self.store.copying().unwrap(), objects, _held: held, time_ms: 9_000 }
    }

    fn backup(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&self.source(), &mut bytes).unwrap();
        bytes
    }
}

#[test]
fn a_backup_has_the_state_of_its_moment_whatever_comes_meanwhile() {
    let mut place = Place::new();
    let source = place.source();
    (5..9).for_each(|n| place.change(n));
    place.store.checkpoint().unwrap();
    assert!(!place.objects.keep_only(&HashSet::new(), &HashSet::new()), "contents are held");
    let mut bytes = Vec::new();
    let manifest = write(&source, &mut bytes).unwrap();
    assert_eq!((manifest.revision, manifest.objects().count(), manifest.files.len()), (5, 2, 4));
    drop(source);
    let into = place.path("new");
    let installed = install(bytes.as_slice(), &into).unwrap();
    assert_eq!((installed.revision, installed.time_ms), (5, 9_000));
    let (store, loaded) = Store::open(&into, 8).unwrap();
    assert_eq!((loaded.revision, loaded.documents.len(), store.epoch()), (5, 5, 7));
    assert!(store.revision(3).unwrap().is_some(), "the history is there");
    assert_eq!(fs::read(into.join("tokens")).unwrap(), b"ci edit 00\n");
    let mode = |name: &str| fs::metadata(into.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("store.sqlite"), mode("tokens"), mode("")), (0o600, 0o600, 0o700));
    assert_eq!(fs::read_dir(into.join("objects")).unwrap().count(), 2);
    let leftovers =
        fs::read_dir(&into).unwrap().flatten().filter(|entry| entry.file_name().as_encoded_bytes()[0] == b'.');
    assert_eq!(leftovers.count(), 0);
    // What was held back is done now.
    place.store.checkpoint().unwrap();
    assert!(place.objects.keep_only(&HashSet::new(), &HashSet::new()));
}

#[test]
fn a_state_is_never_overwritten() {
    let place = Place::new();
    let bytes = place.backup();
    let error = install(bytes.as_slice(), &place.path("state")).unwrap_err().to_string();
    assert!(error.contains("is in use by process"), "{error}");
    let other = place.path("other");
    install(bytes.as_slice(), &other).unwrap();
    let error = install(bytes.as_slice(), &other).unwrap_err().to_string();
    assert!(error.contains("has a state already"), "{error}");
}

#[test]
fn what_is_cut_off_damaged_or_added_is_refused_and_leaves_nothing() {
    let place = Place::new();
    let whole = place.backup();
    verify(whole.as_slice()).unwrap();
    // The archive ends with two blocks of zeros, which say nothing.
    for length in (0..whole.len() - 1_024).step_by(509) {
        assert!(verify(&whole[..length]).is_err(), "cut off after {length} of {} bytes", whole.len());
    }
    let content_at = |text: &[u8]| whole.windows(text.len()).position(|window| window == text).unwrap();
    for at in [content_at(b"one\n"), content_at(b"two\n"), content_at(b"ci edit"), content_at(b"SQLite format 3")] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        let error = verify(damaged.as_slice()).unwrap_err().to_string();
        assert!(error.contains("damaged"), "{error}");
        let into = place.path(&format!("into{at}"));
        assert!(install(damaged.as_slice(), &into).is_err());
        let names: Vec<_> = fs::read_dir(&into).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["lock"]);
    }
}

#[test]
fn names_of_a_manifest_lead_nowhere_else() {
    let place = Place::new();
    let whole = place.backup();
    for (from, to) in [("\"tokens\"", "\"../../x\""), ("\"tokens\"", "\"lock\""), ("\"format\": 1", "\"format\": 9")] {
        let mut archive = tar::Archive::new(whole.as_slice());
        let mut changed = tar::Builder::new(Vec::new());
        for entry in archive.entries().unwrap() {
            use std::io::Read as _;
            let mut entry = entry.unwrap();
            let (mut header, path) = (entry.header().clone(), entry.path().unwrap().into_owned());
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            if path == Path::new(MANIFEST) {
                content = String::from_utf8(content).unwrap().replace(from, to).into_bytes();
                header.set_size(content.len() as u64);
            }
            changed.append_data(&mut header, path, content.as_slice()).unwrap();
        }
        let error = verify(changed.into_inner().unwrap().as_slice()).unwrap_err().to_string();
        assert!(error.contains("there is no place") || error.contains("its format is 9"), "{error}");
    }
    assert!(verify(&b"not a tar archive"[..]).is_err());
    let copied = place.path("copy.sqlite");
    fs::write(&copied, b"nonsense").unwrap();
    assert!(read_copy(&copied).is_err());
}
