use super::*;

fn memory(buckets: usize) -> Vec<AtomicU64> {
    (0..(buckets + 1) * WORDS).map(|_| AtomicU64::new(0)).collect()
}

fn all(table: &Table<'_>, key: &[u8], now_s: u64) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    table.read(Collection::Ip, key, now_s, &mut |name, value| found.push((text(name), text(value))));
    found.sort();
    found
}

#[test]
fn members_are_set_counted_expired_and_removed() {
    use StoredChange::{Add, Expire, Set, Unset};
    let memory = memory(4);
    let table = Table::new(&memory).unwrap();
    type Step = (&'static str, StoredChange<'static>, u64, &'static [(&'static str, &'static str)]);
    // Change, time, and expected contents.
    let steps: [Step; 10] = [
        ("a", Set { value: b"x", timeout_s: 100 }, 1000, &[("a", "x")]),
        ("n", Add { delta: 2, timeout_s: 50 }, 1000, &[("a", "x"), ("n", "2")]),
        ("n", Add { delta: -5, timeout_s: 50 }, 1010, &[("a", "x"), ("n", "-3")]),
        ("a", Add { delta: 1, timeout_s: 200 }, 1010, &[("a", "1"), ("n", "-3")]),
        ("n", Expire { after_s: 5 }, 1020, &[("a", "1"), ("n", "-3")]),
        ("zz", Expire { after_s: 5 }, 1024, &[("a", "1"), ("n", "-3")]),
        ("b", Set { value: b"", timeout_s: 9 }, 1025, &[("a", "1"), ("b", "")]),
        ("n", Add { delta: 1, timeout_s: 9 }, 1026, &[("a", "1"), ("b", ""), ("n", "1")]),
        ("a", Unset, 1026, &[("b", ""), ("n", "1")]),
        ("m", Add { delta: i64::MIN, timeout_s: 1 }, 1040, &[("m", "-9223372036854775808")]),
    ];
    for (name, change, now_s, expected) in steps {
        assert!(table.change(Collection::Ip, b"192.0.2.1", name.as_bytes(), change, now_s));
        let expected: Vec<_> = expected.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        assert_eq!(all(&table, b"192.0.2.1", now_s), expected, "{name} {change:?}");
    }
    assert!(all(&table, b"192.0.2.2", 1000).is_empty(), "another record");
    assert!(!table.change(Collection::Ip, b"k", b"big", Set { value: &[0; 4096], timeout_s: 1 }, 0));
    assert_eq!(table.counts(), Counts { refused: 1, ..Counts::default() });
}

#[test]
fn many_records_stay_within_the_memory_and_losses_are_counted() {
    let memory = memory(8);
    let table = Table::new(&memory).unwrap();
    for number in 0..10_000u32 {
        let change = StoredChange::Add { delta: 1, timeout_s: 60 };
        assert!(table.change(Collection::Ip, &number.to_le_bytes(), b"count", change, 1000 + u64::from(number / 100)));
    }
    assert!(table.counts().evicted > 5_000);
    assert_eq!(all(&table, &9_999u32.to_le_bytes(), 1100), [("count".into(), "1".into())], "the newest is there");
}

#[test]
fn counts_are_exact_across_threads_and_tables() {
    let memory = memory(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let table = Table::new(&memory).unwrap();
                for _ in 0..2_000 {
                    table.change(Collection::Ip, b"k", b"n", StoredChange::Add { delta: 1, timeout_s: 60 }, 1);
                }
            });
        }
    });
    assert_eq!(all(&Table::new(&memory).unwrap(), b"k", 1), [("n".into(), "8000".into())]);
}

#[test]
fn a_bucket_left_locked_by_a_dead_process_is_forgotten_and_usable() {
    let memory = memory(1);
    let table = Table::new(&memory).unwrap();
    table.change(Collection::Ip, b"k", b"n", StoredChange::Add { delta: 1, timeout_s: 60 }, 1);
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let dead = u64::from(child.id());
    child.wait().unwrap();
    memory[WORDS].store(dead, Ordering::Relaxed);
    assert!(all(&table, b"k", 1).is_empty());
    assert_eq!(table.counts().reset, 1);
    assert!(table.change(Collection::Ip, b"k", b"n", StoredChange::Add { delta: 3, timeout_s: 60 }, 1));
    assert_eq!(all(&table, b"k", 1), [("n".into(), "3".into())]);
}

#[test]
fn memory_of_another_layout_is_cleared() {
    let memory = memory(2);
    memory.iter().for_each(|word| word.store(0x5555_5555, Ordering::Relaxed));
    let table = Table::new(&memory).unwrap();
    assert!(all(&table, b"k", 1).is_empty());
    assert!(table.change(Collection::Ip, b"k", b"n", StoredChange::Add { delta: 1, timeout_s: 60 }, 1));
    assert!(Table::new(&memory[..WORDS]).is_none());
}
