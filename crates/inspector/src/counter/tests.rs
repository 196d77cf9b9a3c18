use super::count::MAX_MEMBERS;
use super::*;
use crate::config::{Config, Counter, DetectorConfig, StoreConfig};
use std::path::Path;
use std::time::Duration;
use weir_inspect::own::ReceivedQuestion;

fn counters(text: &str) -> Vec<Counter> {
    let document = format!("listen: [\"127.0.0.1:1\"]\ndetectors: {{d: {{kind: counters, limits: [{text}]}}}}\n");
    let config = Config::parse(&document, Path::new("inspector.yaml")).unwrap_or_else(|errors| panic!("{errors}"));
    match config.detectors.into_values().next() {
        Some(DetectorConfig::Counters(config)) => config.limits.into_iter().map(|limit| limit.counter).collect(),
        _ => panic!("no detector"),
    }
}

fn question(client: &str, target: &str, user: &str) -> ReceivedQuestion {
    ReceivedQuestion {
        client: client.parse().ok(),
        method: b"GET".to_vec(),
        target: target.as_bytes().to_vec(),
        host: b"shop.example".to_vec(),
        headers: vec![(b"Host".to_vec(), b"shop.example".to_vec()), (b"X-User".to_vec(), user.as_bytes().to_vec())],
        ..ReceivedQuestion::default()
    }
}

async fn store(counters: &Counters, keys: usize) -> Store {
    Store::new("d", counters, &StoreConfig { keys, redis: None }).unwrap()
}

async fn count(counters: &Counters, store: &Store, question: &ReceivedQuestion, now_ms: u64) -> Vec<u64> {
    let counts = counters.of(question, now_ms).unwrap();
    store.count(&counts, now_ms, Duration::from_secs(1)).await
}

#[test]
fn conditions_and_keys_are_expressions() {
    let counters = Counters::new(counters(
        r#"{id: logins, rate: 5/10s, key: 'http.request.headers["x-user"][0]', when: 'http.request.uri.path eq "/login"'},
           {id: all, rate: 5/10s, key: ip.src}, {id: users, rate: 5/10s, key: ip.src, distinct: 'http.request.headers["x-user"][0]'}"#,
    ))
    .unwrap();
    let of = |client: &str, target: &str, user: &str| counters.of(&question(client, target, user), 0).unwrap();
    let login = of("192.0.2.1", "/login", "a");
    assert_eq!(login.iter().map(|count| count.counter).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(of("192.0.2.1", "/", "a").iter().map(|count| count.counter).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(login[0].key, of("192.0.2.9", "/login", "a")[0].key, "by user, not by address");
    assert_ne!(login[0].key, of("192.0.2.1", "/login", "b")[0].key);
    assert_ne!(login[2].member, of("192.0.2.1", "/login", "b")[2].member);
    let none = of("192.0.2.1", "/login", "");
    assert_eq!(none[2].member, None, "no value, nothing to count");
    assert_ne!(none[0].key, of("192.0.2.2", "/login", "")[0].key, "without a key, by address");
    let (near, far) = (of("2001:db8::1", "/", "")[0].key, of("2001:db8:0:1::1", "/", "")[0].key);
    assert_eq!(near, of("2001:db8::ffff", "/", "")[0].key, "a /64 counts together");
    assert_ne!(near, far);
    assert!(counters.of(&ReceivedQuestion::default(), 0).is_none(), "without an address");
}

#[tokio::test]
async fn a_window_slides() {
    let counters = Counters::new(counters("{id: all, rate: 5/10s, key: ip.src}")).unwrap();
    let store = store(&counters, 1000).await;
    let ask = question("192.0.2.1", "/", "");
    for expected in 1..=10 {
        assert_eq!(count(&counters, &store, &ask, 10_000 + expected).await, [expected]);
    }
    // Half of the earlier window is still covered, then a tenth, then nothing.
    assert_eq!(count(&counters, &store, &ask, 25_000).await, [6]);
    assert_eq!(count(&counters, &store, &ask, 29_000).await, [3]);
    assert_eq!(count(&counters, &store, &ask, 55_000).await, [1]);
    assert_eq!(count(&counters, &store, &question("192.0.2.2", "/", ""), 55_000).await, [1], "another key");
}

/// The error of two windows against an exact log, for arrivals that are as bad as can be and for steady ones.
#[tokio::test]
async fn the_error_of_a_window_is_bounded() {
    let counters = Counters::new(counters("{id: all, rate: 5/10s, key: ip.src}")).unwrap();
    let steady: Vec<u64> = (0..400).map(|n| 10_000 + n * 100).collect();
    let burst: Vec<u64> = (0..100).map(|n| 19_900 + n).chain((0..50).map(|n| 25_000 + n * 10)).collect();
    // The burst of 100 at the end of a window counts half when half of that window is covered.
    for (arrivals, most_wrong) in [(steady, 1), (burst, 55)] {
        let store = store(&counters, 1000).await;
        for (at, now) in arrivals.iter().enumerate() {
            let exact = arrivals[..=at].iter().filter(|then| *then + 10_000 > *now).count() as u64;
            let [counted] = count(&counters, &store, &question("192.0.2.1", "/", ""), *now).await[..] else { panic!() };
            assert!(counted.abs_diff(exact) <= most_wrong, "{counted} instead of {exact} at {now}");
        }
    }
}

#[tokio::test]
async fn distinct_values_are_counted_exactly() {
    let text = r#"{id: users, rate: 5/10s, key: ip.src, distinct: 'http.request.headers["x-user"][0]'}"#;
    let counters = Counters::new(counters(text)).unwrap();
    let store = store(&counters, 10_000).await;
    for (now, user, expected) in [
        (1000, "a", 1),
        (2000, "b", 2),
        (3000, "a", 2),
        (9000, "c", 3),
        (11_500, "", 3),
        (12_001, "c", 2),
        (40_000, "", 0),
    ] {
        let ask = question("192.0.2.1", "/", user);
        assert_eq!(count(&counters, &store, &ask, now).await, [expected], "at {now}");
    }
    for user in 0..2 * MAX_MEMBERS {
        let counted = count(&counters, &store, &question("192.0.2.7", "/", &user.to_string()), 50_000).await;
        assert_eq!(counted, [(user + 1).min(MAX_MEMBERS) as u64]);
    }
}

#[tokio::test]
async fn keys_beyond_the_bound_are_never_counted_too_low() {
    let counters =
        Counters::new(counters("{id: all, rate: 5/10s, key: 'http.request.headers[\"x-user\"][0]'}")).unwrap();
    let store = store(&counters, 160).await;
    for user in 0..10_000 {
        count(&counters, &store, &question("192.0.2.1", "/", &user.to_string()), 10_000).await;
    }
    for expected in 1..5 {
        let [counted] = count(&counters, &store, &question("192.0.2.1", "/", "late"), 10_000).await[..] else {
            panic!()
        };
        assert!(counted >= expected);
    }
}
