//! Databases written, read, cut and broken; and what a look-up costs.

use ipnet::IpNet;

use super::writer::{Record, Writer};
use super::*;

fn record(country: &str, continent: &str, asnum: u32) -> Record {
    Record { country: country.into(), continent: continent.into(), asnum }
}

/// One database for both: nested networks, both families, a default route for IPv6.
fn sample() -> Vec<u8> {
    let mut writer = Writer::new("Test-City");
    for (network, one) in [
        ("192.0.2.128/25", record("FR", "EU", 64_501)),
        ("192.0.2.0/24", record("DE", "EU", 64_500)),
        ("192.0.2.200/32", record("", "", 7)),
        ("198.51.100.0/24", record("US", "NA", 4_200_000_000)),
        ("2001:db8::/32", record("JP", "AS", 0)),
    ] {
        writer.insert(network.parse().unwrap(), one);
    }
    writer.to_bytes()
}

fn load(bytes: Vec<u8>, wanted: &[&'static [Path]]) -> Result<Database, (String, String)> {
    read(Content::Read(bytes), wanted)
}

fn places(bytes: Vec<u8>) -> GeoTables {
    let country = load(bytes.clone(), &[COUNTRY, CONTINENT]).ok().map(Arc::new);
    GeoTables::new(country, load(bytes, &[ASN]).ok().map(Arc::new))
}

#[test]
fn what_the_writer_writes_the_reader_finds() {
    let places = places(sample());
    for (address, country, continent, asnum) in [
        ("192.0.2.1", "DE", "EU", 64_500),
        ("192.0.2.129", "FR", "EU", 64_501),
        ("192.0.2.200", "", "", 7),
        ("192.0.2.201", "FR", "EU", 64_501),
        ("192.0.3.0", "", "", 0),
        ("198.51.100.255", "US", "NA", 4_200_000_000),
        ("2001:db8::7", "JP", "AS", 0),
        ("2001:db9::", "", "", 0),
        ("255.255.255.255", "", "", 0),
        ("::", "", "", 0),
    ] {
        let found = places.locate(address.parse().unwrap());
        assert_eq!(found, GeoLocation { country: country.into(), continent: continent.into(), asnum }, "{address}");
    }
}

#[test]
fn the_writers_files_pass_the_readers_verification() {
    for networks in [1usize, 30, 300] {
        let mut writer = Writer::new(&"x".repeat(networks.min(284)));
        for n in 0..networks {
            let network = format!("10.{}.{}.0/24", n / 256, n % 256).parse().unwrap();
            writer.insert(network, record(&format!("C{n}"), "EU", n as u32));
        }
        Reader::from_source(writer.to_bytes()).unwrap().verify().unwrap();
    }
    let mut all = Writer::new("All");
    all.insert("::/0".parse().unwrap(), record("ZZ", "", 0));
    all.insert("10.0.0.0/8".parse().unwrap(), record("AA", "", 0));
    let places = places(all.to_bytes());
    assert_eq!(places.locate("10.1.1.1".parse().unwrap()).country, "AA".into());
    assert_eq!(places.locate("8.1.1.1".parse().unwrap()).country, "ZZ".into());
}

#[test]
fn files_cut_anywhere_are_refused_or_answer_without_a_panic() {
    let whole = sample();
    for length in 0..whole.len() {
        if let Ok(database) = load(whole[..length].to_vec(), &[COUNTRY, CONTINENT]) {
            let places = GeoTables::new(Some(Arc::new(database)), None);
            places.locate("192.0.2.1".parse().unwrap());
        }
    }
    for at in 0..whole.len() {
        let mut broken = whole.clone();
        broken[at] ^= 0xff;
        let places = places(broken);
        for address in ["192.0.2.1", "2001:db8::7", "0.0.0.0"] {
            places.locate(address.parse().unwrap());
        }
    }
}

#[test]
fn a_database_without_the_fields_says_which_it_needs() {
    let mut writer = Writer::new("Only-ASN");
    writer.insert("10.0.0.0/8".parse().unwrap(), record("", "", 5));
    let (reason, hint) = load(writer.to_bytes(), &[COUNTRY, CONTINENT]).err().unwrap();
    assert!(reason.contains("`Only-ASN`"), "{reason}");
    assert!(hint.contains("`country.iso_code`"), "{hint}");
}

/// What this thread has spent on a core, so that other work on the machine does not count.
fn cpu_ns() -> u64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    times.split(' ').next().unwrap().parse().unwrap()
}

/// Half of the IPv4 space in 2^19 networks that share so many records.
fn large(records: u32, with: impl Fn(u32) -> Record) -> Vec<u8> {
    let mut writer = Writer::new("Large");
    for n in 0..1u32 << 19 {
        writer.insert(IpNet::from(ipnet::Ipv4Net::new((n << 12).into(), 20).unwrap()), with(n % records));
    }
    writer.to_bytes()
}

/// Prints what a look-up costs: `cargo test --release -p weir-policy lookup_cost -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn lookup_cost() {
    let country = load(large(250, |n| record(&format!("{n:02x}"), "EU", 0)), &[COUNTRY, CONTINENT]).ok();
    let asn = load(large(80_000, |n| record("", "", n + 1)), &[ASN]).ok();
    let places = GeoTables::new(country.map(Arc::new), asn.map(Arc::new));
    const ROUNDS: u32 = 1_000_000;
    for (title, mask) in [("one address", 0), ("256 addresses", 0xff << 12), ("any address", u32::MAX)] {
        let (mut seed, mut found) = (1u32, 0);
        let start = cpu_ns();
        for _ in 0..ROUNDS {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let place = places.locate(IpAddr::from((0x0a00_0001 ^ (seed >> 1 & mask) & 0x7fff_ffff).to_be_bytes()));
            found += u32::from(place.asnum > 0 && place.country.len() == 2);
        }
        println!("{title}: {} ns a look-up", (cpu_ns() - start) / u64::from(ROUNDS));
        assert_eq!(found, ROUNDS);
    }
}
