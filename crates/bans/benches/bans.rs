//! What a lookup costs, and what a delta of decisions does.

use std::net::{IpAddr, Ipv4Addr};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use weir_bans::{Entry, Origin, Reader, Remedy, Writer};

const COUNT: u32 = 100_000;

fn address(n: u32) -> IpAddr {
    // Spread over all of IPv4.
    Ipv4Addr::from(n.wrapping_mul(0x9e37_79b1)).into()
}

fn entry(n: u32) -> Entry {
    Entry { network: address(n).into(), remedy: Remedy::Ban, origin: Origin::CrowdSec, expires_s: 1_000 }
}

fn lookups(criterion: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a directory");
    let mut writer = Writer::open(dir.path()).expect("a table");
    let reader = Reader::open(dir.path()).expect("a table");
    let mut n = 0u32;
    let mut next = move || {
        n = n.wrapping_add(1);
        n
    };
    criterion.bench_function("lookup in an empty table", |bench| bench.iter(|| reader.lookup(address(next()), 0)));
    writer.replace((0..COUNT).map(entry).collect::<Vec<_>>()).expect("room");
    criterion
        .bench_function("lookup of a banned address", |bench| bench.iter(|| reader.lookup(address(next() % COUNT), 0)));
    criterion.bench_function("lookup of another", |bench| bench.iter(|| reader.lookup(address(COUNT + next()), 0)));
    for length in [8, 12, 16, 20, 22, 23, 24, 28] {
        let network = format!("198.51.100.0/{length}").parse().expect("a network");
        writer.put(&Entry { network, ..entry(0) }).expect("room");
    }
    criterion.bench_function("lookup of another, 9 lengths", |bench| {
        bench.iter(|| reader.lookup(address(COUNT + next()), 0));
    });
    let mut from = COUNT;
    criterion.bench_function("delta: 500 removed, 500 added", |bench| {
        bench.iter_batched(
            || {
                from += 500;
                from
            },
            |from| {
                for n in from..from + 500 {
                    writer.remove(address(n - COUNT).into());
                    writer.put(&entry(n)).expect("room");
                }
            },
            BatchSize::PerIteration,
        );
    });
}

criterion_group!(benches, lookups);
criterion_main!(benches);
