//! A full file system in the runtime directory is an error for who wants more, and never a signal. In a file of its own,
//! since it forks; the child has a small file system to itself. Where that is not allowed, nothing is tested.
#![allow(clippy::unwrap_used, reason = "in a test it is the assertion, in its helpers too")]

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use weir_bus::{Address, Frame, JournalError, Read, Reader, Region, Topic, Writer};

/// Bytes of the file system: a region of two workers takes 2.6 MiB of it, a journal grows in steps of one.
const BYTES: &str = "size=5m";

/// What the child says if it may not mount.
const NOT_ALLOWED: i32 = 77;

#[test]
fn a_full_file_system_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    // SAFETY: the child uses nothing that other threads could hold, but the allocator, which glibc makes usable after a
    // fork; it leaves with `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let ended = std::panic::catch_unwind(|| if mount(dir.path()) { fill(dir.path()) } else { NOT_ALLOWED });
        // SAFETY: ends the child.
        unsafe { libc::_exit(ended.unwrap_or(1)) }
    }
    let mut status = 0;
    // SAFETY: the child is this process's.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert!(libc::WIFEXITED(status), "killed by signal {}", libc::WTERMSIG(status));
    match libc::WEXITSTATUS(status) {
        NOT_ALLOWED => println!("not tested: no right to mount a file system"),
        code => assert_eq!(code, 0),
    }
}

fn mount(dir: &Path) -> bool {
    let dir = CString::new(dir.as_os_str().as_bytes()).unwrap();
    let options = CString::new(BYTES).unwrap();
    // SAFETY: both only ask for numbers, then the new namespaces are the child's alone.
    let (user, group, alone) =
        unsafe { (libc::getuid(), libc::getgid(), libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) == 0) };
    let maps = [("setgroups", "deny".into()), ("uid_map", format!("0 {user} 1")), ("gid_map", format!("0 {group} 1"))];
    alone
        && maps.iter().all(|(name, text)| std::fs::write(format!("/proc/self/{name}"), text).is_ok())
        // SAFETY: all strings are C strings.
        && unsafe {
            libc::mount(c"tmpfs".as_ptr(), dir.as_ptr(), c"tmpfs".as_ptr(), 0, options.as_ptr().cast()) == 0
        }
}

fn fill(dir: &Path) -> i32 {
    let region = Arc::new(Region::create(dir, 1, 2).unwrap());
    let w0 = region.attach(Address::Worker(0)).unwrap();
    let w1 = region.attach(Address::Worker(1)).unwrap();
    let mut reader = Reader::create_or_open(dir).unwrap();
    let mut writer = Writer::open(dir).unwrap();
    writer.begin(1, 1, 0, [b"base".to_vec()]).unwrap();
    std::fs::write(dir.join("ballast"), vec![1; 8 << 20]).unwrap_err();

    // Each ring has its blocks already: it can be filled.
    w1.receive(&mut |_| {});
    let sent = (0..).take_while(|_| w0.send(Address::Worker(1), Topic::PING, &[1; 10_000]).is_ok()).count();
    assert!(sent > 3 && w1.receive(&mut |_| {}) == sent);
    // The next cycle's region has no file, and serves its workers nevertheless.
    let next = Arc::new(Region::create(dir, 2, 2).unwrap());
    assert!(next.fault().is_some());
    next.attach(Address::Worker(0)).unwrap().send(Address::Worker(1), Topic::PING, b"x").unwrap_err();
    assert_eq!(Region::list(dir).unwrap(), [1], "no half region has a name");

    // What fits into the blocks that are there is taken; what does not is refused as a whole, again and again.
    writer.append(&[Frame::Op(b"small")]).unwrap();
    let long = vec![b'x'; 3 << 20];
    for _ in 0..3 {
        let error = writer.append(&[Frame::Op(b"half"), Frame::Op(&long)]).unwrap_err();
        assert!(matches!(error, JournalError::Io { .. }) && error.to_string().contains("make room"), "{error}");
        writer.begin(1, 2, 0, [long.clone()]).unwrap_err();
    }
    writer.append(&[Frame::Op(b"after")]).unwrap();
    let mut seen = Vec::new();
    let mut buffer = Vec::new();
    while let Some(read) = reader.next(&mut buffer).unwrap() {
        if let Read::Op(op) = read {
            seen.push(op.to_vec());
        }
    }
    assert_eq!(seen, [b"base".to_vec(), b"small".to_vec(), b"after".to_vec()]);

    // With room again everything goes on.
    std::fs::remove_file(dir.join("ballast")).unwrap();
    w0.send(Address::Worker(1), Topic::PING, b"x").unwrap();
    assert_eq!(w1.receive(&mut |_| {}), 1);
    writer.begin(1, 2, 0, [b"new".to_vec()]).unwrap();
    0
}
