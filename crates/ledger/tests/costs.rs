//! What is counted is what is reported: exact calls and hits, scaled times, shares of lanes.

use std::path::Path;

use weir_ledger::{Clock, Control, Entry, EntryKind, Ledger, Report};

fn entry(kind: EntryKind, id: &str, rules: &[u32]) -> Entry {
    Entry { kind, policy: "p".into(), id: id.into(), plugin: "block".into(), rules: rules.to_vec() }
}

fn ledger(dir: &Path, entries: &[Entry], workers: usize) -> Ledger {
    let control = Control::open_or_create(dir).expect("creates");
    let ledger = Ledger::create(dir, 1, "r1", entries, workers, 64, weir_ledger::Reserve::Nothing).expect("creates");
    control.set_generation(1);
    ledger
}

/// A sample of a section that takes `ns`.
fn sample(ns: u64) -> u64 {
    let clock = Clock::calibrate();
    clock.ticks_of(ns) + clock.overhead_ticks()
}

fn assert_near(have: f64, want: f64) {
    assert!((have - want).abs() <= want.abs() * 0.01 + 3.0, "{have} instead of {want}");
}

#[test]
fn calls_and_hits_are_exact_and_times_are_scaled_from_the_samples() {
    let dir = tempfile::tempdir().expect("temp dir");
    let ledger = ledger(dir.path(), &[entry(EntryKind::Rule, "a", &[]), entry(EntryKind::Plugin, "geo", &[])], 2);
    for worker in 0..2 {
        let row = ledger.row(worker);
        row.attach();
        for call in 0..6400 {
            row.request();
            row.add(0, call % 100 == 0);
            if call % 64 == 0 {
                row.time(0, sample(1000));
            }
        }
    }
    let report = Report::read(dir.path()).expect("reads");
    assert_eq!((report.requests, report.workers, report.sample_every, report.revision.as_str()), (12_800, 2, 64, "r1"));
    let rule = &report.entries[0];
    assert_eq!((rule.calls, rule.hits, rule.samples, rule.preempted), (12_800, 128, 200, 0));
    assert_near(rule.own_ns, 12_800_000.0);
    assert_near(rule.ns_per_request, 1000.0);
    assert_near(report.total_ns, 12_800_000.0);
    assert_eq!((report.entries[1].calls, report.entries[1].own_ns), (0, 0.0));
}

#[test]
fn entries_and_workers_that_do_not_exist_harm_nobody() {
    let dir = tempfile::tempdir().expect("temp dir");
    let ledger = ledger(dir.path(), &[entry(EntryKind::Rule, "a", &[])], 1);
    let row = ledger.row(99);
    row.add(1, true);
    row.time(u32::MAX, 1);
    row.add(0, true);
    assert_eq!(Report::read(dir.path()).expect("reads").entries[0].calls, 1);
}

#[test]
fn a_rule_costs_its_own_time_and_its_share_of_lanes() {
    let dir = tempfile::tempdir().expect("temp dir");
    let entries = [
        entry(EntryKind::Plugin, "transaction", &[]),
        entry(EntryKind::Rule, "a", &[]),
        entry(EntryKind::Rule, "b", &[]),
        entry(EntryKind::Lane, "uri", &[0, 1]),
    ];
    let ledger = ledger(dir.path(), &entries, 1);
    let row = ledger.row(0);
    for (entry, ns) in [(0, 500), (1, 100), (2, 300), (3, 1000)] {
        row.add(entry, false);
        row.time(entry, sample(ns));
    }
    row.request();
    let report = Report::read(dir.path()).expect("reads");
    let totals: Vec<f64> = report.entries.iter().map(|entry| entry.ns_total).collect();
    for (have, want) in totals.iter().zip([500.0, 600.0, 800.0, 0.0]) {
        assert_near(*have, want);
    }
    assert_near(report.total_ns, 1900.0);
    assert_near(totals.iter().sum(), report.total_ns);
    assert_near(report.entries[3].own_ns, 1000.0);
}

#[test]
fn a_sample_during_which_the_kernel_had_the_cpu_is_not_booked() {
    let dir = tempfile::tempdir().expect("temp dir");
    let ledger = ledger(dir.path(), &[entry(EntryKind::Rule, "a", &[])], 1);
    let row = ledger.row(0);
    row.attach();
    row.add(0, false);
    row.time(0, sample(4_000_000));
    for call in 0..1000 {
        row.add(0, false);
        row.time(0, sample(if call % 250 == 249 { 4_000_000 } else { 700 }));
    }
    let report = Report::read(dir.path()).expect("reads");
    assert_eq!((report.entries[0].preempted, report.entries[0].samples), (5, 996));
    assert_near(report.entries[0].ns_per_request / 1001.0, 700.0);
}

#[test]
fn work_that_is_long_or_uneven_by_nature_is_booked() {
    let dir = tempfile::tempdir().expect("temp dir");
    let ledger = ledger(dir.path(), &[entry(EntryKind::Rule, "long", &[]), entry(EntryKind::Rule, "uneven", &[])], 1);
    let row = ledger.row(0);
    row.attach();
    for call in 0..1000 {
        row.add(0, false);
        row.time(0, sample(2_000_000));
        row.add(1, false);
        row.time(1, sample(if call % 4 == 0 { 500_000 } else { 100 }));
    }
    let report = Report::read(dir.path()).expect("reads");
    let mean = |entry: usize| report.entries[entry].own_ns / report.entries[entry].calls as f64;
    assert!(report.entries[0].preempted <= 2, "{}", report.entries[0].preempted);
    assert_near(mean(0), 2_000_000.0);
    assert!((100_000.0..=130_000.0).contains(&mean(1)), "{}", mean(1));
}

#[test]
fn two_reports_give_what_came_between_them() {
    let dir = tempfile::tempdir().expect("temp dir");
    let ledger = ledger(dir.path(), &[entry(EntryKind::Rule, "a", &[])], 1);
    let row = ledger.row(0);
    let serve = |times: u64, ns: u64| {
        for _ in 0..times {
            row.request();
            row.add(0, true);
            row.time(0, sample(ns));
        }
    };
    serve(100, 1000);
    let first = Report::read(dir.path()).expect("reads");
    serve(50, 3000);
    let between = Report::read(dir.path()).expect("reads").since(&first);
    assert_eq!((between.requests, between.entries[0].calls, between.entries[0].hits), (50, 50, 50));
    assert_near(between.entries[0].ns_per_request, 3000.0);
    assert_near(between.total_ns, 150_000.0);
}

#[test]
fn the_cpu_time_of_the_worker_is_in_the_report() {
    let dir = tempfile::tempdir().expect("temp dir");
    let ledger = ledger(dir.path(), &[entry(EntryKind::Rule, "a", &[])], 1);
    let row = ledger.row(0);
    row.attach();
    let of_this_process = || weir_ledger::cpu_ns(std::process::id()).expect("it runs");
    let before = of_this_process();
    while of_this_process() < before + 100_000_000 {}
    row.beat();
    let cpu_ns = Report::read(dir.path()).expect("reads").cpu_ns;
    // The kernel's account of processes has steps of 10 ms.
    assert!((80_000_000..=of_this_process() + 20_000_000).contains(&cpu_ns), "{cpu_ns} of {}", of_this_process());
}

#[test]
fn the_report_is_plain_json() {
    let dir = tempfile::tempdir().expect("temp dir");
    let _ledger = ledger(dir.path(), &[entry(EntryKind::Lane, "uri", &[0])], 1);
    let json = serde_json::to_value(Report::read(dir.path()).expect("reads")).expect("serializes");
    assert_eq!(json["entries"][0]["kind"], "lane");
    assert_eq!(json["entries"][0]["rules"][0], 0);
    assert_eq!(json["sample_every"], 64);
}
