use super::*;
use crate::slot::State;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn it_is_whole_under_its_name_and_private() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let region = Region::create(dir.path(), 7, 2).unwrap();
    assert_eq!(names(dir.path()), ["bus.7", "bus.7.bell-0", "bus.7.bell-1", "control.bell"]);
    for name in names(dir.path()) {
        assert_eq!(fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let opened = Region::open(dir.path(), 7).unwrap();
    assert_eq!((opened.generation(), opened.workers()), (7, 2));
    assert_eq!(opened.header().seed, region.header().seed);
    assert_eq!(opened.slot(1).state(), State::Free);
    Region::create(dir.path(), 8, 1).unwrap();
    assert_eq!(Region::list(dir.path()).unwrap(), [7, 8]);
}

#[test]
fn what_is_no_region_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Region::create(dir.path(), 1, 0), Err(BusError::Workers(0))));
    assert!(matches!(Region::create(dir.path(), 1, 65), Err(BusError::Workers(65))));
    Region::create(dir.path(), 1, 1).unwrap();
    let good = fs::read(dir.path().join("bus.1")).unwrap();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    let cases = [
        ("empty", Vec::new()),
        ("magic", with(0, 0)),
        ("generation", with(8, 9)),
        ("workers", with(16, 3)),
        ("no workers", with(16, 0)),
        ("ring", with(24, 1)),
        ("cut off", good[..good.len() - 1].to_vec()),
    ];
    for (name, bytes) in cases {
        fs::write(dir.path().join("bus.1"), bytes).unwrap();
        assert!(matches!(Region::open(dir.path(), 1), Err(BusError::Foreign { .. })), "{name}");
    }
}

#[test]
fn names_of_others_are_left_alone() {
    for name in ["bus", "bus.", "bus.x", "bus.+7", "bus.007", "bus.-1", "Bus.7", "policy.journal"] {
        assert_eq!(parse_name(name), None, "{name}");
    }
    assert_eq!(parse_name("bus.7"), Some((7, "")));
    assert_eq!(parse_name("bus.7.bell-0"), Some((7, "bell-0")));
}

#[test]
fn dead_regions_are_removed_but_not_the_newest_nor_one_that_is_new() {
    let dir = tempfile::tempdir().unwrap();
    let regions: Vec<_> = (1..=4).map(|n| Arc::new(Region::create(dir.path(), n, 1).unwrap())).collect();
    drop(regions[0].attach(Address::Worker(0)).unwrap());
    let _lives = regions[1].attach(Address::Worker(0)).unwrap();
    fs::write(dir.path().join("bus.2.new.1"), "").unwrap();
    // 3 waits for its workers, 4 is the newest.
    assert_eq!(Region::remove_dead(dir.path()).unwrap(), [1]);
    assert_eq!(Region::list(dir.path()).unwrap(), [2, 3, 4]);
    assert!(!names(dir.path()).iter().any(|name| name.starts_with("bus.1")));
    assert_eq!(Region::remove_dead(dir.path()).unwrap(), [0; 0]);
}

#[test]
fn no_descriptor_of_its_memory_stays_and_all_of_it_is_reserved() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().unwrap();
    let region = Region::create(dir.path(), 1, 3).unwrap();
    let about = fs::metadata(dir.path().join("bus.1")).unwrap();
    assert!(about.blocks() * 512 >= region.layout.bytes as u64);
    for entry in fs::read_dir("/proc/self/fd").unwrap().flatten() {
        let Ok(open) = fs::metadata(entry.path()) else { continue };
        assert!((open.dev(), open.ino()) != (about.dev(), about.ino()), "{:?}", entry.path());
    }
}

#[test]
fn without_room_for_its_file_a_region_is_private_and_its_bells_can_be_rung() {
    let dir = tempfile::tempdir().unwrap();
    // The name is taken by something that no file can replace.
    fs::create_dir_all(dir.path().join("bus.1/x")).unwrap();
    let region = Arc::new(Region::create(dir.path(), 1, 2).unwrap());
    assert!(region.fault().is_some());
    fs::remove_dir_all(dir.path().join("bus.1")).unwrap();
    let worker = region.attach(Address::Worker(1)).unwrap();
    worker.receive(&mut |_| {});
    assert_eq!(Region::list(dir.path()).unwrap(), [0; 0]);
    let ringers = ringers_without_region(dir.path()).unwrap();
    assert_eq!(ringers.len(), 2);
    ringers.iter().for_each(Ringer::ring);
    let mut poll = libc::pollfd { fd: worker.bell(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid pollfd.
    assert_eq!(unsafe { libc::poll(&raw mut poll, 1, 0) }, 1);
    Region::create(dir.path(), 1, 2).unwrap();
    assert!(ringers_without_region(dir.path()).unwrap().is_empty());
}

#[test]
fn a_slot_of_a_dead_process_is_reaped_and_a_living_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let region = Arc::new(Region::create(dir.path(), 1, 2).unwrap());
    let _lives = region.attach(Address::Worker(0)).unwrap();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    region.slot(1).occupy_as(child.id());
    assert_eq!(region.reap(), 0);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(region.slot(1).state(), State::Running, "nobody has looked yet");
    assert_eq!((region.reap(), region.reap()), (1, 0));
    assert_eq!((region.slot(0).state(), region.slot(1).state()), (State::Running, State::Gone));
}
