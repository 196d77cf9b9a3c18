//! What holds of a loaded policy: plans, revisions, files, bounds.

#![allow(clippy::unwrap_used)]

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use weir_engine::List;
use weir_policy::mmdb::{Record, Writer};
use weir_policy::{MAX_PLAN_POLICIES, Snapshot};

fn policies(count: usize) -> String {
    let one = |n: usize| format!("  - {{id: p{n}, rules: [{{id: r{n}, when: ssl, action: log}}]}}\n");
    format!("policies:\n{}", (0..count).map(one).collect::<String>())
}

fn load(text: &str) -> Snapshot {
    Snapshot::parse(text, Path::new("p.yaml")).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn the_same_list_of_policies_is_the_same_plan() {
    let snapshot = load(&policies(3));
    let plan = snapshot.plan(&["p0", "p2"]).unwrap();
    assert!(Arc::ptr_eq(&plan, &snapshot.clone().plan(&["p0", "p2", "p0"]).unwrap()));
    for names in [vec!["p0"], vec!["p2", "p0"]] {
        assert!(!Arc::ptr_eq(&plan, &snapshot.plan(&names).unwrap()), "{names:?}");
    }
    assert!(snapshot.plan(&[]).unwrap().is_empty());
    let error = snapshot.plan(&["p0", "P1"]).unwrap_err().to_string();
    assert_eq!(error, "there is no policy \"P1\"; did you mean `p1`?");
    let error = snapshot.plan(&["shop"]).unwrap_err().to_string();
    assert_eq!(error, "there is no policy \"shop\"; the policies are p0, p1, p2");
}

#[test]
fn sixty_four_policies_load_and_one_more_does_not() {
    let snapshot = load(&policies(MAX_PLAN_POLICIES));
    snapshot.plan(&["p0", "p63"]).unwrap();
    let errors = Snapshot::parse(&policies(MAX_PLAN_POLICIES + 1), Path::new("p.yaml")).unwrap_err().to_string();
    assert!(errors.starts_with("p.yaml:66:5: 65 policies; at most 64 are possible in the file"), "{errors}");
}

#[test]
fn the_revision_is_a_hash_of_all_that_was_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let (policy, list) = (folder.path().join("p.yaml"), folder.path().join("l.txt"));
    let text = format!("lists: {{l: {{kind: strings, file: l.txt}}}}\n{}", policies(1));
    std::fs::write(&policy, &text).unwrap();
    std::fs::write(&list, "a\nb\n").unwrap();
    let revision = || Snapshot::load(&policy).unwrap().revision().to_owned();
    let first = revision();
    assert!(first.len() == 12 && first.bytes().all(|byte| byte.is_ascii_hexdigit()), "{first}");
    assert_eq!(first, revision());
    std::fs::write(&list, "a\nb\nc\n").unwrap();
    let second = revision();
    assert_ne!(first, second);
    std::fs::write(&policy, format!("{text}# a comment\n")).unwrap();
    assert_ne!(second, revision());
    // The same everywhere and in every release that reads the same meaning out of the same text.
    assert_eq!(load(&policies(1)).revision(), "c186e3c8fc0a");
}

#[test]
fn lists_come_from_files_with_comments_and_any_line_end() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("a.txt"),
        "\u{feff}# head\r\n192.0.2.0/24 # office\r\n\r\n 2001:db8::1\n10.9.8.7/8",
    )
    .unwrap();
    std::fs::write(folder.path().join("s.txt"), b"# head\ncolor #fff\n\xff\xfe\n  spaced \n").unwrap();
    std::fs::write(folder.path().join("i.txt"), "80\n-5 # five\n80\n").unwrap();
    let text = format!(
        "lists:\n  a: {{kind: addresses, file: a.txt}}\n  s: {{kind: strings, file: s.txt}}\n  i: {{kind: integers, file: i.txt}}\n{}",
        policies(1)
    );
    let path = folder.path().join("p.yaml");
    std::fs::write(&path, text).unwrap();
    let snapshot = Snapshot::load(&path).unwrap();
    let lists = &snapshot.specification().lists;
    let List::Addresses(addresses) = &lists["a"] else { panic!("addresses") };
    for (address, inside) in
        [("192.0.2.7", true), ("2001:db8::1", true), ("2001:db8::2", false), ("10.0.0.1", true), ("11.0.0.1", false)]
    {
        assert_eq!(addresses.contains(address.parse().unwrap()), inside, "{address}");
    }
    let List::Strings(strings) = &lists["s"] else { panic!("strings") };
    assert!(strings.contains(b"color #fff") && strings.contains(b"\xff\xfe") && strings.contains(b"spaced"));
    let List::Integers(integers) = &lists["i"] else { panic!("integers") };
    assert_eq!(**integers, [-5, 80]);
}

#[test]
fn places_come_from_the_files_that_geo_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::new("Demo");
    let record = Record { country: "DE".into(), continent: "EU".into(), asnum: 64_500 };
    writer.insert("192.0.2.0/24".parse().unwrap(), record);
    writer.write(&folder.path().join("demo.mmdb")).unwrap();
    for geo in ["{country: demo.mmdb, asn: demo.mmdb}", "demo.mmdb", "{asn: demo.mmdb}"] {
        let path = folder.path().join("p.yaml");
        std::fs::write(&path, format!("geo: {geo}\n{}", policies(1))).unwrap();
        let snapshot = Snapshot::load(&path).unwrap();
        let inside: IpAddr = "192.0.2.9".parse().unwrap();
        let place = snapshot.geo().unwrap().locate(inside);
        let country = if geo.starts_with("{asn") { "" } else { "DE" };
        let asnum = if geo == "demo.mmdb" { 0 } else { 64_500 };
        assert_eq!((&*place.country, place.asnum), (country, asnum), "{geo}");
    }
}

#[test]
fn fields_without_a_database_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::new("Demo");
    let record = Record { country: "DE".into(), continent: "EU".into(), asnum: 64_500 };
    writer.insert("192.0.2.0/24".parse().unwrap(), record);
    writer.write(&folder.path().join("demo.mmdb")).unwrap();
    let both = "ip.src.country eq \"DE\" and ip.src.asnum eq 1";
    for (geo, when, warned) in [
        ("", both, &["3:65: `ip.src.country` is always empty", "3:92: `ip.src.asnum` is always 0"][..]),
        ("geo: demo.mmdb\n", both, &["4:92: `ip.src.asnum` is always 0"]),
        ("geo: {country: demo.mmdb, asn: demo.mmdb}\n", both, &[]),
        ("", "ssl", &[]),
    ] {
        let path = folder.path().join("p.yaml");
        let rules = format!(
            "policies:\n- id: p\n  rules: [{{id: r, message: xxxxxxxxxxxxxxx, action: log, when: '{when}'}}]\n"
        );
        std::fs::write(&path, format!("{geo}{rules}")).unwrap();
        let snapshot = Snapshot::load(&path).unwrap_or_else(|errors| panic!("{errors}"));
        let warnings: Vec<String> = snapshot.warnings().iter().map(ToString::to_string).collect();
        assert_eq!(warnings.len(), warned.len(), "{warnings:?}");
        for (warning, part) in warnings.iter().zip(warned) {
            assert!(warning.contains(part) && warning.contains("hint: name an MMDB file"), "{part} in {warning}");
        }
    }
}

#[test]
fn unreadable_policies_are_told_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.yaml");
    let errors = Snapshot::load(&path).unwrap_err().to_string();
    assert_eq!(errors, format!("{}: cannot read the policy: no such file or directory", path.display()));
    let errors = Snapshot::load(folder.path()).unwrap_err().to_string();
    assert!(errors.ends_with("it is a directory, not a regular file"), "{errors}");
    std::fs::write(&path, b"policies:\n  - id: \xff\n").unwrap();
    let errors = Snapshot::load(&path).unwrap_err();
    let error = &errors.errors()[0];
    assert_eq!((error.line, error.column), (2, 9), "{error}");
    for name in ["p.yaml", "p.json"] {
        let errors = Snapshot::parse("{\"a\":\n \0}", Path::new(name)).unwrap_err().to_string();
        assert!(errors.starts_with(&format!("{name}:2:2: a NUL byte")), "{errors}");
    }
    std::fs::write(&path, vec![b'#'; weir_policy::MAX_DOCUMENT_BYTES + 1]).unwrap();
    let errors = Snapshot::load(&path).unwrap_err().to_string();
    assert!(errors.contains("it is larger than 16777216 bytes"), "{errors}");
    let errors = Snapshot::parse(&"#".repeat(weir_policy::MAX_DOCUMENT_BYTES + 1), &path).unwrap_err().to_string();
    assert!(errors.contains("at most 16777216 are read"), "{errors}");
}

#[test]
fn nothing_is_left_when_a_snapshot_is_dropped() {
    let snapshot = load(&policies(2));
    let plan = Arc::downgrade(&snapshot.plan(&["p0"]).unwrap());
    let copy = snapshot.clone();
    drop(snapshot);
    assert!(plan.upgrade().is_some());
    drop(copy);
    assert!(plan.upgrade().is_none());
}

#[test]
fn snapshots_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>(_: &T) {}
    shared(&load(&policies(1)));
}
