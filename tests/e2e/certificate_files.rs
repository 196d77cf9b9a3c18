//! Certificates in files: captured with a revision, renewed as certbot does it, and keys that nobody sees.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use weir_tests::wait::until;
use weir_tests::{Api, Gateway, Setup};

use crate::gateway_tls::{certificate, shown};

const NAME: &str = "shop.test";

/// A directory as certbot keeps it, and the name that its certificates are for.
struct Certbot(PathBuf, &'static str);

impl Certbot {
    /// With a first certificate.
    fn new(directory: PathBuf, name: &'static str, subject: &str) -> Self {
        let this = Self(directory, name);
        for folder in ["live", "archive"] {
            std::fs::create_dir_all(this.0.join(folder)).expect("the prefix is writable");
        }
        this.obtain(1, subject);
        ["fullchain", "privkey"].iter().for_each(|name| this.exchange(name, 1));
        this
    }

    fn live(&self, name: &str) -> PathBuf {
        self.0.join("live").join(format!("{name}.pem"))
    }

    /// Writes another pair into the archive.
    fn obtain(&self, number: u32, subject: &str) {
        let pair = certificate(&self.0, subject, &[self.1]);
        for (name, text) in [("fullchain", &pair.0), ("privkey", &pair.1)] {
            std::fs::write(self.0.join(format!("archive/{name}{number}.pem")), text).expect("writable");
        }
        for extension in ["crt", "key"] {
            std::fs::remove_file(self.0.join(format!("{subject}.{extension}"))).expect("openssl wrote it");
        }
    }

    /// Makes a link lead to another file of the archive.
    fn exchange(&self, name: &str, number: u32) {
        let new = self.0.join("live/new");
        symlink(format!("../archive/{name}{number}.pem"), &new).expect("writable");
        std::fs::rename(new, self.live(name)).expect("writable");
    }

    fn document(&self) -> Value {
        json!({"certificate": {"file": self.live("fullchain")}, "key": {"file": self.live("privkey")}})
    }
}

fn start() -> (Gateway, Certbot) {
    let setup = Setup::gateway().listen("ssl").workers(2);
    let certbot = Certbot::new(setup.prefix().join("letsencrypt"), NAME, "one");
    let documents = [
        ("certificates/shop", certbot.document()),
        ("sites/shop", json!({"hosts": [NAME], "tls": {"certificate": "shop"}})),
        ("routes/shop", json!({"site": "shop", "path": "/", "respond": {"status": 200, "body": "ok"}})),
    ];
    (Gateway::start_with(setup, &documents), certbot)
}

fn stale(api: &Api) -> Value {
    api.get("workers").expect(200).body["stale"].clone()
}

fn newest(api: &Api) -> u64 {
    api.get("workers").expect(200).body["revision"].as_u64().expect("a number")
}

/// Ends the handshakes also when the test fails.
struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_renewal_is_taken_when_both_files_are_there_and_every_handshake_gets_a_whole_pair() {
    let (gateway, certbot) = start();
    let (api, port) = (gateway.api(), gateway.nginx.port);
    let subject = || shown(port, NAME, &[]);
    assert_eq!(subject().as_deref(), Ok("one"));
    let other = Certbot::new(gateway.nginx.path("other"), "other.test", "another");
    let _ = api.put("certificates/other", &other.document()).expect(201);
    let before = newest(api);
    let (stop, seen) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        let _guard = Stop(&stop);
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let subject = shown(port, NAME, &[]);
                    seen.lock().expect("nobody panics with it").push(subject);
                }
            });
        }
        certbot.obtain(2, "two");
        other.obtain(2, "again");
        certbot.exchange("privkey", 2);
        ["privkey", "fullchain"].iter().for_each(|name| other.exchange(name, 2));
        until("the pair to be found not to fit", || {
            stale(api)["/certificates/shop"].as_str()?.contains("not the certificate's").then_some(())
        });
        // The other one is not held up by it.
        until("the other renewal", || (shown(port, "other.test", &[]).as_deref() == Ok("again")).then_some(()));
        assert_eq!((subject().as_deref(), newest(api)), (Ok("one"), before + 1));
        certbot.exchange("fullchain", 2);
        until("the renewal", || (subject().as_deref() == Ok("two")).then_some(()));
        until("the complaint to end", || stale(api).is_null().then_some(()));
    });
    let seen = seen.into_inner().expect("nobody panicked");
    assert!(seen.iter().all(|subject| matches!(subject.as_deref(), Ok("one" | "two"))), "{seen:?}");
    assert!(seen.len() > 20, "{} handshakes", seen.len());
    let last = api.get("revisions?limit=1").body["revisions"][0].clone();
    assert_eq!((last["revision"].as_u64(), &last["actor"]), (Some(before + 2), &json!("weir")), "{last}");
    assert_eq!(last["changed"], json!(["/certificates/shop"]));
    // A rollback brings the earlier pair back, and the files do not undo it.
    let _ = api.post(&format!("revisions/{before}/rollback"), &json!({})).expect(200);
    assert_eq!(subject().as_deref(), Ok("one"));
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(subject().as_deref(), Ok("one"));
    let again = json!({"changes": [], "refresh": ["/certificates/shop"]});
    let _ = api.post("transactions", &again).expect(200);
    assert_eq!(subject().as_deref(), Ok("two"), "until somebody asks for them");
}

#[test]
fn a_certificate_stays_whatever_becomes_of_its_files() {
    let (mut gateway, certbot) = start();
    let port = gateway.nginx.port;
    let check = |when: &str| assert_eq!(shown(port, NAME, &[]).as_deref(), Ok("one"), "{when}");
    std::fs::remove_dir_all(&certbot.0).expect("it is there");
    gateway.nginx.reload();
    check("after a reload");
    gateway.nginx.kill_worker();
    check("with a new worker");
    gateway.control.kill();
    gateway.control.respawn();
    gateway.control.wait();
    gateway.nginx.reload();
    gateway.nginx.kill_worker();
    check("with another control");
    // A change elsewhere does not need the files; one of the certificate does.
    let revision = gateway.api().patch("routes/shop", &json!({"priority": 7})).expect(200).revision();
    let refused = gateway.api().put("certificates/shop", &certbot.document()).expect(422);
    assert_eq!(refused.errors()[0].0, "/certificates/shop/certificate/file", "{:#}", refused.body);
    assert_eq!(newest(gateway.api()), revision);
    check("after a refused change");
}

/// Every file below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("it is there").flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_private_key_in_a_file_is_for_control_only() {
    let (gateway, certbot) = start();
    let api = gateway.api();
    let key = std::fs::read_to_string(certbot.live("privkey")).expect("it is there");
    let secret = key.lines().nth(1).expect("base64");
    for path in ["certificates/shop", "state", "files", "revisions/1/diff", "certificates"] {
        let answer = api.get(path).expect(200).body.to_string();
        assert!(!answer.contains(secret) && !answer.contains("PRIVATE KEY"), "{path}: {answer}");
    }
    let has_key = |path: &PathBuf| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).contains(secret);
    let kept: Vec<PathBuf> = files(gateway.control.state()).into_iter().filter(has_key).collect();
    assert!(matches!(kept.as_slice(), [path] if path.parent().is_some_and(|dir| dir.ends_with("objects"))), "{kept:?}");
    let mode = |dir: &Path| std::fs::metadata(dir).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(gateway.control.state()), mode(kept[0].parent().expect("objects"))), (0o700, 0o700));
    let published = files(&gateway.nginx.path("run/objects"));
    assert_eq!(published.iter().filter(|path| has_key(path)).count(), 0);
    // Neither another kind nor an error shows what is in it, or in another file.
    let other = certbot.0.join("password.txt");
    std::fs::write(&other, "hunter2\n").expect("writable");
    let privkey = certbot.live("privkey");
    for (path, document, expected) in [
        ("lists/l", json!({"kind": "strings", "file": privkey}), "a private key in it"),
        ("rule_sets/r", json!({"files": [privkey]}), "privkey.pem"),
        ("settings", json!({"geo": {"country": privkey}}), "a private key in it"),
        ("certificates/c", json!({"certificate": {"file": privkey}, "key": {"file": privkey}}), "a private key in it"),
        ("certificates/c", json!({"certificate": {"file": other}, "key": {"file": other}}), "not PEM"),
        ("certificates/c", json!({"certificate": {"file": "/etc/passwd"}, "key": "x"}), "not below a directory"),
        ("certificates/c", json!({"certificate": {"file": "live/x.pem"}, "key": {"file": privkey}}), "not absolute"),
    ] {
        let refused = api.put(path, &document).expect(422).body.to_string();
        assert!(refused.contains(expected), "{path}: {refused}");
        assert!(!refused.contains(secret) && !refused.contains("hunter2"), "{refused}");
    }
    assert_eq!(std::fs::metadata(&kept[0]).expect("it is there").permissions().mode() & 0o777, 0o600);
    let log = gateway.control.log();
    assert!(!log.contains(secret) && !log.contains("PRIVATE KEY"), "{log}");
}
