use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::{Duration, Instant};

use super::*;

#[test]
fn this_process_is_seen_as_it_is() {
    let process = Process::open(std::process::id()).unwrap();
    let here = this_process_is_seen_as_it_is as fn() as usize as u64;
    let mapping = process.mapping(here).unwrap();
    assert!(mapping.executable && mapping.has_file() && process.is_code(here));
    let program = process.module(here).unwrap();
    assert_eq!(program.to_process(program.to_file(here)), here);
    let name = program.module.symbol_at(program.to_file(here)).unwrap().0;
    assert!(name.contains("this_process_is_seen_as_it_is"), "{name}");
    assert!(process.modules().any(|loaded| loaded.module.name().starts_with("libc.so")));
    assert!(process.modules().any(|loaded| loaded.module.path() == "[vdso]"));
    let data = std::ptr::from_ref(&REFRESH_INTERVAL) as u64;
    assert_eq!(process.module(data).unwrap().module.path(), program.module.path(), "constants are of the program too");
    assert!(process.mapping(8).is_none() && process.module(8).is_none() && !process.is_code(u64::MAX));
}

/// Waits until `look` returns something.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        let found = look();
        if found.is_some() || start.elapsed() > Duration::from_secs(20) {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn binaries_are_shared_by_processes() {
    let modules = Modules::new();
    let first = Process::open_with(std::process::id(), &modules).unwrap();
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let libc = |process: &Process| {
        let found = process.modules().find(|loaded| loaded.module.name().starts_with("libc.so"))?;
        Some(Arc::clone(&found.module))
    };
    let second = until(|| libc(&Process::open_with(child.id(), &modules).unwrap()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(Arc::ptr_eq(&libc(&first).unwrap(), &second.expect("the child has a libc")));
}

#[test]
fn a_deleted_program_is_still_read() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("sleeper");
    // By a process of its own: a copy open for writing in this one is inherited by what other tests start meanwhile, and
    // then it cannot be run.
    assert!(Command::new("cp").arg("/bin/sleep").arg(&program).status().unwrap().success());
    let mut child = Command::new(&program).arg("60").spawn().unwrap();
    let inode = std::fs::metadata(&program).unwrap().ino();
    let mapped = |process: &Process| {
        let mapping = process.mappings().iter().find(|mapping| mapping.executable && mapping.inode == inode)?;
        Some((mapping.deleted, mapping.start))
    };
    let _ = until(|| mapped(&Process::open(child.id()).unwrap()));
    std::fs::remove_file(&program).unwrap();
    let process = Process::open(child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    let process = process.unwrap();
    let (deleted, start) = mapped(&process).unwrap();
    assert!(deleted);
    let readable = process.module(start).expect("/proc/PID/map_files can be opened, which needs privileges");
    assert_eq!(readable.module.name(), "sleeper");
}

#[test]
fn errors_say_what_is_wrong() {
    let none = Process::open(u32::MAX - 1).unwrap_err().to_string();
    assert_eq!(none, "process 4294967294 does not exist or has ended");
    let foreign = elf::foreign(b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x03\0").unwrap();
    assert_eq!(foreign, "a 32-bit x86 program");
    let error = UnwindError::Foreign { pid: 7, found: foreign }.to_string();
    assert_eq!(error, "process 7 runs a 32-bit x86 program; only 64-bit x86 programs can be unwound");
}
