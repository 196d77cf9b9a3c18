use super::*;
use crate::password::tests::{HASH, attempt, consumers};
use crate::{Consumers, Key};

const TTL_MS: u64 = 1000;

fn table(capacity: usize) -> Remembered {
    Remembered::new(capacity, TTL_MS).unwrap()
}

fn with_hash(hash: &str) -> Consumers {
    consumers(Some(Key::Secret(Secret::new(hash))))
}

#[test]
fn a_password_is_remembered_until_it_expires_or_changes() {
    let consumers = with_hash(HASH);
    let mut table = table(10);
    let right = attempt(&consumers, "ann", "U*U");
    assert!(table.find(&right, 0).is_none());
    table.put(&right, 5);
    assert_eq!(table.find(&attempt(&consumers, "ann", "U*U"), 5).unwrap().consumer.id, "shop");
    assert!(table.find(&right, 4 + TTL_MS).is_some());
    assert!(table.find(&right, 5 + TTL_MS).is_none());
    for (user, password) in [("ann", "U*V"), ("ann", ""), ("an", "nU*U"), ("annU", "*U"), ("bob", "U*U")] {
        assert!(table.find(&attempt(&consumers, user, password), 5).is_none(), "{user}");
    }
    let code = |user, password| table.code(&attempt(&consumers, user, password));
    assert_ne!(code("bob", "x"), code("bo", "bx"));
    let changed = with_hash(&HASH.replace("JKvyOeW", "JKvyOeX"));
    assert!(table.find(&attempt(&changed, "ann", "U*U"), 5).is_none());
    let removed = Consumers::default();
    assert!(table.find(&attempt(&removed, "ann", "U*U"), 5).is_none());
    // Verified again, it lives on.
    table.put(&right, 5 + TTL_MS);
    assert!(table.find(&right, 5 + TTL_MS).is_some());
}

#[test]
fn an_unknown_user_is_never_found() {
    let consumers = with_hash(HASH);
    let mut table = table(10);
    let unknown = attempt(&consumers, "bob", "x");
    table.put(&unknown, 0);
    assert!(table.find(&unknown, 0).is_none());
}

#[test]
fn memory_is_bounded_and_the_oldest_go_first() {
    let consumers = with_hash(HASH);
    for capacity in [0, 1, 2, 3, 10] {
        let mut table = table(capacity);
        for at in 0..100 {
            table.put(&attempt(&consumers, "ann", &at.to_string()), 0);
            assert!(table.young.len() + table.old.len() <= capacity + capacity % 2, "{capacity}");
        }
        let kept: Vec<bool> =
            (0..100).map(|at| table.find(&attempt(&consumers, "ann", &at.to_string()), 0).is_some()).collect();
        let forgotten = kept.iter().take_while(|is_kept| !**is_kept).count();
        assert!(kept[forgotten..].iter().all(|is_kept| *is_kept), "{capacity}");
        assert!(100 - forgotten >= capacity / 2, "{capacity}");
    }
}

#[test]
fn each_process_has_its_own_key() {
    let consumers = with_hash(HASH);
    let right = attempt(&consumers, "ann", "U*U");
    assert_ne!(table(1).code(&right), table(1).code(&right));
}
