//! A country database of a realistic size that needs no licence: about 300,000 networks, always
//! the same.
//!
//! The public country databases have 300,000 to 600,000 IPv4 networks of /16 to /24. What
//! matters for a look-up's cost is the depth of the trie and that it does not fit the caches of
//! the core; both are as in the real ones.

use std::net::Ipv4Addr;
use std::path::Path;

use ipnet::{IpNet, Ipv4Net};
use weir_policy::mmdb::{Record, Writer};

use crate::addresses::{ABROAD, country};
use crate::error::MeasureError;
use crate::workload::BLOCKED_COUNTRIES;

/// Networks of the database.
pub const NETWORKS: u32 = 300_000;
/// First address: 1.0.0.0.
const FIRST: u32 = 1 << 24;
/// Distance between two networks: three /20, so that they end at 220/8 and leave gaps.
const DISTANCE: u32 = 3 << 12;
/// Prefix lengths, in turn.
const PREFIXES: [u8; 4] = [20, 21, 22, 24];

/// Writes the database.
pub fn write_country_database(path: &Path) -> Result<(), MeasureError> {
    let mut writer = Writer::new("Weir-Measure-Country");
    for (network, code) in networks() {
        writer.insert(IpNet::V4(network), Record { country: code, ..Record::default() });
    }
    writer.write(path).map_err(MeasureError::file(path))
}

/// The networks and their country codes.
fn networks() -> impl Iterator<Item = (Ipv4Net, String)> {
    let abroad_octet = ABROAD.octets()[0];
    let abroad = Ipv4Net::new(Ipv4Addr::new(abroad_octet, 0, 0, 0), 8).expect("8 is a prefix length of IPv4");
    let usual = (0..NETWORKS).filter_map(move |index| {
        let address = Ipv4Addr::from(FIRST + index * DISTANCE);
        let network = Ipv4Net::new(address, PREFIXES[index as usize % PREFIXES.len()]).ok()?;
        let code = String::from_utf8_lossy(&country(index)).into_owned();
        (address.octets()[0] != abroad_octet).then_some((network, code))
    });
    usual.chain(BLOCKED_COUNTRIES.iter().map(move |code| (abroad, (*code).to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_blocked_network_has_the_blocked_country() {
        let blocked: Vec<Ipv4Net> = networks()
            .filter(|(_, code)| BLOCKED_COUNTRIES.contains(&code.as_str()))
            .map(|(network, _)| network)
            .collect();
        assert_eq!(blocked.len(), BLOCKED_COUNTRIES.len());
        assert!(blocked[0].contains(&ABROAD));
        assert!(networks().count() > 290_000);
    }

    #[test]
    fn networks_do_not_overlap() {
        let mut all: Vec<Ipv4Net> = networks().map(|(network, _)| network).collect();
        all.sort();
        assert!(all.windows(2).all(|pair| pair[0].broadcast() < pair[1].network()));
    }
}
