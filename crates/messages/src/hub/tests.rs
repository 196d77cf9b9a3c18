use super::*;

const NOW: u64 = 1_000_000;
const LIMIT: usize = 4096;

struct Worker {
    hub: Hub<u32>,
}

impl Worker {
    fn new(streams: &Arc<Streams>, count: u32) -> Self {
        let mut hub = Hub::new(streams, None).unwrap();
        assert!(hub.configure(&[set(count)], NOW).is_empty());
        Self { hub }
    }

    fn join(&mut self, filters: &[&str], start: Start) -> Key {
        let key = self.hub.join("all", Form::Poll, LIMIT, 0).unwrap();
        self.hub.subscribe(key, filters, start, false, 10).unwrap();
        key
    }

    /// What subscribers are written until nothing is left: one line for each frame.
    fn run(&mut self) -> Vec<(Key, String)> {
        let mut written = Vec::new();
        loop {
            let rest = self.hub.receive(NOW);
            while let Some(key) = self.hub.next_due(NOW) {
                let one = self.hub.subscriber(key).unwrap();
                written.extend(one.pieces(usize::MAX).map(|piece| (key, String::from_utf8_lossy(piece).into_owned())));
                one.advance(one.waiting());
                if one.is_behind() {
                    self.hub.has_room(key);
                }
            }
            if rest == Rest::Nothing {
                return written;
            }
        }
    }
}

fn set(count: u32) -> TopicSet {
    let history = Bounds { count, age_ms: 60_000 };
    TopicSet {
        id: "all".into(),
        filters: vec!["a/#".into(), "b".into(), "room".into(), "other/#".into()],
        history,
        max_message: 100,
        presence: false,
    }
}

fn streams(dir: &tempfile::TempDir) -> Arc<Streams> {
    Arc::new(Streams::open_or_create(dir.path(), weir_bus::streams::STREAMS_BYTES_MIN, 4).unwrap())
}

fn texts(written: &[(Key, String)], key: Key) -> Vec<String> {
    let of_key = written.iter().filter(|(of, _)| *of == key);
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    of_key.map(|(_, text)| value(text)).map(|it| it["data"].as_str().map_or("gap".into(), ToOwned::to_owned)).collect()
}

#[test]
fn messages_reach_subscribers_of_every_worker_once() {
    let dir = tempfile::tempdir().unwrap();
    let streams = streams(&dir);
    let (mut one, mut two) = (Worker::new(&streams, 0), Worker::new(&streams, 0));
    let exact = one.join(&["a/x", "a/+", "a/#"], Start::Now);
    let wild = two.join(&["a/#"], Start::Now);
    let other = two.join(&["b"], Start::Now);
    for (topic, text) in [("a/x", "1"), ("b", "2"), ("a/y/z", "3")] {
        one.hub.publish("all", topic, text.as_bytes(), NOW).unwrap();
    }
    let (first, second) = (one.run(), two.run());
    assert_eq!(texts(&first, exact), ["1", "3"]);
    assert_eq!(texts(&second, wild), ["1", "3"]);
    assert_eq!(texts(&second, other), ["2"]);
}

#[test]
fn what_is_not_of_the_set_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut worker = Worker::new(&streams(&dir), 0);
    assert!(matches!(worker.hub.publish("all", "c", b"", NOW), Err(Refusal::Foreign(_))));
    assert!(matches!(worker.hub.publish("all", "a/+", b"", NOW), Err(Refusal::Topic(_))));
    assert_eq!(worker.hub.publish("all", "b", &[0; 101], NOW), Err(Refusal::TooLong(100)));
    assert_eq!(worker.hub.publish("none", "b", b"", NOW), Err(Refusal::Unavailable));
    let key = worker.join(&["b"], Start::Now);
    for filters in [&["#"][..], &["+"], &["b", "c"]] {
        assert!(
            matches!(worker.hub.subscribe(key, filters, Start::Now, false, 10), Err(Refusal::Foreign(_))),
            "{filters:?}"
        );
    }
    assert_eq!(worker.hub.subscribe(key, &["a/1", "a/2"], Start::Now, false, 2), Err(Refusal::TooMany(2)));
    assert_eq!(worker.hub.subscriber(key).unwrap().filters().collect::<Vec<_>>(), ["b"]);
}

#[test]
fn a_client_that_comes_back_to_another_worker_misses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let streams = streams(&dir);
    let mut one = Worker::new(&streams, 100);
    let cursor = one.hub.publish("all", "a/x", b"seen", NOW).unwrap();
    for n in 0..50 {
        one.hub.publish("all", if n % 2 == 0 { "a/x" } else { "b" }, n.to_string().as_bytes(), NOW).unwrap();
    }
    // One that was there, one that starts now and learns of it from the memory.
    one.run();
    let mut two = Worker::new(&streams, 100);
    let mut expected: Vec<String> = (0..50).step_by(2).map(|n| n.to_string()).collect();
    for worker in [&mut one, &mut two] {
        let key = worker.join(&["a/#"], Start::After(cursor));
        assert_eq!(texts(&worker.run(), key), expected);
        worker.hub.publish("all", "a/x", b"live", NOW).unwrap();
        assert_eq!(texts(&worker.run(), key), ["live"]);
        worker.hub.leave(key);
        expected.push("live".into());
    }
}

#[test]
fn a_worker_that_is_behind_does_not_repeat_what_a_client_has_seen() {
    let dir = tempfile::tempdir().unwrap();
    let streams = streams(&dir);
    let (mut one, mut two) = (Worker::new(&streams, 10), Worker::new(&streams, 10));
    one.hub.publish("all", "b", b"1", NOW).unwrap();
    let cursor = one.hub.publish("all", "b", b"2", NOW).unwrap();
    one.hub.publish("all", "b", b"3", NOW).unwrap();
    // It has not looked yet.
    let key = two.join(&["b"], Start::After(cursor));
    assert_eq!(texts(&two.run(), key), ["3"]);
}

#[test]
fn every_gap_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let streams = streams(&dir);
    let mut worker = Worker::new(&streams, 3);
    let first = worker.hub.publish("all", "b", b"0", NOW).unwrap();
    for n in 1..10 {
        worker.hub.publish("all", "b", n.to_string().as_bytes(), NOW).unwrap();
    }
    worker.run();
    // Beyond the count, of another epoch, and of a position that never was.
    let lost = Cursor { epoch: first.epoch ^ 1, position: first.position };
    let never = Cursor { epoch: first.epoch, position: u64::MAX };
    for cursor in [first, lost, never] {
        let key = worker.join(&["b"], Start::After(cursor));
        assert_eq!(texts(&worker.run(), key), ["gap", "7", "8", "9"], "{cursor}");
        worker.hub.leave(key);
    }
    let key = worker.join(&["b"], Start::Oldest);
    assert_eq!(texts(&worker.run(), key), ["7", "8", "9"]);
}

#[test]
fn a_subscriber_that_begins_with_the_oldest_message_has_no_gap() {
    let dir = tempfile::tempdir().unwrap();
    let mut worker = Worker::new(&streams(&dir), 2);
    // The first message keeps those behind it in the index, of which two are kept.
    for (topic, text) in [("a/x", "0"), ("b", "1"), ("b", "2"), ("b", "3"), ("b", "4")] {
        worker.hub.publish("all", topic, text.as_bytes(), NOW).unwrap();
    }
    worker.run();
    let key = worker.join(&["b"], Start::Oldest);
    assert_eq!(texts(&worker.run(), key), ["3", "4"]);
    worker.hub.publish("all", "b", b"5", NOW).unwrap();
    assert_eq!(texts(&worker.run(), key), ["5"]);
}

#[test]
fn a_slow_subscriber_is_bounded_and_catches_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut worker = Worker::new(&streams(&dir), 1000);
    let key = worker.join(&["b"], Start::Now);
    for n in 0..500 {
        worker.hub.publish("all", "b", format!("{n:090}").as_bytes(), NOW).unwrap();
    }
    while worker.hub.receive(NOW) != Rest::Nothing {}
    let one = worker.hub.subscriber(key).unwrap();
    assert!(one.waiting() <= LIMIT && one.is_behind());
    let found = texts(&worker.run(), key);
    assert!(found.iter().enumerate().all(|(n, text)| *text == format!("{n:090}")) && found.len() == 500);
    assert!(!worker.hub.subscriber(key).unwrap().is_behind());
}

#[test]
fn a_slow_subscriber_without_history_has_to_go() {
    let dir = tempfile::tempdir().unwrap();
    let mut worker = Worker::new(&streams(&dir), 0);
    let (slow, other) = (worker.join(&["b"], Start::Now), worker.join(&["a/x"], Start::Now));
    for _ in 0..100 {
        worker.hub.publish("all", "b", &[b'x'; 100], NOW).unwrap();
    }
    worker.hub.receive(NOW);
    assert_eq!(worker.hub.subscriber(slow).unwrap().leaving(), Some(Leaving::Slow));
    assert_eq!(worker.hub.subscriber(other).unwrap().leaving(), None);
}

/// It got later messages that happened to fit, and its position went past the lost one.
#[test]
fn a_subscriber_that_has_to_leave_gets_nothing_behind_what_it_has_lost() {
    let dir = tempfile::tempdir().unwrap();
    let mut worker = Worker::new(&streams(&dir), 0);
    let key = worker.hub.join("all", Form::Poll, 200, 0).unwrap();
    worker.hub.subscribe(key, &["b"], Start::Now, false, 10).unwrap();
    for text in ["a".repeat(100), "b".repeat(100), "c".into()] {
        worker.hub.publish("all", "b", text.as_bytes(), NOW).unwrap();
    }
    assert_eq!(worker.hub.receive(NOW), Rest::Nothing);
    let one = worker.hub.subscriber(key).unwrap();
    assert_eq!((one.leaving(), one.pieces(10).count()), (Some(Leaving::Slow), 1));
    assert_eq!(worker.hub.counts().next().unwrap().1.slow, 1);
}

#[test]
fn a_subscription_begins_when_all_its_topics_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut worker = Worker::new(&streams(&dir), 100);
    let cursor = worker.hub.publish("all", "b", b"seen", NOW).unwrap();
    for topic in ["a/1", "b", "a/2"] {
        worker.hub.publish("all", topic, topic.as_bytes(), NOW).unwrap();
    }
    let key = worker.hub.join("all", Form::Poll, LIMIT, 0).unwrap();
    let since = Start::After(cursor);
    worker.hub.subscribe(key, &["a/1"], since, true, 10).unwrap();
    worker.hub.publish("all", "a/1", b"live", NOW).unwrap();
    assert!(worker.run().is_empty());
    worker.hub.has_room(key);
    assert!(worker.run().is_empty());
    assert_eq!(worker.hub.subscribe(key, &["a/2"], since, false, 10), Ok(cursor));
    assert_eq!(texts(&worker.run(), key), ["a/1", "a/2", "live"]);
    assert_eq!(worker.hub.subscribe(key, &["b"], since, false, 10), Err(Refusal::Begun));
    worker.hub.subscribe(key, &["b"], Start::Now, false, 10).unwrap();
}

/// One connection could push the history of the whole set out of memory.
#[test]
fn a_connection_joins_as_many_topics_as_it_may_have_and_then_one_a_second() {
    let dir = tempfile::tempdir().unwrap();
    let mut worker = Worker::new(&streams(&dir), 0);
    assert!(worker.hub.configure(&[TopicSet { presence: true, ..set(0) }], NOW).is_empty());
    let key = worker.hub.join("all", Form::WebSocket, LIMIT, 0).unwrap();
    let join =
        |worker: &mut Worker, filters: &[&str]| worker.hub.subscribe(key, filters, Start::Now, false, 3).map(|_| ());
    for filters in [&["a/1", "a/2"][..], &["a/3"]] {
        assert_eq!(join(&mut worker, filters), Ok(()));
        worker.hub.unsubscribe(key, filters);
    }
    assert_eq!(join(&mut worker, &["a/4"]), Err(Refusal::Joins(3)));
    assert_eq!(join(&mut worker, &["a/#"]), Ok(()), "wildcards join nothing");
    let _ = worker.hub.receive(NOW + 2_000);
    assert_eq!(join(&mut worker, &["a/4", "a/5"]), Ok(()));
    worker.hub.unsubscribe(key, &["a/4", "a/5"]);
    assert_eq!(join(&mut worker, &["a/6"]), Err(Refusal::Joins(3)));
}

#[test]
fn subscribers_of_topics_that_are_removed_have_to_go() {
    let dir = tempfile::tempdir().unwrap();
    let mut worker = Worker::new(&streams(&dir), 0);
    let key = worker.join(&["b"], Start::Now);
    worker.hub.configure(&[], NOW);
    assert_eq!(worker.hub.next_due(NOW), Some(key));
    assert_eq!(worker.hub.subscriber(key).unwrap().leaving(), Some(Leaving::Removed));
    assert!(worker.hub.leave(key).is_some() && worker.hub.is_empty());
    assert_eq!(worker.hub.leave(key), None);
}

#[test]
fn a_flood_that_overruns_a_worker_is_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    let streams = streams(&dir);
    let (mut one, mut two) = (Worker::new(&streams, 0), Worker::new(&streams, 10_000));
    let key = two.join(&["b"], Start::Now);
    for n in 0..5000 {
        one.hub.publish("all", "b", n.to_string().as_bytes(), NOW).unwrap();
    }
    let found = texts(&two.run(), key);
    assert_eq!(found[0], "gap");
    let numbers: Vec<u32> = found[1..].iter().map(|text| text.parse().unwrap()).collect();
    assert!(numbers.len() > 500 && numbers.iter().copied().eq(5000 - numbers.len() as u32..5000));
}

#[test]
fn all_workers_know_who_is_connected() {
    let dir = tempfile::tempdir().unwrap();
    let streams = streams(&dir);
    let with_presence = TopicSet { presence: true, ..set(0) };
    let worker = || {
        let mut worker = Worker::new(&streams, 0);
        assert!(worker.hub.configure(std::slice::from_ref(&with_presence), NOW).is_empty());
        worker
    };
    let join = |worker: &mut Worker, name: &str, filters: &[&str]| {
        let key = worker.hub.join("all", Form::WebSocket, LIMIT, 0).unwrap();
        worker.hub.set_name(key, name);
        worker.hub.subscribe(key, filters, Start::Now, false, 10).unwrap();
        key
    };
    let present = |worker: &Worker| {
        let mut text = Vec::new();
        worker.hub.present("all", "room", &mut text).unwrap();
        let list: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let names = list["present"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned());
        let mut names: Vec<String> = names.collect();
        assert_eq!(list["count"], names.len());
        names.sort();
        names.join(" ")
    };
    let (mut one, mut two) = (worker(), worker());
    let anna = join(&mut one, "anna", &["room", "other/#"]);
    let _ = (one.run(), two.run());
    one.hub.watch(anna, "room").unwrap();
    assert_eq!(one.hub.watch(anna, "+").unwrap_err().to_string(), TopicName::new(b"+").unwrap_err().to_string());
    let otto = join(&mut two, "otto", &["room"]);
    let _ = (one.run().len(), two.run(), one.run());
    assert_eq!((present(&one), present(&two)), ("anna otto".into(), "anna otto".into()));
    // One that starts later asks.
    let mut three = worker();
    let _ = (one.run(), two.run(), three.run());
    assert_eq!(present(&three), "anna otto");
    two.hub.unsubscribe(otto, &["room"]);
    let told: Vec<String> = [two.run(), one.run()].concat().into_iter().map(|(_, text)| text).collect();
    assert!(told.iter().any(|text| text.contains("\"left\"") && text.contains("otto")), "{told:?}");
    let _ = three.run();
    assert_eq!((present(&one), present(&three)), ("anna".into(), "anna".into()));
    // What a dead worker leaves behind: its slot is somebody else's then.
    drop(one);
    two.hub.bury();
    assert_eq!(present(&two), "");
}
