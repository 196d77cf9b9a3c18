use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use proptest::prelude::*;

use super::*;

fn ban(network: Network, expires_s: u64) -> Entry {
    Entry { network, remedy: Remedy::Ban, origin: Origin::Operator, expires_s }
}

fn pair() -> (tempfile::TempDir, Writer, Reader) {
    let dir = tempfile::tempdir().unwrap();
    let reader = Reader::open(dir.path()).unwrap();
    let writer = Writer::open(dir.path()).unwrap();
    (dir, writer, reader)
}

#[test]
fn networks_are_read_and_written() {
    for (text, want) in [
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7/32", "192.0.2.7"),
        ("192.0.2.7/24", "192.0.2.0/24"),
        ("128.0.0.0/1", "128.0.0.0/1"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7/120", "192.0.2.0/24"),
        ("2001:DB8::1", "2001:db8::1"),
        ("2001:db8::1/32", "2001:db8::/32"),
        ("8000::/1", "8000::/1"),
        ("::1", "::1"),
        ("127.0.0.1", "127.0.0.1"),
    ] {
        assert_eq!(text.parse::<Network>().unwrap().to_string(), want, "{text}");
    }
    for text in ["0.0.0.0/0", "::/0", "10.0.0.0/0", "::ffff:0:0/96"] {
        assert_eq!(text.parse::<Network>(), Err(NetworkError::Everybody), "{text}");
    }
    for text in ["", "example.com", "192.0.2", "192.0.2.0/33", "2001:db8::/129", "192.0.2.7 ", "1.2.3.4/-1"] {
        assert_eq!(text.parse::<Network>(), Err(NetworkError::Syntax), "{text}");
    }
}

#[test]
fn the_most_specific_network_that_holds_decides() {
    let (_dir, mut writer, reader) = pair();
    let client = "192.0.2.7".parse().unwrap();
    assert_eq!(reader.lookup(client, 0), None);
    writer.put(&ban("192.0.0.0/16".parse().unwrap(), 100)).unwrap();
    let captcha = Entry { remedy: Remedy::Captcha, ..ban("192.0.2.7".parse().unwrap(), 50) };
    writer.put(&captcha).unwrap();
    assert_eq!(reader.lookup(client, 49), Some(Remedy::Captcha));
    assert_eq!(reader.lookup("::ffff:192.0.2.7".parse().unwrap(), 49), Some(Remedy::Captcha));
    assert_eq!(reader.lookup(client, 50), Some(Remedy::Ban), "the address is not banned any more, its network is");
    assert_eq!(reader.lookup(client, 100), None);
    assert!(writer.remove(captcha.network) && !writer.remove(captcha.network));
    assert_eq!(reader.lookup(client, 49), Some(Remedy::Ban));
    // A writer that begins anew finds everything, and readers see no gap.
    let mut again = Writer::open(_dir.path()).unwrap();
    assert_eq!((again.len(), reader.lookup(client, 49)), (1, Some(Remedy::Ban)));
    assert!(again.is_in_place());
    again.replace([]).unwrap();
    assert!(again.is_empty());
    assert_eq!(reader.lookup(client, 49), None);
    std::fs::remove_file(file::path(_dir.path())).unwrap();
    assert!(!again.is_in_place());
}

#[test]
fn what_is_not_a_table_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(file::path(dir.path()), b"WEIRBAN").unwrap();
    assert!(matches!(Reader::open(dir.path()), Err(BansError::Foreign { .. })));
}

/// Any address from few, so that networks overlap and addresses repeat.
fn address() -> impl Strategy<Value = IpAddr> {
    let v4 = (0u32..64).prop_map(|n| IpAddr::V4(Ipv4Addr::from(0x0a00_0000 | (n & 7) << 20 | n >> 3)));
    let v6 = (0u128..64).prop_map(|n| IpAddr::V6(Ipv6Addr::from(0x2001 << 112 | (n & 7) << 70 | n >> 3)));
    prop_oneof![v4, v6]
}

fn network() -> impl Strategy<Value = Network> {
    (address(), prop_oneof![Just(128u8), 1u8..=128]).prop_map(|(address, length)| match address {
        IpAddr::V4(_) => Network::of(address, length.min(32)),
        IpAddr::V6(_) => Network::of(address, length),
    })
}

#[derive(Clone, Debug)]
enum Step {
    Put(Network, u8, u64),
    Remove(Network),
    Open,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (network(), 0u8..4, 0u64..20).prop_map(|(network, remedy, expires)| Step::Put(network, remedy, expires)),
        4 => network().prop_map(Step::Remove),
        1 => Just(Step::Open),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The table answers as a list that is searched from its beginning to its end.
    #[test]
    fn the_table_is_a_list(steps in prop::collection::vec(step(), 1..80), asked in prop::collection::vec((address(), 0u64..20), 20)) {
        let (dir, mut writer, reader) = pair();
        let mut list: BTreeMap<Network, Entry> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Put(network, remedy, expires_s) => {
                    let entry = Entry { remedy: Remedy::ALL[usize::from(remedy)], ..ban(network, expires_s) };
                    writer.put(&entry).unwrap();
                    list.insert(network, entry);
                }
                Step::Remove(network) => prop_assert_eq!(writer.remove(network), list.remove(&network).is_some()),
                Step::Open => writer = Writer::open(dir.path()).unwrap(),
            }
        }
        prop_assert_eq!(writer.len(), list.len());
        let found: BTreeMap<Network, Entry> = writer.entries().map(|entry| (entry.network, entry)).collect();
        prop_assert_eq!(&found, &list);
        for (address, now_s) in asked {
            let holding = list.values().filter(|entry| entry.expires_s > now_s && entry.network.contains(address));
            let want = holding.max_by_key(|entry| entry.network.code()).map(|entry| entry.remedy);
            prop_assert_eq!(reader.lookup(address, now_s), want, "{} at {}", address, now_s);
        }
    }

    #[test]
    fn networks_come_back_from_their_text(network in network()) {
        prop_assert_eq!(network.to_string().parse(), Ok(network));
    }
}

/// The n-th of many addresses: half of them IPv4.
fn nth(n: u32) -> Network {
    let address = match n % 2 {
        0 => IpAddr::V4(Ipv4Addr::from(0x0b00_0000 + n / 2 * 7)),
        _ => IpAddr::V6(Ipv6Addr::from(0x2001_0db8 << 96 | u128::from(n) << 64 | 1)),
    };
    address.into()
}

/// The bound of the product: 100,000 decisions in at most 16 MiB. Prints how long changes take.
#[test]
fn a_hundred_thousand_bans_take_at_most_16_mib() {
    const COUNT: u32 = 100_000;
    let (dir, mut writer, reader) = pair();
    let begun = Instant::now();
    assert_eq!(writer.replace((0..COUNT).map(|n| ban(nth(n), 100)).collect::<Vec<_>>()).unwrap(), 0);
    println!("{COUNT} at once: {:?}", begun.elapsed());
    for round in 0..5 {
        let begun = Instant::now();
        for n in round * 500..(round + 1) * 500 {
            assert!(writer.remove(nth(n)));
            writer.put(&ban(nth(COUNT + n), 100)).unwrap();
        }
        println!("500 removed and 500 added: {:?}", begun.elapsed());
    }
    let about = std::fs::metadata(file::path(dir.path())).unwrap();
    assert!(about.len() <= 16 << 20 && about.blocks() * 512 <= 16 << 20, "{about:?}");
    assert_eq!((FILE_BYTES, writer.len()), (12 * (1 << 20) + 4096, COUNT as usize));
    let is_banned = |n: u32| {
        let text = nth(n).to_string();
        reader.lookup(text.parse().unwrap(), 0).is_some()
    };
    assert!((2_500..COUNT + 2_500).all(is_banned) && !(0..2_500).any(is_banned));
}

#[test]
fn a_full_table_says_so_and_keeps_what_it_has() {
    let (_dir, mut writer, reader) = pair();
    let most = u32::try_from(MAX_ENTRIES).unwrap();
    (0..most).for_each(|n| writer.put(&ban(nth(n), 100)).unwrap());
    assert!(matches!(writer.put(&ban(nth(most), 100)), Err(BansError::Full)));
    writer.put(&ban(nth(7), 200)).unwrap();
    assert!(writer.remove(nth(0)));
    writer.put(&ban(nth(most), 100)).unwrap();
    assert_eq!(writer.replace((0..most + 9).map(|n| ban(nth(n), 100)).collect::<Vec<_>>()).unwrap(), 9);
    assert_eq!(reader.lookup("11.0.0.0".parse().unwrap(), 0), Some(Remedy::Ban));
}

/// While one thread changes everything but one ban as fast as it can, others always find that ban, and nothing that never was.
#[test]
fn readers_never_see_half_an_entry() {
    let (dir, mut writer, reader) = pair();
    let kept: IpAddr = "2001:db8:ffff::1".parse().unwrap();
    let never: Vec<IpAddr> = ["192.0.2.1", "2001:db8:fffe::1"].map(|text| text.parse().unwrap()).into();
    writer.put(&ban(kept.into(), 1_000)).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    assert_eq!(reader.lookup(kept, 0), Some(Remedy::Ban));
                    never.iter().for_each(|address| assert_eq!(reader.lookup(*address, 0), None));
                }
            });
        }
        for round in 0..60u64 {
            (0..2_000).for_each(|n| writer.put(&ban(nth(n), 500 + round)).unwrap());
            writer.put(&ban(kept.into(), 1_000 + round)).unwrap();
            (0..2_000).for_each(|n| assert!(writer.remove(nth(n))));
            if round % 8 == 0 {
                writer = Writer::open(dir.path()).unwrap();
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}
