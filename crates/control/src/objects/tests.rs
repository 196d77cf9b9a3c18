use std::os::unix::fs::symlink;

use super::*;

struct Place {
    dir: tempfile::TempDir,
    objects: Objects,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["state", "run", "in", "out"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let objects = Self::open(&dir);
        Self { dir, objects }
    }

    fn open(dir: &tempfile::TempDir) -> Objects {
        let at = |name| dir.path().join(name);
        Objects::open(&at("state"), &at("run"), &[at("in")]).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    fn names(&self, dir: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(dir)).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn a_file_is_kept_published_and_read_as_it_was() {
    let place = Place::new();
    let path = place.write("in/a.txt", b"one\n");
    let file = place.objects.capture(&path, 100).unwrap();
    assert_eq!((file.size, file.sha256), (4, Sha256Hash::of(b"one\n")));
    fs::remove_file(&path).unwrap();
    assert_eq!(place.objects.read(&file).unwrap(), b"one\n");
    place.objects.publish([&file]).unwrap();
    place.objects.publish([&file]).unwrap();
    assert_eq!(place.names("run/objects"), [file.sha256.to_string()]);
    let mode = |name: &str| fs::metadata(place.path(name)).unwrap().mode() & 0o777;
    assert_eq!((mode("state/objects"), mode("run/objects")), (0o700, 0o711));
    assert_eq!(mode(&format!("run/objects/{}", file.sha256)) & !0o444, 0);
    let _ = place.objects.keep_only(&HashSet::from([file.sha256]), &HashSet::new());
    assert_eq!((place.names("state/objects").len(), place.names("run/objects").len()), (1, 0));
}

#[test]
fn folders_are_listed_with_what_is_in_them() {
    let place = Place::new();
    place.write("in/b.conf", b"");
    place.write("in/a.conf", b"");
    fs::create_dir(place.path("in/sub")).unwrap();
    symlink("nowhere", place.path("in/broken")).unwrap();
    let file = place.objects.capture(&place.path("in/"), 1).unwrap();
    assert_eq!(place.objects.read(&file).unwrap(), b"a.conf\nb.conf\nsub/\n");
}

#[test]
fn what_is_not_a_file_in_an_allowed_place_is_refused() {
    let place = Place::new();
    place.write("out/secret", b"x");
    symlink(place.path("out/secret"), place.path("in/link")).unwrap();
    place.write("in/large", &[b'x'; 200]);
    let fifo = std::ffi::CString::new(place.path("in/fifo").to_str().unwrap()).unwrap();
    // SAFETY: a C string that lives over the call.
    assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
    fs::create_dir(place.path("in/folder")).unwrap();
    for (name, expected) in [
        ("in/link", "not below a directory"),
        ("out/secret", "not below a directory"),
        ("in/../out/secret", "not below a directory"),
        ("in/large", "larger than 100 bytes"),
        ("in/fifo", "not a regular file"),
        ("in/folder", "not a regular file"),
        ("in/none", "No such file"),
        ("out/", "not below a directory"),
    ] {
        let error = place.objects.capture(&place.path(name), 100).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
    assert!(place.objects.capture(Path::new("in/large"), 1_000).is_err(), "relative");
    assert_eq!(place.names("state/objects"), [""; 0]);
}

#[test]
fn an_unchanged_file_is_not_read_again() {
    let place = Place::new();
    let path = place.write("in/a.txt", b"one\n");
    let old = SystemTime::now() - Duration::from_secs(60);
    File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    let file = place.objects.capture(&path, 100).unwrap();
    // The same object stands for it, however often: only reading would find that the content is another one.
    let mut seen = place.objects.seen.lock().unwrap();
    seen.get_mut(&(path.clone(), Purpose::Data)).unwrap().1.path = "from memory".into();
    drop(seen);
    assert_eq!(place.objects.capture(&path, 100).unwrap().path, "from memory");
    fs::remove_file(place.path(&format!("state/objects/{}", file.sha256))).unwrap();
    assert_ne!(place.objects.capture(&path, 100).unwrap().path, "from memory", "the object is gone");
    place.write("in/a.txt", b"two\n");
    let fresh = place.objects.capture(&path, 100).unwrap();
    assert_eq!(place.objects.read(&fresh).unwrap(), b"two\n");
    place.write("in/a.txt", b"six\n");
    let fresh = place.objects.capture(&path, 100).unwrap();
    assert_eq!(place.objects.read(&fresh).unwrap(), b"six\n", "within the tick of a clock");
}

#[test]
fn a_file_that_changes_while_it_is_read_is_never_half_of_two() {
    let place = Place::new();
    let path = place.write("in/a.txt", &[b'a'; 300_000]);
    std::thread::scope(|scope| {
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (writer, stopped) = (path.clone(), stop.clone());
        scope.spawn(move || {
            let mut byte = b'b';
            while !stopped.load(Ordering::Relaxed) {
                fs::write(&writer, vec![byte; 300_000]).unwrap();
                byte = if byte == b'z' { b'a' } else { byte + 1 };
            }
        });
        let mut good = 0;
        for _ in 0..200 {
            match place.objects.capture(&path, 1_000_000) {
                Ok(file) => {
                    let content = place.objects.read(&file).unwrap();
                    good += 1;
                    assert!(content.iter().all(|byte| *byte == content[0]), "a mixture");
                }
                Err(error) => assert!(error.to_string().contains("changes while"), "{error}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
        println!("{good} of 200 were read whole");
    });
}

#[test]
fn a_damaged_object_is_taken_again_from_its_source_or_named() {
    let place = Place::new();
    let path = place.write("in/a.txt", b"one\n");
    let file = place.objects.capture(&path, 100).unwrap();
    place.objects.publish([&file]).unwrap();
    let object = place.path(&format!("state/objects/{}", file.sha256));
    let damage = || {
        fs::remove_file(&object).unwrap();
        fs::write(&object, b"onX\n").unwrap();
        let public = place.path(&format!("run/objects/{}", file.sha256));
        let _ = fs::remove_file(&public);
        fs::write(public, b"onX\n").unwrap();
    };
    assert!(place.objects.verify([&file]).is_empty());
    damage();
    assert!(place.objects.read(&file).unwrap_err().to_string().contains("damaged"));
    assert!(place.objects.verify([&file]).is_empty());
    assert_eq!(place.objects.read(&file).unwrap(), b"one\n");
    place.objects.publish([&file]).unwrap();
    // Only the kept one is damaged, and the source is another file now.
    place.write("in/a.txt", b"two\n");
    fs::remove_file(&object).unwrap();
    assert!(place.objects.verify([&file]).is_empty());
    assert_eq!(place.objects.read(&file).unwrap(), b"one\n");
    damage();
    let lost = place.objects.verify([&file]);
    assert!(lost.len() == 1 && lost[0].contains("a.txt"), "{lost:?}");
    assert!(!place.objects.has(&file) && place.names("run/objects").is_empty());
}

#[test]
fn leftovers_of_a_killed_process_go() {
    let place = Place::new();
    fs::write(place.path("state/objects/.new-1-1"), "x").unwrap();
    Place::open(&place.dir);
    assert_eq!(place.names("state/objects"), [""; 0]);
}

#[test]
fn private_keys_are_objects_that_only_control_reads() {
    let place = Place::new();
    let made = rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]).unwrap();
    let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    place.write("in/chain.pem", chain.as_bytes());
    let path = place.write("in/key.pem", key.as_bytes());
    for refused in [place.objects.capture(&path, 10_000), place.objects.capture_pem(Purpose::Chain, &path)] {
        let said = refused.unwrap_err().to_string();
        assert!(said.contains("a private key in it") && !said.contains(&key[40..60]), "{said}");
    }
    assert_eq!(place.names("state/objects"), [""; 0], "nothing is left");
    let file = place.objects.capture_pem(Purpose::Key, &path).unwrap();
    assert!(place.objects.capture(&path, 10_000).is_err(), "what is known of it as a key is not known of it as a list");
    let object = place.path(&format!("state/objects/{}", file.sha256));
    assert_eq!(fs::metadata(&object).unwrap().mode() & 0o777, 0o600);
    assert_eq!(place.objects.private_key(file.sha256), Some(key));
    let public = place.objects.capture_pem(Purpose::Chain, &place.path("in/chain.pem")).unwrap();
    assert_eq!((place.objects.text(public.sha256), place.objects.private_key(public.sha256)), (Some(chain), None));
    // Lost, it is taken from its source again, and only control reads it.
    fs::remove_file(&object).unwrap();
    assert!(place.objects.verify_for([(Purpose::Key, &CapturedFile { size: 0, ..file.clone() })]).is_empty());
    assert_eq!(fs::metadata(&object).unwrap().mode() & 0o777, 0o600);
    place.write("out/key.pem", b"-----BEGIN X-----\n");
    let said = place.objects.capture_pem(Purpose::Key, &place.path("out/key.pem")).unwrap_err().to_string();
    assert!(said.contains("not below a directory"), "{said}");
}
