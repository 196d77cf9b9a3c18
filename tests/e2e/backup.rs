//! Backups of a gateway that is in use, restored in it and elsewhere.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use weir_tests::{Control, Gateway, Setup};

fn weir(runtime: &std::path::Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(weir_tests::gateway::weir());
    command.arg("--runtime").arg(runtime).args(arguments).output().expect("weir starts")
}

fn good(output: Output) -> String {
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn a_gateway_in_use_is_backed_up_and_restored_there_and_elsewhere() {
    let setup = Setup::gateway().workers(2);
    let (run, file) = (setup.prefix().join("run"), setup.prefix().join("words.txt"));
    let backup = setup.prefix().join("weir.tar").to_string_lossy().into_owned();
    std::fs::write(&file, "evil\n").expect("writable");
    let when = "http.request.uri.args[\"q\"][0] in $words";
    let gateway = Gateway::start_with(
        setup,
        &[
            ("lists/words", json!({"kind": "strings", "file": file, "refresh": "manual"})),
            ("policies/waf", json!({"rules": [{"id": "word", "when": when, "action": "block"}]})),
            ("sites/all", json!({"hosts": ["*"], "policies": ["waf"]})),
            ("routes/all", json!({"site": "all", "path": "/", "respond": {"status": 200, "body": "ok"}})),
        ],
    );
    let api = gateway.api();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 1.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let _ = api.patch("routes/all", &json!({"priority": n % 1_000})).expect(200);
            }
        });
        for _ in 0..10 {
            let said = good(weir(&run, &["backup", &backup]));
            assert!(said.contains("revision "), "{said}");
        }
        stop.store(true, Ordering::Relaxed);
    });
    // What came afterwards goes; what was there is there again, with the contents of files.
    std::fs::write(&file, "other\n").expect("writable");
    let _ = api.post("transactions", &json!({"changes": [], "refresh": true})).expect(200);
    let _ = api.put("sites/late", &json!({"hosts": ["late.test"]})).expect(201);
    let status = |word: &str| gateway.nginx.get(&format!("/?q={word}")).status;
    assert_eq!((status("evil"), status("other")), (200, 403));
    good(weir(&run, &["restore", &backup, "--dry-run"]));
    assert_eq!((status("evil"), status("other")), (200, 403));
    let said = good(weir(&run, &["restore", &backup]));
    assert!(said.contains("live in 2 workers"), "{said}");
    assert_eq!((status("evil"), status("other")), (403, 200));
    let _ = api.get("sites/late").expect(404);
    let said = good(weir(&run, &["restore", &backup]));
    assert!(said.contains("nothing to change"), "{said}");
    // Another machine: an empty directory, with the history.
    let elsewhere = tempfile::tempdir().expect("a directory");
    let (state, other_run) = (elsewhere.path().join("state"), elsewhere.path().join("run"));
    good(weir(&other_run, &["restore", &backup, "--state", &state.to_string_lossy()]));
    let control = Control::start(&state, &other_run);
    let restored = control.api.get("state").expect(200).body;
    assert_eq!(restored, api.get("state").expect(200).body);
    let first = control.api.get("revisions/1").expect(200).body;
    assert_eq!(first, api.get("revisions/1").expect(200).body);
    // A damaged one changes nothing.
    let mut bytes = std::fs::read(&backup).expect("it is there");
    let place = bytes.windows(5).position(|window| window == b"evil\n").expect("the content");
    bytes[place] ^= 1;
    std::fs::write(&backup, bytes).expect("writable");
    let revision = api.get("workers").body["revision"].clone();
    let output = weir(&run, &["restore", &backup]);
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("damaged"));
    assert_eq!(api.get("workers").body["revision"], revision);
}

#[test]
fn a_full_disk_refuses_contents_and_backups_and_loses_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    let control = Control::start_on_small_disk(&at("state"), &at("run"), 6 << 10);
    let list = |bytes: usize| {
        let line = |n: usize| format!("{n:063}\n");
        std::fs::write(at("words.txt"), (0..bytes / 64).map(line).collect::<String>()).expect("writable");
        control.api.put("lists/words", &json!({"kind": "strings", "file": at("words.txt"), "refresh": "manual"}))
    };
    let _ = list(2 << 20).expect(201);
    let revision = control.api.get("workers").body["revision"].clone();
    let full = list(16 << 20);
    assert_eq!(full.status, 507, "{:#}", full.body);
    let backup = at("weir.tar").to_string_lossy().into_owned();
    std::fs::write(&backup, "the last one").expect("writable");
    // Whatever is left on the disk, taken by changes.
    let mut filler = 0;
    while control.api.put(&format!("lists/l{filler}"), &json!({"strings": vec!["x".repeat(8_000); 40]})).status == 201 {
        filler += 1;
        assert!(filler < 100, "the disk never fills");
    }
    let output = weir(&at("run"), &["backup", &backup]);
    assert!(!output.status.success(), "{output:?}");
    assert_eq!(std::fs::read_to_string(&backup).expect("it is there"), "the last one");
    assert!(!at("weir.tar.new").exists());
    assert!(control.api.get("workers").body["revision"].as_u64() > revision.as_u64());
    let leftovers =
        std::fs::read_dir(format!("/proc/{}/root{}", control.pid(), at("state").display())).expect("readable");
    let names: Vec<_> = leftovers.flatten().map(|entry| entry.file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().starts_with(".backup")), "{names:?}");
}
