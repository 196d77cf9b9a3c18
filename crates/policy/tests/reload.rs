//! Reloading does not grow the process: whatever a snapshot held is given back.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use weir_policy::Snapshot;
use weir_policy::mmdb::{Record, Writer};

/// Resident pages of this process.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse().unwrap()
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn two_hundred_reloads_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut list = String::new();
    let mut writer = Writer::new("Demo");
    for n in 0..1_000u32 {
        let _ = writeln!(list, "10.{}.{}.0/24", n / 256, n % 256);
        let network = format!("10.{}.{}.0/24", n / 256, n % 256).parse().unwrap();
        writer.insert(network, Record { country: "DE".into(), continent: "EU".into(), asnum: n });
    }
    std::fs::write(folder.path().join("list.txt"), list).unwrap();
    writer.write(&folder.path().join("demo.mmdb")).unwrap();
    let mut text = "geo: {country: demo.mmdb, asn: demo.mmdb}\nlists: {l: {kind: addresses, file: list.txt}}\npolicies:\n  - id: p\n    rules:\n".to_owned();
    for n in 0..6 {
        let _ = writeln!(
            text,
            "      - {{id: r{n}, when: 'http.user_agent matches \"attack{n}\" and ip.src in $l', action: block}}"
        );
    }
    let path = folder.path().join("p.yaml");
    std::fs::write(&path, &text).unwrap();
    let reload = || {
        let snapshot = Snapshot::load(&path).unwrap();
        snapshot.plan(&["p"]).unwrap();
        // A refused policy leaves nothing either.
        Snapshot::parse(&text.replace("attack", "(attack"), &path).unwrap_err();
    };
    (0..20).for_each(|_| reload());
    let (pages, files) = (resident(), open_files());
    (0..200).for_each(|_| reload());
    assert!(resident() <= pages + pages / 10, "{pages} pages before, {} after", resident());
    assert_eq!(open_files(), files);
}
