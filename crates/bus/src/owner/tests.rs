use std::sync::atomic::AtomicU32;

use super::*;
use crate::limits::OWNER_ENTRIES;

struct Table {
    entries: Box<[Entry]>,
    claims: AtomicU64,
    incarnations: [AtomicU32; 4],
}

impl Table {
    fn new() -> Self {
        let entry = || Entry { owner: AtomicU64::new(0), hash: AtomicU64::new(0) };
        Self {
            entries: (0..OWNER_ENTRIES).map(|_| entry()).collect(),
            claims: AtomicU64::new(0),
            incarnations: [const { AtomicU32::new(1) }; 4],
        }
    }

    fn with<R>(&self, f: impl FnOnce(Owners<'_>) -> R) -> R {
        let living = |worker: u16| Some(self.incarnations[usize::from(worker)].load(Relaxed)).filter(|&now| now > 0);
        f(Owners { entries: &self.entries, claims: &self.claims, living: &living })
    }

    fn claim(&self, worker: u16, hash: u64) -> Result<u64, OwnerError> {
        self.with(|owners| owners.claim(claimant(worker, 1), hash))
    }

    fn owner(&self, hash: u64) -> Option<u16> {
        self.with(|owners| owners.owner(hash))
    }
}

fn claimant(worker: u16, incarnation: u32) -> Claimant {
    Claimant { worker, incarnation }
}

const TAKEN_BY_1: Result<u64, OwnerError> = Err(OwnerError::Taken { by: Address::Worker(1) });

#[test]
fn one_owner_at_a_time_and_a_greater_generation_each_time() {
    let table = Table::new();
    assert_eq!(table.owner(5), None);
    let first = table.claim(1, 5).expect("free");
    assert_eq!(table.claim(1, 5), Ok(first), "again by the owner");
    assert_eq!(table.claim(2, 5), TAKEN_BY_1);
    assert_eq!(table.owner(5), Some(1));
    assert!(!table.with(|owners| owners.release(claimant(2, 1), 5)), "not the owner's");
    assert!(table.with(|owners| owners.release(claimant(1, 1), 5)));
    assert_eq!(table.owner(5), None);
    assert!(table.claim(2, 5).expect("free again") > first);
}

#[test]
fn what_a_dead_incarnation_owned_is_free() {
    let table = Table::new();
    for hash in [9, 9 + OWNER_ENTRIES as u64, 10] {
        table.claim(1, hash).expect("free");
    }
    table.incarnations[1].store(0, Relaxed);
    assert_eq!((table.owner(9), table.owner(10)), (None, None));
    table.claim(2, 9).expect("the owner is gone");
    table.incarnations[1].store(2, Relaxed);
    assert_eq!((table.owner(9), table.owner(10)), (Some(2), None), "the successor owns nothing");
}

/// A process can die after each step of a claim; the key must be claimable by others then.
#[test]
fn a_claim_that_was_cut_off_blocks_nobody_after_its_death() {
    for step in [RESERVING, READY, OWNED] {
        let table = Table::new();
        let left = Owner::new(claimant(1, 1), 1, step);
        table.entries[5].owner.store(left.0, SeqCst);
        table.entries[5].hash.store(5, SeqCst);
        table.incarnations[1].store(0, Relaxed);
        table.claim(2, 5).expect("the other one is dead");
        assert_eq!(table.owner(5), Some(2));
    }
}

#[test]
fn of_two_that_are_ready_the_one_in_front_wins() {
    // In front: the claimer gives way. Behind: it takes the other one's step back.
    let table = Table::new();
    let ready = Owner::new(claimant(1, 1), 1, READY);
    table.entries[5].owner.store(ready.0, SeqCst);
    table.entries[5].hash.store(5, SeqCst);
    assert_eq!(table.claim(2, 5), TAKEN_BY_1);

    let table = Table::new();
    table.claim(3, OWNER_ENTRIES as u64 + 5).expect("free");
    table.entries[6].owner.store(ready.0, SeqCst);
    table.entries[6].hash.store(5, SeqCst);
    table.with(|owners| owners.release(claimant(3, 1), OWNER_ENTRIES as u64 + 5));
    table.claim(2, 5).expect("it is in front");
    assert_eq!(Owner(table.entries[6].owner.load(SeqCst)).step(), FREE);
}

#[test]
fn as_many_keys_as_promised_fit_and_a_full_window_says_so() {
    let table = Table::new();
    let mut hash = 1u64;
    for _ in 0..crate::OWNERS_MAX {
        hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_add(1);
        table.claim(1, hash).expect("fits");
    }
    let table = Table::new();
    for n in 0..OWNER_WINDOW as u64 {
        table.claim(1, n * OWNER_ENTRIES as u64).expect("fits");
    }
    assert_eq!(table.claim(2, OWNER_WINDOW as u64 * OWNER_ENTRIES as u64), Err(OwnerError::TableFull));
    table.with(|owners| owners.forget(1));
    table.claim(2, 0).expect("all forgotten");
}

/// Four threads claim and release the same few keys, which all want the same place. Two owners at a time would show in
/// the counter that belongs to the key.
#[test]
fn threads_exclude_each_other() {
    const ROUNDS: u64 = if cfg!(miri) { 200 } else { 500_000 };
    let table = Table::new();
    let held = [const { AtomicU32::new(0) }; 3];
    let won = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for worker in 0..4u16 {
            let (table, held, won) = (&table, &held, &won);
            scope.spawn(move || {
                let mut random = u64::from(worker) + 1;
                for _ in 0..ROUNDS {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let key = (random >> 33) as usize % held.len();
                    let hash = key as u64 * OWNER_ENTRIES as u64;
                    let Ok(generation) = table.claim(worker, hash) else { continue };
                    assert_eq!(held[key].fetch_add(1, SeqCst), 0, "two owners");
                    assert_eq!(table.claim(worker, hash), Ok(generation));
                    won.fetch_add(1, Relaxed);
                    held[key].fetch_sub(1, SeqCst);
                    assert!(table.with(|owners| owners.release(claimant(worker, 1), hash)));
                }
            });
        }
    });
    assert!(won.load(Relaxed) > ROUNDS / 500);
}
