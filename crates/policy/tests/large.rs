//! Large policies and lists load. They are so large that loading would not end within the test's patience if it grew with
//! their square.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::Path;

use weir_engine::List;
use weir_policy::Snapshot;

#[path = "../../../tests/harness/hang.rs"]
mod hang;

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
    let snapshot = hang::ends("a million networks", move || Snapshot::load(&path).unwrap());
    let List::Addresses(big) = &snapshot.specification().lists["big"] else { panic!("addresses") };
    let [a, b, c, d] = 999_998u32.wrapping_mul(2_654_435_761).to_be_bytes();
    assert!(big.contains([a, b, c, d].into()));
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
    let snapshot = hang::ends("many rules", move || Snapshot::parse(&text, Path::new("p.yaml")).unwrap());
    assert_eq!(snapshot.rules().len(), count);
}

#[test]
fn long_lines_and_long_inline_lists_are_read() {
    let items: Vec<String> = (0..500_000).map(|n| format!("\"ä{n}\"")).collect();
    let text = format!(
        "{{\"lists\": {{\"l\": {{\"strings\": [{}]}}}}, \"policies\": [{{\"id\": \"p\", \"rules\": [{{\"id\": \"a\", \"when\": \"ssl\", \"action\": \"log\"}}]}}]}}",
        items.join(",")
    );
    for name in ["p.yaml", "p.json"] {
        let text = text.clone();
        let snapshot = hang::ends(name, move || Snapshot::parse(&text, Path::new(name)).unwrap());
        let List::Strings(strings) = &snapshot.specification().lists["l"] else { panic!("strings") };
        assert_eq!(strings.len(), 500_000);
    }
}
