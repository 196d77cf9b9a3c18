use std::sync::Arc;

use super::*;
use crate::state::{Action, Edit, State, Target};

/// Applies a site of that name, and what its row says.
fn change(state: &mut State, name: &str) -> Revision {
    let target = Target::parse(&format!("/sites/{name}")).expect("a path");
    let edit = Edit::new(target, Action::Put(serde_json::json!({"hosts": [format!("{name}.example")]})));
    let applied = state.apply(state.revision() + 1, &[edit]).expect("good");
    let changes = Revision::changes_of(&applied);
    Revision { revision: state.revision(), time_ms: 1, actor: "test".into(), message: None, changes }
}

fn store_one(store: &mut Store, row: &Revision) {
    store.begin().expect("begins");
    store.add(row).expect("added");
    store.commit().expect("commits");
}

/// A store with revisions 1 to `count`, with a snapshot at `snapshot`.
fn filled(dir: &Path, count: u64, snapshot: Option<u64>) -> State {
    let (mut store, loaded) = Store::open(dir, 7).expect("opens");
    assert!(loaded.recovered.is_none() && loaded.documents.is_empty());
    let mut state = State::default();
    for n in 1..=count {
        let row = change(&mut state, &format!("s{n}"));
        store_one(&mut store, &row);
        if snapshot == Some(n) {
            let under_way = store.snapshot(n, 1, state.everything()).expect("begins");
            store.snapshot_finish(under_way).expect("ends");
        }
    }
    state
}

fn same(loaded: &Loaded, state: &State) {
    let again = State::restore(loaded.revision, loaded.documents(), &()).expect("it is valid");
    assert_eq!((again.revision(), again.digest()), (state.revision(), state.digest()));
}

#[test]
fn what_was_committed_is_there_again() {
    for snapshot in [None, Some(1), Some(3), Some(5)] {
        let dir = tempfile::tempdir().expect("a directory");
        let state = filled(dir.path(), 5, snapshot);
        let (store, loaded) = Store::open(dir.path(), 8).expect("opens");
        same(&loaded, &state);
        assert_eq!((store.epoch(), loaded.snapshot), (7, snapshot.unwrap_or(0)));
    }
}

#[test]
fn a_group_that_is_given_up_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut state = filled(dir.path(), 2, None);
    let before = state.clone();
    let (mut store, _) = Store::open(dir.path(), 8).expect("opens");
    let row = change(&mut state, "lost");
    store.begin().expect("begins");
    store.add(&row).expect("added");
    store.abort();
    store_one(&mut store, &row);
    store.take_back(3).expect("taken back");
    drop(store);
    let (store, loaded) = Store::open(dir.path(), 9).expect("opens");
    same(&loaded, &before);
    assert!(store.revision(3).expect("reads").is_none());
}

fn key(name: &str) -> ChangeKey {
    ChangeKey { actor: "test".into(), key: name.into(), fingerprint: weir_gateway::resource::Sha256Hash::of(b"x") }
}

#[test]
fn keys_are_stored_with_their_revision_and_found_until_they_are_old() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut state = filled(dir.path(), 2, None);
    let (mut store, _) = Store::open(dir.path(), 8).expect("opens");
    let row = change(&mut state, "keyed");
    store.begin().expect("begins");
    store.add(&row).and_then(|()| store.remember(&key("lost"), 3, true, 1_000)).expect("added");
    store.abort();
    assert_eq!(store.known(&key("lost"), 1_000).expect("reads"), None);
    store.begin().expect("begins");
    store.add(&row).and_then(|()| store.remember(&key("made"), 3, true, 1_000)).expect("added");
    store.commit().expect("commits");
    store.remember(&key("nothing"), 3, false, 1_000).expect("stored");
    store.note_undone(3, 4, "[]").expect("noted");
    drop(store);
    let (mut store, _) = Store::open(dir.path(), 9).expect("opens");
    let known = |store: &Store, name: &str, now| {
        store.known(&key(name), now).expect("reads").map(|known| (known.revision, known.is_made, known.undone))
    };
    assert_eq!(known(&store, "made", 1_000), Some((3, true, Some((4, "[]".into())))));
    assert_eq!(known(&store, "nothing", 1_000), Some((3, false, None)));
    assert_eq!(store.known(&ChangeKey { actor: "other".into(), ..key("made") }, 1_000).expect("reads"), None);
    assert_eq!(known(&store, "made", 1_001 + KEPT_KEYS_MS), None, "it is too old");
    (0..KEPT_KEYS).for_each(|n| store.remember(&key(&n.to_string()), 3, false, 1_000).expect("stored"));
    assert_eq!(known(&store, "made", 1_000), None, "there are too many newer ones");
    store.take_back(3).expect("taken back");
    assert_eq!(known(&store, "5", 1_000), None);
}

#[test]
fn a_full_disk_refuses_the_group_and_nothing_else() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut state = filled(dir.path(), 2, None);
    let (mut store, _) = Store::open(dir.path(), 8).expect("opens");
    let pages: i64 = store.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).expect("a number");
    store.connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).expect("set");
    let mut row = change(&mut state, "large");
    let small = row.clone();
    row.changes = format!("[{}]", " ".repeat(100_000)).into();
    store.begin().expect("begins");
    let error = store.add(&row).and_then(|()| store.commit()).expect_err("there is no space");
    assert!(error.is_full() && !error.is_corrupt(), "{error:?}");
    store.abort();
    store.connection.query_row("PRAGMA max_page_count = 1000000", [], |_| Ok(())).expect("set");
    store_one(&mut store, &small);
    drop(store);
    same(&Store::open(dir.path(), 9).expect("opens").1, &state);
}

#[test]
fn a_corrupt_store_starts_from_what_lies_beside_it() {
    let wipe = |path: &Path| std::fs::write(path, vec![0x5a; 1 << 16]).expect("written");
    let cut = |path: &Path| {
        let file = std::fs::File::options().write(true).open(path).expect("opens");
        let length = file.metadata().expect("known").len();
        std::os::unix::fs::FileExt::write_all_at(&file, &[0xff; 512], length / 2).expect("written");
    };
    for (name, damage) in [("overwritten", &wipe as &dyn Fn(&Path)), ("damaged inside", &cut)] {
        for snapshot in [None, Some(3), Some(5)] {
            let dir = tempfile::tempdir().expect("a directory");
            let mut state = filled(dir.path(), 5, snapshot);
            let path = dir.path().join("store.sqlite");
            // The WAL is in the file when the last connection closes.
            damage(&path);
            let (mut store, loaded) = Store::open(dir.path(), 1234).expect("opens");
            if name == "damaged inside" && loaded.recovered.is_none() {
                // The damage lies where nothing is read: then nothing is lost.
                same(&loaded, &state);
                continue;
            }
            let said = loaded.recovered.as_deref().expect("it says so");
            assert!(said.contains("store.sqlite.corrupt-1234"), "{said}");
            assert!(dir.path().join("store.sqlite.corrupt-1234").exists());
            same(&loaded, &state);
            assert_eq!(store.epoch(), 1234, "a new history");
            // As the daemon does: a snapshot of what was recovered, then it goes on.
            let under_way = store.snapshot(state.revision(), 1, state.everything()).expect("begins");
            store.snapshot_finish(under_way).expect("ends");
            let row = change(&mut state, "after");
            store_one(&mut store, &row);
            drop(store);
            let (_, loaded) = Store::open(dir.path(), 1235).expect("opens");
            assert!(loaded.recovered.is_none(), "{name}: {:?}", loaded.recovered);
            same(&loaded, &state);
        }
    }
}

#[test]
fn two_cannot_have_it_and_only_the_owner_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a directory");
    let state = dir.path().join("state");
    let (store, _) = Store::open(&state, 7).expect("opens");
    let refused = || {
        let error = Store::open(&state, 8).expect_err("it is in use");
        assert!(error.to_string().contains(&format!("process {} on ", std::process::id())), "{error}");
    };
    refused();
    // Syncing must not release any lock.
    let flusher = Flusher::start(&store, Arc::default()).expect("starts");
    flusher.now().blocking_recv().expect("an answer").expect("syncs");
    refused();
    // Nor must another process that opens and closes the file, or another path to it.
    drop(std::fs::read(state.join("store.sqlite")).expect("readable"));
    std::os::unix::fs::symlink(&state, dir.path().join("other")).expect("made");
    assert!(matches!(Store::open(&dir.path().join("other"), 8), Err(StoreError::Busy { .. })));
    refused();
    let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&state), mode(store.path())), (0o700, 0o600));
    for entry in std::fs::read_dir(&state).expect("reads").flatten() {
        assert_eq!(mode(&entry.path()), 0o600, "{:?}", entry.path());
    }
}

#[test]
fn a_roll_back_needs_every_revision_since() {
    let dir = tempfile::tempdir().expect("a directory");
    filled(dir.path(), 5, None);
    let (store, _) = Store::open(dir.path(), 8).expect("opens");
    let inverse = store.inverse(3, 5).expect("reads").expect("kept");
    assert_eq!(inverse.keys().map(ToString::to_string).collect::<Vec<_>>(), ["/sites/s4", "/sites/s5"]);
    assert!(inverse.values().all(Option::is_none));
    store.connection.execute("DELETE FROM revisions WHERE revision <= 3", []).expect("deleted");
    assert!(store.inverse(3, 5).expect("reads").is_some());
    assert!(store.inverse(2, 5).expect("reads").is_none());
}

#[test]
fn old_revisions_go_a_few_at_a_time() {
    let dir = tempfile::tempdir().expect("a directory");
    filled(dir.path(), 5, None);
    let (mut store, _) = Store::open(dir.path(), 8).expect("opens");
    assert!(!store.prune(5 + KEPT_REVISIONS, 4).expect("prunes"), "no more than the snapshot has");
    assert_eq!(store.oldest().expect("reads"), Some(4));
    for n in 0..3 {
        store.audit(n, "unix:x", "PUT /sites/a", 422, "no").expect("noted");
    }
    assert_eq!(store.refused(2).expect("reads").len(), 2);
}

#[tokio::test]
async fn flushing_says_when_it_is_done() {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, _) = Store::open(dir.path(), 7).expect("opens");
    let flusher = Flusher::start(&store, Arc::default()).expect("starts");
    flusher.dirty();
    assert_eq!(flusher.now().await.expect("an answer"), Ok(()));
}

#[test]
fn what_a_power_cut_took_from_the_store_is_in_the_log_and_the_other_way_round() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut state = filled(dir.path(), 5, Some(3));
    let (mut store, _) = Store::open(dir.path(), 8).expect("opens");
    let row = change(&mut state, "keyed");
    store.begin().expect("begins");
    store.add(&row).and_then(|()| store.remember(&key("k"), 6, true, 8)).expect("added");
    store.commit().expect("commits");
    drop(store);
    // The newest revisions were only in the WAL, which is lost.
    let unclean = || {
        let connection = rusqlite::Connection::open(dir.path().join("store.sqlite")).expect("opens");
        connection.execute("DELETE FROM revisions WHERE revision > 3", []).expect("deleted");
        connection.execute("DELETE FROM keys", []).expect("deleted");
    };
    unclean();
    let (store, loaded) = Store::open(dir.path(), 8).expect("opens");
    same(&loaded, &state);
    assert_eq!((loaded.snapshot, store.epoch()), (3, 7), "it is the same history");
    assert!(store.revision(5).expect("reads").expect("there").changes.contains("s5.example"));
    assert_eq!(store.known(&key("k"), 9).expect("reads").map(|known| (known.revision, known.is_made)), Some((6, true)));
    drop(store);
    // The log is cut in the middle of a line.
    let log = dir.path().join("changes-3.log");
    let text = std::fs::read(&log).expect("readable");
    std::fs::write(&log, &text[..text.len() - 4]).expect("written");
    let (mut store, loaded) = Store::open(dir.path(), 8).expect("opens");
    same(&loaded, &state);
    store.end();
    drop(store);
    // After a clean end nothing is compared, and nothing lost.
    same(&Store::open(dir.path(), 8).expect("opens").1, &state);
}

#[test]
fn a_mark_stays() {
    let dir = tempfile::tempdir().expect("a directory");
    let (mut store, _) = Store::open(dir.path(), 7).expect("opens");
    assert!(!store.is_marked("said").expect("is read"));
    store.mark("said").expect("is set");
    drop(store);
    let (store, _) = Store::open(dir.path(), 8).expect("opens");
    assert!(store.is_marked("said").expect("is read") && !store.is_marked("other").expect("is read"));
}
