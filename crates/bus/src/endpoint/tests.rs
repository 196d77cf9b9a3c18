//! What a process leaves that was killed between two instructions, step by step; `tests/kills.rs` leaves it to chance.

use super::*;

const TOPIC: Topic = Topic(16);

struct Two {
    _dir: tempfile::TempDir,
    region: Arc<Region>,
}

fn two() -> Two {
    let dir = tempfile::tempdir().unwrap();
    let region = Arc::new(Region::create(dir.path(), 1, 2).unwrap());
    Two { _dir: dir, region }
}

impl Two {
    fn attach(&self, worker: u16) -> Endpoint {
        self.region.attach(Address::Worker(worker)).unwrap()
    }

    fn is_rung(&self, worker: usize) -> bool {
        let mut poll = libc::pollfd { fd: self.region.bell(worker).fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid pollfd.
        unsafe { libc::poll(&raw mut poll, 1, 0) == 1 }
    }
}

#[test]
fn a_sender_that_dies_before_it_has_rung_is_made_up_for_by_its_successor() {
    let message = Message { kind: MessageKind::Oneway, topic: TOPIC, key: &[], payload: b"x" };
    // Published only; published and marked, but not rung.
    for marked in [false, true] {
        let two = two();
        let (sender, receiver) = (two.attach(0), two.attach(1));
        receiver.receive(&mut |_| {});
        assert!(two.region.ring(0, 1).push(&message));
        if marked {
            two.region.participant(1).mark(0);
        }
        std::mem::forget(sender);
        assert!(!two.is_rung(1));
        let _successor = two.attach(0);
        assert!(two.is_rung(1), "marked: {marked}");
        assert_eq!(receiver.receive(&mut |_| {}), 1, "marked: {marked}");
    }
}

#[test]
fn a_receiver_that_dies_before_it_has_read_is_made_up_for_by_its_successor() {
    let two = two();
    let (sender, receiver) = (two.attach(0), two.attach(1));
    receiver.receive(&mut |_| {});
    sender.send(Address::Worker(1), TOPIC, b"x").unwrap();
    // It has cleared its bell and taken the bits.
    two.region.bell(1).clear();
    receiver.slot().pending.iter().for_each(|word| word.store(0, std::sync::atomic::Ordering::SeqCst));
    std::mem::forget(receiver);
    let successor = two.attach(1);
    assert!(two.is_rung(1));
    assert_eq!(successor.receive(&mut |_| {}), 1);
}

#[test]
fn a_reason_is_cut_between_characters() {
    let two = two();
    let (worker, control) = (two.attach(0), two.region.attach(Address::Control).unwrap());
    let reason = format!("{}é", "x".repeat(MESSAGE_MAX - 9));
    worker.refuse(7, &reason).unwrap();
    let mut length = 0;
    control.receive(&mut |message| length = message.payload.len());
    assert_eq!(length, MESSAGE_MAX - 1);
}
