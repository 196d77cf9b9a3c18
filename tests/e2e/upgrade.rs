//! Binary upgrades with `SIGUSR2` while nginx and control differ in the format of the journal: whoever cannot read it
//! keeps serving what it has, and no request meets a gateway without a configuration.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use weir_tests::gateway::weir;
use weir_tests::setup::module;
use weir_tests::wait::until;
use weir_tests::{Control, Setup};

/// What stands before the number of a build's format.
const MARKER: &[u8] = b"weir journal format ";

/// Where the format's number stands in a build.
fn place_of_format(bytes: &[u8], build: &Path) -> std::ops::Range<usize> {
    let mut places = bytes.windows(MARKER.len()).enumerate().filter(|(_, window)| *window == MARKER);
    let (Some((place, _)), None) = (places.next(), places.next()) else {
        panic!("the marker does not stand once in {}", build.display())
    };
    place + MARKER.len()..place + MARKER.len() + 4
}

/// A copy of a build that writes and reads another format of the journal.
fn of_another_format(build: &Path, dir: &Path) -> PathBuf {
    let mut bytes = std::fs::read(build).expect("is built");
    let place = place_of_format(&bytes, build);
    bytes[place].copy_from_slice(b"0977");
    let copy = dir.join(build.file_name().expect("is a file"));
    std::fs::write(&copy, bytes).expect("the directory is writable");
    let mode = std::fs::metadata(build).expect("is built").permissions();
    std::fs::set_permissions(&copy, mode).expect("is ours");
    copy
}

/// Makes the route answer with `body`; gives the workers that have acknowledged.
fn put(control: &Control, body: &str) -> Vec<Value> {
    let route = json!({"site": "all", "path": "/", "respond": {"status": 200, "body": body}});
    let answer = control.api.put_all(&[("sites/all", json!({"hosts": ["*"]})), ("routes/r", route)]).expect(200);
    answer.body["workers"].as_array().expect("is a list").clone()
}

/// Upgrades from one pair of builds to the other, nginx and control at different times.
fn upgrade(from: [&Path; 2], to: [&Path; 2], formats: [u32; 2]) {
    let [module, weir] = from;
    let mut setup = Setup::gateway().workers(1);
    setup.set_module(module);
    let (state, run) = (setup.prefix().join("state"), setup.prefix().join("run"));
    let mut control = Control::start_build(weir, &state, &run);
    assert_eq!(put(&control, "one"), [] as [Value; 0]);
    let mut nginx = setup.start_daemon();
    assert_eq!(nginx.get("/").text(), "one");
    assert_eq!(put(&control, "two").len(), 1);

    // nginx too early: the new one does not begin, and the old one serves on.
    nginx.set_module(to[0]);
    let unreadable =
        format!("the journal is in format {} and this build of Weir reads format {}", formats[0], formats[1]);
    nginx.upgrade_refused(&unreadable);
    assert_eq!(nginx.get("/").text(), "two");
    assert_eq!(put(&control, "three").len(), 1);
    nginx.set_module(from[0]);

    // Control first: workers keep what they serve and say so once, and no change waits for them.
    control.replace(to[1]);
    assert_eq!(put(&control, "four"), [] as [Value; 0]);
    assert_eq!(put(&control, "five"), [] as [Value; 0]);
    let report = control.api.get("workers").expect(200).body["workers"][0].clone();
    assert_eq!(report["journal_format"], formats[0], "{report}");
    assert_eq!(nginx.get("/").text(), "three");
    let said = format!("the journal is in format {} and this build of Weir reads format {}", formats[1], formats[0]);
    let times = || nginx.error_log().matches(&said).count();
    until("the worker to say so", || (times() > 0).then_some(()));
    assert_eq!(times(), 1, "{}", nginx.error_log());
    // A worker that has to start now begins with what its predecessor served.
    nginx.kill_workers();
    assert_eq!(nginx.get("/").text(), "three");

    nginx.set_module(to[0]);
    nginx.upgrade();
    assert_eq!(nginx.get("/").text(), "five");
    assert_eq!(put(&control, "six").len(), 1);
    assert_eq!(nginx.get("/").text(), "six");
    assert!(control.log().contains("keep serving what they have"), "{}", control.log());
}

#[test]
fn an_upgrade_and_its_reversal_lose_no_configuration() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (module, weir) = (module(), weir());
    let others = [&module, &weir].map(|build| of_another_format(build, dir.path()));
    let (now, other) = ([&*module, &*weir], [&*others[0], &*others[1]]);
    let bytes = std::fs::read(&module).expect("is built");
    let digits = &bytes[place_of_format(&bytes, &module)];
    let format = std::str::from_utf8(digits).expect("digits").parse().expect("digits");
    upgrade(now, other, [format, 977]);
    upgrade(other, now, [977, format]);
}
