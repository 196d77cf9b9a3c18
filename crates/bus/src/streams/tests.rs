use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use super::*;
use crate::streams::layout::{GRANULE_WORDS, head};

fn message<'a>(topic: &'a [u8], payload: &'a [u8]) -> Outgoing<'a> {
    Outgoing { kind: 1, target: 255, id: 7, topic, payload }
}

fn open(dir: &tempfile::TempDir) -> Arc<Streams> {
    Arc::new(Streams::open_or_create(dir.path(), STREAMS_BYTES_MIN, 2).unwrap())
}

/// Topic and payload.
type Found = (Vec<u8>, Vec<u8>);

/// All messages from a position on; a hole is an empty topic.
fn all(stream: Stream<'_>, mut at: u64) -> (Vec<Found>, u64) {
    let (mut found, mut buffer) = (Vec::new(), Vec::new());
    loop {
        match stream.read(at, &mut buffer) {
            Read::Message(message, next) => {
                found.push((message.topic(&buffer).to_vec(), message.payload(&buffer).to_vec()));
                at = next;
            }
            Read::Hole(next) | Read::Damaged(next) => {
                found.push((Vec::new(), Vec::new()));
                at = next;
            }
            Read::End | Read::Unfinished => return (found, at),
            Read::Overrun(next) => at = next,
        }
    }
}

#[test]
fn messages_of_all_lengths_come_back_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let streams = open(&dir);
    let stream = streams.stream(3);
    let mut at = stream.end();
    let mut buffer = Vec::new();
    for n in 0..20_000usize {
        let topic = vec![b't'; n % 23];
        let payload: Vec<u8> = (0..n % 311).map(|byte| (byte * 7 + n) as u8).collect();
        let next = stream.publish(&message(&topic, &payload), n as u64).unwrap();
        let Read::Message(found, behind) = stream.read(at, &mut buffer) else { panic!("message {n}") };
        assert_eq!((found.topic(&buffer), found.payload(&buffer)), (&topic[..], &payload[..]), "message {n}");
        assert_eq!((found.kind, found.target, found.id, found.time_ms, behind), (1, 255, 7, n as u64, next));
        at = next;
    }
    assert_eq!(stream.read(at, &mut buffer), Read::End);
    assert_eq!(stream.counts(), (20_000, 0));
}

#[test]
fn a_message_takes_an_eighth_of_its_stream_at_most() {
    let dir = tempfile::tempdir().unwrap();
    let streams = open(&dir);
    let stream = streams.stream(0);
    let max = stream.message_max();
    assert_eq!(max, (128 << 10) / 8 - 48);
    assert!(stream.publish(&message(b"t", &vec![1; max - 1]), 0).is_ok());
    assert_eq!(stream.publish(&message(b"t", &vec![1; max]), 0), Err(PublishError::TooLong { max }));
    assert!(stream.publish(&message(&[b't'; TOPIC_MAX + 1], b""), 0).is_err());
    assert_eq!(all(stream, 0).0.len(), 1);
}

#[test]
fn a_reader_that_falls_behind_is_told_and_goes_on_with_the_oldest() {
    let dir = tempfile::tempdir().unwrap();
    let streams = open(&dir);
    let stream = streams.stream(0);
    let mut buffer = Vec::new();
    for n in 0..100_000u32 {
        stream.publish(&message(b"t", &n.to_le_bytes()), 0).unwrap();
    }
    let Read::Overrun(oldest) = stream.read(0, &mut buffer) else { panic!("not overrun") };
    let (found, _) = all(stream, oldest);
    let numbers: Vec<u32> =
        found.iter().map(|(_, payload)| u32::from_le_bytes(payload[..].try_into().unwrap())).collect();
    // 128 KiB of messages of 64 bytes, but for what the coarse index leaves out.
    assert!((2000..=2048).contains(&numbers.len()), "{}", numbers.len());
    assert!(numbers.iter().copied().eq(100_000 - numbers.len() as u32..100_000), "in order, up to the last");
    // A client may ask for any position.
    for at in [1, oldest + 1, stream.end() + 1, u64::MAX, u64::MAX / 64] {
        assert!(!matches!(stream.read(at, &mut buffer), Read::Unfinished), "{at}");
    }
}

#[test]
fn what_a_killed_sender_has_reserved_is_stepped_over() {
    let dir = tempfile::tempdir().unwrap();
    let streams = open(&dir);
    let stream = streams.stream(0);
    let mut buffer = Vec::new();
    stream.publish(&message(b"a", b"1"), 0).unwrap();
    let at = stream.end();
    // Killed after the tail has advanced, before anything is written: only the tail knows the length.
    let tail = &stream.head[head::TAIL];
    tail.store(at << 19 | 5, Relaxed);
    assert_eq!(stream.read(at, &mut buffer), Read::Unfinished);
    // The next sender writes the header for it.
    stream.publish(&message(b"b", b"2"), 0).unwrap();
    assert_eq!(stream.read(at, &mut buffer), Read::Unfinished);
    stream.abandon(at);
    let (found, _) = all(stream, 0);
    assert_eq!(found, [(b"a".to_vec(), b"1".to_vec()), (vec![], vec![]), (b"b".to_vec(), b"2".to_vec())]);
    // The same with nobody behind it.
    let at = stream.end();
    tail.store(at << 19 | 5, Relaxed);
    assert_eq!(stream.read(at, &mut buffer), Read::Unfinished);
    stream.abandon(at);
    assert_eq!(stream.read(at, &mut buffer), Read::Hole(at + 5));
}

#[test]
fn damage_is_a_hole() {
    let dir = tempfile::tempdir().unwrap();
    let streams = open(&dir);
    let stream = streams.stream(0);
    for n in 0..3u8 {
        stream.publish(&message(b"t", &[n; 100]), 0).unwrap();
    }
    let second = 3 * GRANULE_WORDS;
    // The word of groups, which changes after publication, is not covered.
    for word in 2..2 * GRANULE_WORDS {
        let cell = &stream.data[second + word];
        let before = cell.load(Relaxed);
        cell.store(before ^ 1 << 17, Relaxed);
        let whole = all(stream, 0).0.iter().filter(|(topic, _)| !topic.is_empty()).count();
        assert_eq!(whole, 2, "word {word}");
        cell.store(before, Relaxed);
    }
    assert_eq!(all(stream, 0).0.len(), 3);
}

#[test]
fn many_senders_lose_nothing_and_keep_their_order() {
    const SENDERS: u64 = 4;
    const EACH: u64 = 20_000;
    let dir = tempfile::tempdir().unwrap();
    let streams = Arc::new(Streams::open_or_create(dir.path(), (16 * 32) << 20, 2).unwrap());
    thread::scope(|scope| {
        for sender in 0..SENDERS {
            let streams = &streams;
            scope.spawn(move || {
                for n in 0..EACH {
                    let payload = [sender.to_le_bytes(), n.to_le_bytes()].concat();
                    streams.stream(1).publish(&message(b"t", &payload.repeat(1 + (n % 9) as usize)), 0).unwrap();
                }
            });
        }
        let streams = &streams;
        scope.spawn(move || {
            let (mut next, mut at, mut buffer) = ([0; SENDERS as usize], 0, Vec::new());
            while next.iter().sum::<u64>() < SENDERS * EACH {
                match streams.stream(1).read(at, &mut buffer) {
                    Read::Message(found, behind) => {
                        let word =
                            |n: usize| u64::from_le_bytes(found.payload(&buffer)[8 * n..][..8].try_into().unwrap());
                        assert_eq!(word(1), next[word(0) as usize]);
                        next[word(0) as usize] += 1;
                        at = behind;
                    }
                    Read::End | Read::Unfinished => thread::yield_now(),
                    other => panic!("{other:?}"),
                }
            }
        });
    });
}

#[test]
fn a_file_is_kept_as_long_as_its_size_is_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let first = open(&dir);
    first.stream(2).publish(&message(b"t", b"kept"), 0).unwrap();
    let again = open(&dir);
    assert_eq!(again.epoch(), first.epoch());
    assert_eq!(all(again.stream(2), 0).0.len(), 1);
    let other = Streams::open_or_create(dir.path(), 2 * STREAMS_BYTES_MIN, 2).unwrap();
    assert_ne!(other.epoch(), first.epoch());
    assert_eq!(Streams::open(dir.path()).unwrap().epoch(), other.epoch());
    std::fs::write(dir.path().join("messages"), b"rubbish").unwrap();
    assert!(Streams::open(dir.path()).is_err());
    assert!(Streams::open_or_create(dir.path(), STREAMS_BYTES_MIN, 2).is_ok());
}

#[test]
fn names_have_one_stream_each() {
    let dir = tempfile::tempdir().unwrap();
    let streams = open(&dir);
    let names: Vec<String> = (0..STREAMS).map(|n| format!("s{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let claimed: Vec<_> = names.iter().map(|name| streams.claim(name, &names).unwrap()).collect();
    assert!((0..STREAMS).all(|n| claimed.contains(&n)));
    assert_eq!(streams.claim("s3", &names), Some(claimed[3]));
    streams.stream(claimed[5]).publish(&message(b"t", b"of another name"), 0).unwrap();
    assert_eq!(streams.claim("one more", &names), None);
    let kept: Vec<&str> = names.iter().copied().filter(|name| *name != "s5").collect();
    assert_eq!(streams.claim("one more", &kept), Some(claimed[5]));
    assert_eq!(streams.oldest(claimed[5]), streams.stream(claimed[5]).end());
}

#[test]
fn processes_that_claim_a_name_at_once_get_the_same_stream() {
    let dir = tempfile::tempdir().unwrap();
    let streams = open(&dir);
    for round in 0..3000 {
        let names: Vec<String> = (0..STREAMS).map(|n| format!("{round}.{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let claim = || names.iter().map(|name| streams.claim(name, &names)).collect::<Vec<_>>();
        let barrier = Barrier::new(2);
        let both = thread::scope(|scope| {
            let other = scope.spawn(|| {
                barrier.wait();
                claim()
            });
            barrier.wait();
            [claim(), other.join().unwrap()]
        });
        assert_eq!(both[0], both[1], "round {round}");
    }
}

#[test]
fn followers_are_woken_once_until_they_look() {
    let readable = |follower: &Follower| {
        let mut poll = libc::pollfd { fd: follower.bell(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, which is open.
        unsafe { libc::poll(&raw mut poll, 1, 0) == 1 }
    };
    let dir = tempfile::tempdir().unwrap();
    let streams = open(&dir);
    let (a, b) = (streams.follow(None).unwrap(), streams.follow(None).unwrap());
    assert!(readable(&a) && readable(&b), "something may have been there before");
    a.clear();
    b.clear();
    assert!(!readable(&a) && !readable(&b));
    a.wake_others();
    assert!(!readable(&a) && readable(&b));
    b.clear();
    let slots: Vec<_> = std::iter::from_fn(|| streams.follow(None).ok()).collect();
    assert_eq!(slots.len(), 14 - 2);
    drop(slots);
    assert!(streams.follow(None).is_ok());
    thread::sleep(Duration::ZERO);
}

#[test]
fn a_message_is_taken_once_by_each_group() {
    let dir = tempfile::tempdir().unwrap();
    let streams = open(&dir);
    let (one, other) = (streams.group(b"one").unwrap(), streams.group(b"other").unwrap());
    assert_eq!((streams.group(b"one"), one == other), (Some(one), false));
    let stream = streams.stream(BUS);
    stream.publish(&message(b"t", b"1"), 0).unwrap();
    assert_eq!([one, one, other, other, GROUPS].map(|group| stream.take(0, group)), [true, false, true, false, false]);
    assert_eq!(all(stream, 0).0.len(), 1, "it can be read as before");
    for _ in 0..5000 {
        stream.publish(&message(b"t", b"2"), 0).unwrap();
    }
    assert!(!stream.take(0, one), "of a message that is gone");
    assert!((2..GROUPS).all(|n| streams.group(format!("g{n}").as_bytes()).is_some()) && streams.group(b"x").is_none());
}

#[test]
fn a_key_has_one_owner_until_it_is_released_or_its_owner_ends() {
    let dir = tempfile::tempdir().unwrap();
    let streams = open(&dir);
    let (one, other) = (streams.follow(Some(0)).unwrap(), streams.follow(Some(1)).unwrap());
    assert_eq!((streams.worker(1), streams.worker(2)), (Some(other.slot()), None));
    assert!(one.claim(b"k").is_ok() && one.claim(b"k").is_ok());
    assert!(other.claim(b"k").is_err() && !other.release(b"k"));
    assert_eq!(streams.owner(b"k"), Some(one.slot()));
    assert!(one.release(b"k") && other.claim(b"k").is_ok());
    drop(other);
    assert_eq!(streams.owner(b"k"), None);
    assert!(one.claim(b"k").is_ok());
    let most = keys_max(STREAMS_BYTES_MIN);
    assert!((0..most as u32 - 1).all(|n| one.claim(&n.to_le_bytes()).is_ok()), "{most} keys");
}
