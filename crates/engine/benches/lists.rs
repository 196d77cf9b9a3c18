//! What a look-up in a list costs as the list grows from ten entries to a million. Every look-up
//! asks for another address, half of them in the list, so that nothing stays in the caches that
//! would not in life.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use criterion::Criterion;
use ipnet::IpNet;
use weir_engine::{AddressSet, StringSet};

/// A full-period sequence of well-mixed numbers (SplitMix64).
fn mixed(number: u64) -> u64 {
    let mut x = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

fn v4(number: u64) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(mixed(number) as u32))
}

/// Addresses as the registries hand them out: a few /12 blocks, customers' /48 below.
fn v6(number: u64) -> IpAddr {
    let bits = mixed(number);
    let block = [0x2001_u128, 0x2400, 0x2600, 0x2800, 0x2a00, 0x2c00][(bits % 6) as usize];
    IpAddr::V6(Ipv6Addr::from_bits(block << 112 | u128::from(bits >> 8 & 0xfff_ffff) << 80 | u128::from(bits & 0xffff)))
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for count in [10u64, 1_000, 100_000, 1_000_000] {
        for (family, address) in [("v4", v4 as fn(u64) -> IpAddr), ("v6", v6)] {
            let set = AddressSet::from_networks((0..count).map(|number| IpNet::from(address(number))));
            let mut next = 0u64;
            criterion.bench_function(&format!("addresses-{family}-{count}"), |bencher| {
                bencher.iter(|| {
                    next += 1;
                    black_box(set.contains(address(mixed(next) % (2 * count))))
                });
            });
        }
        let string = |number: u64| format!("host-{number}.example.com").into_bytes();
        let set = StringSet::from_strings((0..count).map(string));
        let asked: Vec<Vec<u8>> = (0..100_000u64).map(|number| string(mixed(number) % (2 * count))).collect();
        let mut next = 0;
        criterion.bench_function(&format!("strings-{count}"), |bencher| {
            bencher.iter(|| {
                next = (next + 1) % asked.len();
                black_box(set.contains(&asked[next]))
            });
        });
    }
    criterion.final_summary();
}
