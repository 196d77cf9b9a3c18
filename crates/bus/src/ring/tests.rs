use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

/// A ring in private memory.
struct Own {
    indices: Box<Indices>,
    bytes: Vec<u64>,
}

impl Own {
    fn new() -> Self {
        // SAFETY: indices are atomics, and all zeros is what a new ring has.
        Self { indices: unsafe { Box::new(std::mem::zeroed()) }, bytes: vec![0; RING_BYTES / 8] }
    }

    fn ring(&mut self) -> Ring<'_> {
        Ring { indices: &self.indices, bytes: self.bytes.as_mut_ptr().cast(), words: (RING_BYTES / 8) as u64 }
    }
}

fn message<'a>(kind: MessageKind, key: &'a [u8], payload: &'a [u8]) -> Message<'a> {
    Message { kind, topic: Topic(77), key, payload }
}

/// Takes the next message out; None if there is none.
fn pop(ring: &Ring<'_>) -> Option<(MessageKind, Vec<u8>, Vec<u8>)> {
    match ring.peek() {
        Popped::Empty => None,
        Popped::Message { kind, topic, key, payload, end } => {
            assert_eq!(topic, Topic(77));
            let taken = (kind, key.to_vec(), payload.to_vec());
            ring.give_back(end);
            Some(taken)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_longest_message_always_fits_into_an_empty_ring() {
    let mut own = Own::new();
    let ring = own.ring();
    let long = vec![1; MESSAGE_MAX];
    for n in 0..1000 {
        assert!(ring.push(&message(MessageKind::Oneway, &[], &long[..n])));
        pop(&ring).expect("the short one");
        assert!(ring.push(&message(MessageKind::Request(RequestId(n as u64)), &[], &long)), "after {n}");
        assert_eq!(pop(&ring).expect("the long one").2.len(), MESSAGE_MAX);
    }
}

#[test]
fn a_full_ring_refuses_and_takes_again_what_was_given_back() {
    let mut own = Own::new();
    let ring = own.ring();
    let mut sent = 0;
    while ring.push(&message(MessageKind::Oneway, &[], &[7; 56])) {
        sent += 1;
    }
    assert_eq!(sent, RING_BYTES / 64);
    pop(&ring).expect("one");
    assert!(ring.push(&message(MessageKind::Oneway, &[], &[7; 56])));
    assert!(!ring.push(&message(MessageKind::Oneway, &[], &[])));
}

#[test]
fn a_message_that_kills_its_receivers_is_left_out() {
    let mut own = Own::new();
    let ring = own.ring();
    ring.push(&message(MessageKind::Oneway, &[], b"poison"));
    ring.push(&message(MessageKind::Oneway, &[], b"good"));
    for _ in 0..DELIVERIES_MAX {
        assert!(matches!(ring.peek(), Popped::Message { payload: b"poison", .. }));
    }
    assert_eq!(ring.peek(), Popped::Abandoned);
    assert_eq!(pop(&ring).expect("the other").2, b"good");
}

/// What `make miri` has to report: see `scripts/miri.sh`.
#[test]
#[ignore = "writes behind the ring's memory"]
fn planted_a_ring_that_is_longer_than_its_memory() {
    let mut own = Own::new();
    own.bytes = vec![0; RING_BYTES / 16];
    let ring = own.ring();
    while ring.push(&message(MessageKind::Oneway, b"k", &[7; 1000])) {}
}

#[test]
fn what_was_not_published_was_never_there() {
    let mut own = Own::new();
    own.bytes.fill(u64::MAX);
    let ring = own.ring();
    assert_eq!(ring.peek(), Popped::Empty);
    ring.push(&message(MessageKind::Oneway, b"key", b"whole"));
    assert_eq!(pop(&ring), Some((MessageKind::Oneway, b"key".to_vec(), b"whole".to_vec())));
}

#[derive(Clone, Debug)]
enum Step {
    Push(u8, usize, usize),
    Pop,
}

fn step() -> impl Strategy<Value = Step> {
    let length = prop_oneof![4 => 0..200usize, 1 => 0..MESSAGE_MAX];
    prop_oneof![
        (0..3u8, 0..40usize, length).prop_map(|(kind, key, payload)| Step::Push(kind, key, payload)),
        Just(Step::Pop)
    ]
}

proptest! {
    #[test]
    fn it_is_a_queue(steps in proptest::collection::vec(step(), 0..400)) {
        let mut own = Own::new();
        let ring = own.ring();
        let mut model = VecDeque::new();
        for (n, step) in steps.into_iter().enumerate() {
            match step {
                Step::Push(kind, key, payload) => {
                    let kind = [MessageKind::Oneway, MessageKind::Request(RequestId(n as u64)), MessageKind::Reply(RequestId(!n as u64))][kind as usize];
                    let (key, payload) = (vec![n as u8; key], vec![!n as u8; payload.min(MESSAGE_MAX - key)]);
                    if ring.push(&message(kind, &key, &payload)) {
                        model.push_back((kind, key, payload));
                    } else {
                        prop_assert!(!model.is_empty());
                    }
                }
                Step::Pop => prop_assert_eq!(pop(&ring), model.pop_front()),
            }
        }
        while let Some(expected) = model.pop_front() {
            prop_assert_eq!(pop(&ring), Some(expected));
        }
        prop_assert_eq!(pop(&ring), None);
    }

    #[test]
    fn garbage_is_thrown_away_and_the_ring_works_again(
        words in proptest::collection::vec(any::<u64>(), 1..64),
        head in any::<u64>(),
        tail in prop_oneof![any::<u64>(), 0..RING_BYTES as u64],
    ) {
        let mut own = Own::new();
        for (at, word) in own.bytes.iter_mut().enumerate() {
            *word = words[at % words.len()] ^ if at % 3 == 0 { MARK } else { 0 };
        }
        let ring = own.ring();
        ring.indices.consumer.head.store(head, Relaxed);
        ring.indices.producer.tail.store(head.wrapping_add(tail), Relaxed);
        for _ in 0..RING_BYTES {
            match ring.peek() {
                Popped::Empty => break,
                Popped::Message { end, .. } => ring.give_back(end),
                Popped::Abandoned | Popped::Damaged => {}
            }
        }
        prop_assert_eq!(ring.peek(), Popped::Empty);
    }
}
