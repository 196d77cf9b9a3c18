use std::collections::HashMap;

use weir_resource::ResourceKind;

use super::*;
use crate::state::{Action, Edit, Refusal, State, Target};

/// Files and contents in memory.
#[derive(Default)]
struct Memory {
    files: HashMap<PathBuf, String>,
    kept: HashMap<Sha256Hash, String>,
}

impl Memory {
    fn write(&mut self, path: &str, text: &str) {
        self.files.insert(path.into(), text.to_owned());
        self.kept.insert(Sha256Hash::of(text.as_bytes()), text.to_owned());
    }
}

impl Contents for Memory {
    fn file(&self, (path, _): &FileOf) -> Option<Result<Sha256Hash, String>> {
        self.files.get(path).map(|text| Ok(Sha256Hash::of(text.as_bytes())))
    }

    fn text(&self, hash: Sha256Hash) -> Option<String> {
        self.kept.get(&hash).cloned()
    }

    fn private_key(&self, _: Sha256Hash) -> Option<String> {
        None
    }
}

fn pair(name: &str) -> (String, String) {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).expect("a name");
    (made.cert.pem(), made.signing_key.serialize_pem())
}

fn edit(id: &str, action: Action) -> Edit {
    Edit::new(Target::Resource(Key::new(ResourceKind::Certificates, id), Vec::new()), action)
}

fn put(id: &str, document: Value) -> Edit {
    edit(id, Action::Put(document))
}

fn shown(state: &State, id: &str) -> Value {
    serde_json::from_str(&state.shown(ResourceKind::Certificates, id).expect("it is there")).expect("JSON")
}

fn in_files() -> Value {
    json!({"certificate": {"file": "/c"}, "key": {"file": "/k"}})
}

fn faults(refusal: Refusal) -> Vec<(String, String)> {
    match refusal {
        Refusal::Invalid(faults) => faults.into_iter().map(|fault| (fault.pointer, fault.message)).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn files_are_read_first_and_their_contents_reach_workers_and_nobody_else() {
    let (mut state, mut memory) = (State::default(), Memory::default());
    let Err(Refusal::Unread(files)) = state.apply_with(1, &[put("a", in_files())], &memory) else { panic!() };
    assert_eq!(files, BTreeSet::from([("/c".into(), Purpose::Chain), ("/k".into(), Purpose::Key)]));
    let (old, new) = (pair("a.test"), pair("a.test"));
    memory.write("/c", &old.0);
    memory.write("/k", &old.1);
    let first = state.apply_with(1, &[put("a", in_files())], &memory).expect("they fit");
    let frame = String::from_utf8(first.frames().concat()).expect("JSON");
    assert!(frame.contains(&json!(old.0).to_string()) && frame.contains(&json!(old.1).to_string()), "{frame}");
    let document = shown(&state, "a");
    assert_eq!(document["captured"]["key"], json!(Sha256Hash::of(old.1.as_bytes())));
    assert!(!document.to_string().contains("-----"), "{document}");
    // What is shown can be put again, and changes nothing.
    assert!(state.apply_with(2, &[put("a", document.clone())], &memory).expect("as it is").deltas.is_empty());
    // Half of a renewal is refused, and the whole of it is a change.
    memory.write("/c", &new.0);
    let again = edit("a", Action::Patch(json!({})));
    let refused = state.apply_with(2, [&again], &memory).map(|_| ()).map_err(faults).expect_err("they do not fit");
    assert_eq!(refused, [("/certificates/a/key".to_owned(), "the key is not the certificate's".to_owned())]);
    memory.write("/k", &new.1);
    let renewed = state.apply_with(2, [&again], &memory).expect("they fit");
    assert_eq!(renewed.deltas.len(), 1);
    let back = renewed.deltas[0].old.as_ref().map(|held| Box::from(&*held.document.text));
    state.apply_with(3, &[edit("a", Action::Restore(back.clone()))], &memory).expect("a rollback");
    assert_eq!(shown(&state, "a"), document);
    // Not without the content.
    memory.kept.remove(&Sha256Hash::of(new.0.as_bytes()));
    let forward = renewed.deltas[0].new.as_ref().map(|held| Box::from(&*held.document.text));
    let refused = state.apply_with(4, &[edit("a", Action::Restore(forward))], &memory).map(|_| ()).map_err(faults);
    assert!(refused.as_ref().is_err_and(|faults| faults[0].1.contains("/c had then")), "{refused:?}");
}

#[test]
fn a_lost_content_leaves_its_certificate_out_and_nothing_else() {
    let key = Key::new(ResourceKind::Certificates, "a");
    let hash = Sha256Hash::of(b"lost");
    let mut text = in_files();
    text["captured"] = json!({"certificate": hash, "key": hash});
    let text = text.to_string();
    let mut state = State::restore(7, [(&key, (text.as_str(), 7))], &()).expect("it was good once");
    assert_eq!((state.base().count(), state.count(ResourceKind::Certificates)), (0, 1));
    let gone = state.apply_with(8, &[edit("a", Action::Delete)], &()).expect("nobody needs it");
    assert!(gone.frames().is_empty(), "workers do not have it");
}

#[test]
fn a_key_is_found_by_its_hash_wherever_the_gateway_has_it() {
    let (mut state, memory) = (State::default(), Memory::default());
    let (one, other) = (pair("a.test"), pair("b.test"));
    state.apply(1, &[put("a", json!({"certificate": one.0, "key": one.1}))]).expect("good");
    let by_hash = |key: &str| json!({"certificate": one.0, "key": {"sha256": key_hash(key)}});
    let same = state.apply_with(2, &[put("a", by_hash(&one.1))], &memory).expect("its own");
    assert!(same.deltas.is_empty());
    state.apply_with(2, &[put("b", by_hash(&one.1))], &memory).expect("that of another one");
    let edits = [edit("a", Action::Delete), edit("b", Action::Delete), put("c", by_hash(&one.1))];
    state.apply_with(3, &edits, &memory).expect("that of one that goes");
    assert_eq!(shown(&state, "c"), by_hash(&one.1));
    let refused = state.apply_with(4, &[put("c", by_hash(&other.1))], &memory).map(|_| ()).map_err(faults);
    let refused = refused.expect_err("nobody has it");
    assert_eq!(refused[0].0, "/certificates/c/key/sha256");
    assert!(refused[0].1.contains(&key_hash(&other.1)), "{refused:?}");
}
