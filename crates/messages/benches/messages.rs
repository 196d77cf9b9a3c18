//! What a message costs: finding its subscribers, writing it once, reading one from a client.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use weir_messages::websocket::{Decoder, Opcode, encode};
use weir_messages::{Cursor, Subscriptions, TopicFilter, TopicName, frame};

fn filter(text: &str) -> TopicFilter<'_> {
    TopicFilter::new(text.as_bytes()).expect("a filter")
}

fn name(text: &str) -> TopicName<'_> {
    TopicName::new(text.as_bytes()).expect("a name")
}

/// Every filter of `a` and at most four `+` in 16 levels, which differ from any name in the last level only.
fn worst() -> Subscriptions<u64> {
    let mut subscriptions = Subscriptions::default();
    for plus in (1_u32..1 << 15).filter(|plus| plus.count_ones() <= 4) {
        let levels: String = (0..15).map(|level| if plus >> level & 1 == 1 { "+/" } else { "a/" }).collect();
        subscriptions.add(filter(&format!("{levels}z")), 0);
    }
    subscriptions
}

fn find(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("find");
    for others in [0, 100_000] {
        let mut subscriptions = Subscriptions::default();
        for text in ["orders/eu/7", "orders/+/7", "orders/#"] {
            subscriptions.add(filter(text), 0_u64);
        }
        for n in 0..others {
            let text = if n % 2 == 0 { format!("orders/us/{n}") } else { format!("orders/us/+/{n}") };
            subscriptions.add(filter(&text), 1 + n % 1_000);
        }
        group.bench_function(format!("one subscriber by three filters, beside {others}"), |bencher| {
            bencher.iter(|| subscriptions.for_each_match(name(black_box("orders/eu/7")), |id| _ = black_box(id)));
        });
    }
    let mut subscriptions = Subscriptions::default();
    for id in 0..10_000_u64 {
        subscriptions.add(filter("news"), id);
    }
    group.bench_function("10,000 subscribers by one filter", |bencher| {
        bencher.iter(|| subscriptions.for_each_match(name(black_box("news")), |id| _ = black_box(id)));
    });
    let (mut subscriptions, topic) = (worst(), ["a"; 16].join("/"));
    group.bench_function("none, by the worst filters", |bencher| {
        bencher.iter(|| subscriptions.for_each_match(name(black_box(&topic)), |id| _ = black_box(id)));
    });
}

fn frames(criterion: &mut Criterion) {
    let payload = br#"{"order": 7, "state": "shipped", "carrier": "north", "at": "2026-11-25T17:00:00Z"}"#;
    let mut out = Vec::with_capacity(1_024);
    criterion.bench_function("write a message of 80 bytes", |bencher| {
        bencher.iter(|| {
            out.clear();
            frame::message(name("orders/7"), Cursor { epoch: 0x1f3a, position: 42 }, black_box(payload), &mut out);
        });
    });
    let request = br#"{"publish": "orders/7", "data": "shipped with the carrier of the north", "id": 42}"#;
    criterion.bench_function("read a publication of 80 bytes", |bencher| {
        bencher.iter(|| frame::parse(black_box(request)).is_ok());
    });
    let mut group = criterion.benchmark_group("decode");
    for (what, opcode, length) in [("text", Opcode::Text, 80), ("text", Opcode::Text, 65_536)] {
        let mut bytes = encode(opcode, length).to_vec();
        bytes[1] |= 0x80;
        bytes.extend([0; 4]);
        bytes.resize(bytes.len() + length, b'x');
        group.throughput(Throughput::Bytes(length as u64));
        let mut decoder = Decoder::new(1 << 20);
        group.bench_function(format!("a {what} of {length} bytes"), |bencher| {
            bencher.iter(|| {
                let mut input = black_box(&bytes[..]);
                while let Ok(Some(event)) = decoder.next(&mut input) {
                    black_box(event);
                }
            });
        });
    }
}

criterion_group!(benches, find, frames);
criterion_main!(benches);
