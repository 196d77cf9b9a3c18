//! Several processes at once: one writes while another reads, is killed in the middle, and its
//! slot goes to the next. The writer is this test program itself, started again.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use weir_ledger::{Clock, Control, Entry, EntryKind, Ledger, Report, cpu_ns};

const WRITE_TO: &str = "WEIR_LEDGER_TEST_DIR";

#[test]
#[ignore = "the work of the other tests' child processes, until they are killed"]
fn writer_process() {
    let dir = std::env::var_os(WRITE_TO).expect("the parent names the directory");
    let dir = Path::new(&dir);
    let control = Control::open(dir).expect("opens");
    let slot = control.claim_worker(std::process::id()).expect("has room");
    let ledger = Ledger::open(dir, 1).expect("opens");
    let row = ledger.row(0);
    row.attach();
    let ticks = Clock::calibrate().ticks_of(100);
    let revisions = ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"];
    for count in 0.. {
        slot.requests.add(1);
        slot.set_revision(revisions[count % 2]);
        row.request();
        row.add(0, true);
        row.time(0, ticks);
    }
}

fn start_writer(dir: &Path) -> Child {
    let program = std::env::current_exe().expect("is known");
    let mut command = Command::new(program);
    command
        .args(["--exact", "--ignored", "writer_process"])
        .env(WRITE_TO, dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().expect("starts")
}

fn prepare(dir: &Path) -> (Control, Ledger) {
    let control = Control::open_or_create(dir).expect("creates");
    let entry =
        Entry { kind: EntryKind::Rule, policy: "p".into(), id: "a".into(), plugin: "block".into(), rules: vec![] };
    let ledger = Ledger::create(dir, 1, "r1", &[entry], 1, 1, weir_ledger::Reserve::Nothing).expect("creates");
    control.set_generation(1);
    (control, ledger)
}

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_reader_sees_a_running_writer_and_what_it_leaves_when_killed() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (control, _ledger) = prepare(dir.path());
    let mut writer = start_writer(dir.path());
    wait_for("the writer's first requests", || control.workers().first().is_some_and(|worker| worker.requests > 1000));

    let mut last = 0;
    let end = Instant::now() + Duration::from_millis(300);
    while Instant::now() < end {
        let report = Report::read(dir.path()).expect("reads while it is written");
        assert!(report.requests >= last, "counts never go back");
        assert!(report.requests.abs_diff(report.entries[0].calls) < 10_000_000);
        last = report.requests;
        let worker = &control.workers()[0];
        assert!(worker.alive && worker.pid == writer.id());
        let whole = worker.revision.is_empty() || ["a", "b"].iter().any(|one| worker.revision == one.repeat(32));
        assert!(whole, "half of each: {}", worker.revision);
    }
    assert!(Report::read(dir.path()).expect("reads").cpu_ns > 0);
    assert!(cpu_ns(writer.id()).is_some());

    writer.kill().expect("kills");
    writer.wait().expect("reaps");
    let report = Report::read(dir.path()).expect("reads what a killed writer left");
    assert_eq!(report.workers, 0);
    assert!(report.entries[0].calls >= last && report.entries[0].calls.abs_diff(report.requests) <= 1);
    let worker = &control.workers()[0];
    assert!(!worker.alive && worker.requests > 1000);
}

#[test]
fn the_slot_of_a_dead_worker_is_used_again_from_zero() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (control, _ledger) = prepare(dir.path());
    let mut first = start_writer(dir.path());
    wait_for("the first writer", || control.workers().first().is_some_and(|worker| worker.requests > 1000));
    let mine = control.claim_worker(std::process::id()).expect("has room");
    assert_eq!(control.workers().len(), 2, "a living worker keeps its slot");
    first.kill().expect("kills");
    first.wait().expect("reaps");
    mine.requests.add(5);
    let again = control.claim_worker(std::process::id()).expect("has room");
    assert_eq!(again.requests.get(), 5, "who has a slot keeps it");

    let before = Report::read(dir.path()).expect("reads").requests;
    let mut second = start_writer(dir.path());
    wait_for("the second writer", || control.workers()[0].pid == second.id() && control.workers()[0].alive);
    assert_eq!(control.workers().len(), 2, "no third slot");
    wait_for("its row", || Report::read(dir.path()).expect("reads").requests > before);
    second.kill().expect("kills");
    second.wait().expect("reaps");
}

#[test]
fn many_processes_claim_at_once_and_each_gets_its_own() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (control, _ledger) = prepare(dir.path());
    let mut writers: Vec<Child> = (0..8).map(|_| start_writer(dir.path())).collect();
    wait_for("all of them", || control.workers().iter().filter(|worker| worker.requests > 0).count() == writers.len());
    let mut claimed: Vec<u32> = control.workers().iter().map(|worker| worker.pid).collect();
    let mut started: Vec<u32> = writers.iter().map(Child::id).collect();
    claimed.sort_unstable();
    started.sort_unstable();
    assert_eq!(claimed, started);
    for writer in &mut writers {
        writer.kill().expect("kills");
        writer.wait().expect("reaps");
    }
}

#[test]
fn silence_set_by_one_process_is_seen_by_a_mapping_inherited_over_fork() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (control, _ledger) = prepare(dir.path());
    // SAFETY: the child only loads from the mapping, sleeps and exits: all async-signal-safe.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let pause = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        for _ in 0..10_000 {
            if control.silenced() {
                // SAFETY: ends the child without running anything of the parent's.
                unsafe { libc::_exit(0) }
            }
            // SAFETY: `pause` is valid; the remaining time is not asked for.
            unsafe { libc::nanosleep(&raw const pause, std::ptr::null_mut()) };
        }
        // SAFETY: as above.
        unsafe { libc::_exit(1) }
    }
    Control::open(dir.path()).expect("opens").set_silence(true);
    let mut status = 0;
    // SAFETY: waits for the child just made.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
}
