//! Large policies and lists load in a bearable time. The bounds, in CPU time, are several times
//! what a build takes (printed with `--nocapture`), so that only a change of the growth trips them.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use weir_engine::List;
use weir_policy::Snapshot;

/// What this thread has spent on a core, so that other work on the machine does not count.
fn cpu() -> Duration {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(times.split(' ').next().unwrap().parse().unwrap())
}

/// An unoptimised build is some ten times slower.
fn bound(optimised: Duration) -> Duration {
    if cfg!(debug_assertions) { optimised * 15 } else { optimised }
}

#[test]
fn a_million_networks_load_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut list = String::new();
    for n in 0..1_000_000u32 {
        let [a, b, c, d] = n.wrapping_mul(2_654_435_761).to_be_bytes();
        let _ = if n % 2 == 0 { writeln!(list, "{a}.{b}.{c}.{d}") } else { writeln!(list, "{a}.{b}.{c}.0/24") };
    }
    std::fs::write(folder.path().join("big.txt"), list).unwrap();
    let path = folder.path().join("p.yaml");
    std::fs::write(&path, "lists: {big: {kind: addresses, file: big.txt}}\npolicies: [{id: p, rules: [{id: a, when: ip.src in $big, action: block}]}]\n").unwrap();
    let start = cpu();
    let snapshot = Snapshot::load(&path).unwrap();
    let taken = cpu() - start;
    println!("a million networks: {taken:?}");
    let List::Addresses(big) = &snapshot.specification().lists["big"] else { panic!("addresses") };
    let [a, b, c, d] = 999_998u32.wrapping_mul(2_654_435_761).to_be_bytes();
    assert!(big.contains([a, b, c, d].into()));
    assert!(taken < bound(Duration::from_secs(2)), "{taken:?}");
}

#[test]
fn ten_thousand_rules_load() {
    let count = if cfg!(debug_assertions) { 2_000 } else { 10_000 };
    let mut text = "policies:\n  - id: p\n    rules:\n".to_owned();
    for n in 0..count {
        let _ = writeln!(
            text,
            "      - {{id: r{n}, when: 'any(http.request.uri.args.values[*] matches \"(?i)attack{n}\\s+x\")', score: 1, actions: [{{tag: t}}, block]}}"
        );
    }
    let start = cpu();
    let snapshot = Snapshot::parse(&text, Path::new("p.yaml")).unwrap();
    let taken = cpu() - start;
    println!("{count} rules: {taken:?}");
    assert_eq!(snapshot.rules().len(), count);
    assert!(taken < bound(Duration::from_secs(4)), "{taken:?}");
}

#[test]
fn long_lines_and_long_inline_lists_are_read_in_linear_time() {
    let items: Vec<String> = (0..200_000).map(|n| format!("\"ä{n}\"")).collect();
    let text = format!(
        "{{\"lists\": {{\"l\": {{\"strings\": [{}]}}}}, \"policies\": [{{\"id\": \"p\", \"rules\": [{{\"id\": \"a\", \"when\": \"ssl\", \"action\": \"log\"}}]}}]}}",
        items.join(",")
    );
    for name in ["p.yaml", "p.json"] {
        let start = cpu();
        let snapshot = Snapshot::parse(&text, Path::new(name)).unwrap();
        let taken = cpu() - start;
        println!("200,000 strings on one line of {name}: {taken:?}");
        let List::Strings(strings) = &snapshot.specification().lists["l"] else { panic!("strings") };
        assert_eq!(strings.len(), 200_000);
        assert!(taken < bound(Duration::from_secs(2)), "{taken:?}");
    }
}
