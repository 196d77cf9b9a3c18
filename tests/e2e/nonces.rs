//! A million signed requests, each sent twice at the same time, and some again after a reload: each passes once.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Barrier;
use std::thread;

use weir_auth::message::{Algorithm, MessageSigner};
use weir_auth::{Secret, Signer, SigningKey, Unsigned};
use weir_tests::{Nginx, Setup};

use crate::authentication::now_ms;

const SECRET: &str = "a shared secret of forty bytes, or nearly";
/// Nonces in one window.
const NONCES: u64 = 1_000_000;
/// Requests that are sent before their answers are read.
const BATCH: u64 = 100;
/// Pairs of connections that send the same at the same time.
const PAIRS: u64 = 4;

/// A signed request on the wire.
fn wire(signer: &MessageSigner, number: u64, now_ms: u64) -> Vec<u8> {
    let random = u128::from(number).to_le_bytes();
    let (method, authority, target) = ("GET", "weir.test", "/a.txt");
    let unsigned = Unsigned { method, is_tls: false, authority, target, headers: &[], body: b"", now_ms, random };
    let signed = signer.sign(&unsigned, "shop-1", &SigningKey::Secret(Secret::new(SECRET))).unwrap();
    let mut request = format!("{method} {target} HTTP/1.1\r\nHost: {authority}\r\n");
    signed.headers.iter().for_each(|(name, value)| request.push_str(&format!("{name}: {value}\r\n")));
    (request + "\r\n").into_bytes()
}

/// Sends requests and gives the status of each answer.
fn statuses(connection: &mut TcpStream, wire: &[u8], count: u64) -> Vec<u16> {
    connection.write_all(wire).unwrap();
    let (mut statuses, mut read) = (Vec::new(), Vec::new());
    let mut buffer = [0; 65536];
    while (statuses.len() as u64) < count {
        let length = connection.read(&mut buffer).unwrap();
        assert!(length > 0, "the connection was closed after {} of {count} answers", statuses.len());
        read.extend_from_slice(&buffer[..length]);
        let mut at = 0;
        while let Some(found) = memchr::memmem::find(&read[at..], b"HTTP/1.1 ") {
            let Some(status) = read.get(at + found + 9..at + found + 12) else { break };
            statuses.push(std::str::from_utf8(status).unwrap().parse().unwrap());
            at += found + 12;
        }
        read.drain(..at);
    }
    statuses
}

/// Sends these numbers twice at the same time; how many of each pair have passed, and answers besides 200 and 401.
fn send_twice(nginx: &Nginx, numbers: std::ops::Range<u64>) -> (HashMap<usize, u64>, u64) {
    let signer = MessageSigner { nonce: true, ..MessageSigner::new(Algorithm::HmacSha256) };
    let connect = || TcpStream::connect(("127.0.0.1", nginx.port)).unwrap();
    let (mut passed, mut other) = (HashMap::new(), 0);
    let (mut one, mut two) = (connect(), connect());
    let mut first = numbers.start;
    while first < numbers.end {
        let count = BATCH.min(numbers.end - first);
        let now_ms = now_ms();
        let wire: Vec<u8> = (first..first + count).flat_map(|number| wire(&signer, number, now_ms)).collect();
        let barrier = Barrier::new(2);
        let send = |connection: &mut TcpStream| {
            barrier.wait();
            statuses(connection, &wire, count)
        };
        let (one, two) = thread::scope(|scope| {
            let other = scope.spawn(|| send(&mut two));
            (send(&mut one), other.join().unwrap())
        });
        for pair in one.iter().zip(&two) {
            *passed.entry([pair.0, pair.1].iter().filter(|status| ***status == 200).count()).or_default() += 1;
            other += [pair.0, pair.1].iter().filter(|status| ![200, 401].contains(**status)).count() as u64;
        }
        first += count;
    }
    (passed, other)
}

#[test]
#[ignore = "takes minutes: `make nonces`"]
fn a_million_nonces_in_one_window_pass_once_each() {
    let text = format!(
        "consumers:\n  shop:\n    credentials: [{{signature: {{id: shop-1, secret: \"{SECRET}\"}}}}]\npolicies:\n  - id: p\n    \
         rules:\n      - {{id: once, when: 'true', action: {{verify_signature: {{scheme: message_signatures, \
         replay: refuse, clock_skew: 1h}}}}}}\n"
    );
    let nginx = Setup::policy(&text)
        .workers(4)
        .error_level("warn")
        .file("html/a.txt", "a")
        .http("keepalive_requests 100000000; weir_nonce_zone 24m;")
        .server("weir_access_log off; weir_attack_log off;")
        .start();
    thread::sleep(std::time::Duration::from_millis(1100)); // signatures have seconds
    let mut passed: HashMap<usize, u64> = HashMap::new();
    let mut run = |numbers: std::ops::Range<u64>| {
        let share = (numbers.end - numbers.start) / PAIRS;
        thread::scope(|scope| {
            let pairs: Vec<_> = (0..PAIRS)
                .map(|pair| {
                    let (from, nginx) = (numbers.start + pair * share, &nginx);
                    scope.spawn(move || send_twice(nginx, from..from + share))
                })
                .collect();
            for pair in pairs {
                let (found, other) = pair.join().unwrap();
                assert_eq!(other, 0, "answers besides 200 and 401");
                found.into_iter().for_each(|(count, pairs)| *passed.entry(count).or_default() += pairs);
            }
        });
        std::mem::take(&mut passed)
    };
    let begun = std::time::Instant::now();
    assert_eq!(run(0..NONCES / 2), HashMap::from([(1, NONCES / 2)]), "of two equal requests one passes");
    nginx.reload();
    assert_eq!(run(NONCES / 2..NONCES), HashMap::from([(1, NONCES / 2)]), "also after a reload");
    println!("{NONCES} nonces, each twice at once, in {:.0?}: each passed once", begun.elapsed());
    // Their signatures have another time, but the nonce is what counts.
    assert_eq!(run(0..NONCES / 10), HashMap::from([(0, NONCES / 10)]), "and none a second time");
    assert!(nginx.crashes().is_empty());
}
