//! Several processes count in the same memory, and one of them is killed while counting.

#![allow(clippy::unwrap_used)]

use std::fs::OpenOptions;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicU64;

use memmap2::MmapRaw;
use weir_collections::Table;
use weir_engine::seclang::{Collections, StoredChange};
use weir_rules::seclang::ir::Collection;

const BYTES: usize = 64 << 10;
const FILE: &str = "WEIR_COLLECTIONS_TEST";
const ADDS: i64 = 20_000;

fn words(map: &MmapRaw) -> &[AtomicU64] {
    // SAFETY: the mapping is aligned to pages and lives as long as the borrow; any bits are atomics.
    unsafe { std::slice::from_raw_parts(map.as_ptr().cast::<AtomicU64>(), BYTES / 8) }
}

fn map(path: &std::path::Path) -> MmapRaw {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap();
    file.set_len(BYTES as u64).unwrap();
    MmapRaw::map_raw(&file).unwrap()
}

fn count(table: &Table<'_>, adds: i64) {
    for _ in 0..adds {
        table.change(Collection::Ip, b"k", b"n", StoredChange::Add { delta: 1, timeout_s: 600 }, 1);
    }
}

#[test]
#[ignore = "the work of the other tests' child processes"]
fn child() {
    let path = std::env::var_os(FILE).expect("the parent names the file");
    let map = map(path.as_ref());
    let table = Table::new(words(&map)).unwrap();
    match std::env::var_os("WEIR_ENDLESSLY") {
        Some(_) => count(&table, i64::MAX),
        None => count(&table, ADDS),
    }
}

fn spawn(path: &std::path::Path, endless: bool) -> std::process::Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["child", "--exact", "--ignored"]).env(FILE, path).stdout(Stdio::null());
    if endless {
        command.env("WEIR_ENDLESSLY", "1");
    }
    command.spawn().unwrap()
}

fn value(table: &Table<'_>) -> i64 {
    let mut found = 0;
    table.read(Collection::Ip, b"k", 1, &mut |_, value| found = std::str::from_utf8(value).unwrap().parse().unwrap());
    found
}

#[test]
fn processes_count_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory");
    let map = map(&path);
    let table = Table::new(words(&map)).unwrap();
    let children: Vec<_> = (0..3).map(|_| spawn(&path, false)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(value(&table), 3 * ADDS);
}

#[test]
fn killed_processes_leave_nothing_locked_or_torn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory");
    let map = map(&path);
    let table = Table::new(words(&map)).unwrap();
    for _ in 0..20 {
        let mut child = spawn(&path, true);
        let before = value(&table);
        while value(&table) == before {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let left = value(&table); // waits for the lock, and takes it over if it has to
        count(&table, 5);
        assert!(value(&table) == left + 5);
    }
}
