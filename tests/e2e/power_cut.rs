//! Power cuts and copies of a state directory in use: control starts from them with everything that was acknowledged as
//! durable.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use weir_tests::Control;
use weir_tests::nginx::kill;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the directory is ours");
    for entry in std::fs::read_dir(from).expect("it is there") {
        let entry = entry.expect("it can be read");
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        // What goes away meanwhile is not in the copy.
        if source.is_dir() {
            copy(&source, &target);
        } else {
            let _ = std::fs::copy(&source, &target);
        }
    }
}

/// Ends the writer also when the test fails.
struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// `WEIR_CUTS=200` takes as many copies; a few by default. Every other one is of a process that stands still, as a power
/// cut leaves it; the others are made while it writes.
#[test]
fn a_copy_of_the_state_at_any_moment_has_what_was_acknowledged_as_durable() {
    let cuts: u64 = std::env::var("WEIR_CUTS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let directory = tempfile::tempdir().expect("a directory");
    let (state, run) = (directory.path().join("state"), directory.path().join("run"));
    let control = Control::start(&state, &run);
    let file = directory.path().join("words.txt");
    // What each revision has, by its number.
    let model: Mutex<BTreeMap<u64, u64>> = Mutex::default();
    let (stop, acknowledged) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut promised = Vec::new();
    std::thread::scope(|scope| {
        let _guard = Stop(&stop);
        scope.spawn(|| {
            let padding = "x".repeat(4_000);
            for n in 1u64.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                // A file, which becomes an object, now and then.
                std::fs::write(&file, format!("word{}\n", n / 8)).expect("writable");
                let changes = json!({"changes": [
                    {"method": "PUT", "path": "/sites/s", "body": {"hosts": [format!("n{n}.test")]}},
                    {"method": "PUT", "path": "/lists/pad", "body": {"strings": [padding, n.to_string()]}},
                    {"method": "PUT", "path": "/lists/words", "body": {"kind": "strings", "file": file}},
                ]});
                let answer = control.api.call("POST", "/api/v1/transactions?durable=true", Some(&changes)).expect(200);
                model.lock().expect("no panic").insert(answer.revision(), n);
                acknowledged.store(answer.revision(), Ordering::SeqCst);
            }
        });
        for cut in 0..cuts {
            std::thread::sleep(Duration::from_micros(5_000 + cut * 7_919 % 61_000));
            let stands_still = cut % 2 == 0;
            if stands_still {
                kill(control.pid(), libc::SIGSTOP);
            }
            promised.push(acknowledged.load(Ordering::SeqCst));
            copy(&state, &directory.path().join(format!("cut{cut}")));
            if stands_still {
                kill(control.pid(), libc::SIGCONT);
            }
        }
    });
    let model = model.into_inner().expect("no panic");
    let mut more = 0;
    for (cut, promised) in promised.into_iter().enumerate() {
        let at = |name: &str| directory.path().join(format!("{name}{cut}"));
        let control = Control::start(&at("cut"), &at("run"));
        let workers = control.api.get("workers").expect(200).body;
        let revision = workers["revision"].as_u64().expect("a number");
        assert!(revision >= promised, "cut {cut}: {revision} is older than {promised}\n{}", control.log());
        more += revision - promised;
        let Some(n) = model.get(&revision) else { continue };
        let state = control.api.get("state").expect(200).body;
        assert_eq!(state["sites"]["s"]["hosts"][0], format!("n{n}.test"), "cut {cut}");
        assert_eq!(state["lists"]["pad"]["strings"][1], n.to_string(), "cut {cut}");
        let hash = control.api.get(&format!("files{}", file.display())).expect(200).body["sha256"].clone();
        let object = at("cut").join("objects").join(hash.as_str().expect("a hash"));
        match std::fs::read_to_string(object) {
            Ok(content) => assert_eq!(content, format!("word{}\n", n / 8), "cut {cut}"),
            // A copy that takes a while may have the store of a later moment than the objects: control says so.
            Err(_) => assert!(cut % 2 == 1 && control.log().contains("is missing or damaged"), "cut {cut}"),
        }
    }
    println!("{cuts} cuts within {} revisions; {more} revisions more than promised", model.len());
    assert!(model.len() as u64 > cuts / 4, "changes were made meanwhile");
}
