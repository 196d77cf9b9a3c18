//! Policies that come while nginx runs: whose counts a report shows.

use weir_ledger::{BANK_ENTRIES, Control, Entry, EntryKind, Ledger, Report, Reserve};

fn entry(kind: EntryKind, id: &str, rules: &[u32]) -> Entry {
    Entry { kind, policy: "p".into(), id: id.into(), plugin: "log".into(), rules: rules.to_vec() }
}

fn rule(id: &str) -> Entry {
    entry(EntryKind::Rule, id, &[])
}

fn ledger(dir: &std::path::Path, reserve: Reserve) -> Ledger {
    let control = Control::open_or_create(dir).expect("creates");
    let ledger = Ledger::create(dir, 1, "", &[rule("static")], 2, 1, reserve).expect("creates");
    control.set_generation(1);
    ledger
}

/// What a report says of a rule: calls, and time in lanes.
fn counted(report: &Report, id: &str) -> Option<(u64, bool)> {
    let found = report.entries.iter().find(|entry| entry.entry.id == id)?;
    Some((found.calls, found.lane_ns > 0.0))
}

#[test]
fn a_report_shows_the_latest_policies_beside_the_configured_ones() {
    let dir = tempfile::tempdir().expect("a directory");
    let ledger = ledger(dir.path(), Reserve::Banks);
    ledger.row(0).add(0, true);

    let first = ledger.claim_bank(7, "r7", 1, vec![rule("a"), entry(EntryKind::Lane, "lane", &[0])]).expect("banks");
    assert_eq!(ledger.claim_bank(7, "r7", 1, vec![rule("a"), entry(EntryKind::Lane, "lane", &[0])]), Some(first));
    for worker in 0..2 {
        let row = ledger.bank_row(worker, first);
        row.add(0, true);
        row.add(1, false);
        row.time(1, 100_000);
        row.add(BANK_ENTRIES as u32, true); // past the end: nowhere, least of all in the other bank
    }
    let report = Report::read(dir.path()).expect("reads");
    assert_eq!(report.revision, "r7");
    assert_eq!(counted(&report, "static"), Some((1, false)), "its share is that of no other rule");
    assert_eq!(counted(&report, "a"), Some((2, true)));

    let second = ledger.claim_bank(8, "r8", 1, vec![rule("b")]).expect("banks");
    assert_ne!(first, second);
    ledger.bank_row(0, second).add(0, true);
    let report = Report::read(dir.path()).expect("reads");
    assert_eq!((counted(&report, "a"), counted(&report, "b")), (None, Some((1, false))));

    // The first bank again, for others: what was counted in it does not show, even of a worker that
    // has not taken it yet.
    assert_eq!(ledger.claim_bank(9, "r9", 1, vec![rule("c")]), Some(first));
    let report = Report::read(dir.path()).expect("reads");
    assert_eq!(counted(&report, "c"), Some((0, false)));
    ledger.bank_row(1, first).add(0, false);
    assert_eq!(counted(&Report::read(dir.path()).expect("reads"), "c"), Some((1, false)));

    // Back to the second: an undone change goes on where it was.
    assert_eq!(ledger.claim_bank(8, "r8", 1, vec![rule("b")]), Some(second));
    assert_eq!(counted(&Report::read(dir.path()).expect("reads"), "b"), Some((1, false)));
}

#[test]
fn without_banks_there_is_none_to_claim() {
    let dir = tempfile::tempdir().expect("a directory");
    let ledger = ledger(dir.path(), Reserve::Nothing);
    assert_eq!(ledger.claim_bank(1, "r", 1, vec![rule("a")]), None);
    ledger.bank_row(0, 0).add(0, true);
    assert_eq!(Report::read(dir.path()).expect("reads").entries.len(), 1);
}

#[test]
fn names_too_long_to_keep_are_left_out() {
    let dir = tempfile::tempdir().expect("a directory");
    let ledger = ledger(dir.path(), Reserve::Banks);
    let long = rule(&"x".repeat(weir_ledger::NAMES_BYTES));
    assert!(ledger.claim_bank(1, "r", 1, vec![long]).is_some());
    assert_eq!(Report::read(dir.path()).expect("reads").entries.len(), 1);
}

#[test]
fn counts_of_an_entry_that_stays_go_on_in_the_next_bank() {
    let dir = tempfile::tempdir().expect("a directory");
    let ledger = ledger(dir.path(), Reserve::Banks);
    let first = ledger.claim_bank(7, "r7", 1, vec![rule("changed"), rule("kept")]).expect("banks");
    for worker in 0..2 {
        let row = ledger.bank_row(worker, first);
        row.add(0, true);
        row.add(1, true);
        row.time(1, 100_000);
    }
    let own_ns =
        |report: &Report| report.entries.iter().find(|entry| entry.entry.id == "kept").map(|entry| entry.own_ns);
    let before = own_ns(&Report::read(dir.path()).expect("reads"));

    let second = ledger.claim_bank(8, "r8", 1, vec![rule("kept"), rule("changed")]).expect("banks");
    for worker in 0..2 {
        let row = ledger.bank_row(worker, second);
        row.continue_from(&ledger.bank_row(worker, first), &[(1, 0), (u32::MAX, 1)]);
    }
    let report = Report::read(dir.path()).expect("reads");
    assert_eq!((counted(&report, "kept"), counted(&report, "changed")), (Some((2, false)), Some((0, false))));
    assert_eq!(own_ns(&report), before);
    ledger.bank_row(0, second).add(0, true);
    assert_eq!(counted(&Report::read(dir.path()).expect("reads"), "kept"), Some((3, false)));
}
