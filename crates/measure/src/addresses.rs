//! Client addresses of the benches: the block list and the networks of the geo database, both
//! deterministic, so that every machine measures the same data.

use std::net::Ipv4Addr;

/// Addresses that are always in the list, whatever its size; what the checks send.
pub const LISTED: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// An address in a blocked country.
pub const ABROAD: Ipv4Addr = Ipv4Addr::new(175, 45, 176, 1);

/// First octet of the list: 198/8 holds the benchmark range of RFC 2544, and the load sends
/// nothing from there.
const LIST_OCTET: u32 = 198;
/// Odd, so that multiplying by it visits every address of the range once before repeating.
const STRIDE: u32 = 2_654_435_761;

/// `count` different addresses, [`LISTED`] among them, in no order. At most 2^24.
#[must_use]
pub fn list(count: usize) -> Vec<Ipv4Addr> {
    let listed = u32::from(LISTED);
    let others = (0u32..).map(|index| Ipv4Addr::from((LIST_OCTET << 24) | (index.wrapping_mul(STRIDE) & 0x00FF_FFFF)));
    std::iter::once(LISTED).chain(others.filter(|address| u32::from(*address) != listed)).take(count).collect()
}

/// Country of network number `index` of the database: one of about 240 codes, never a blocked
/// one.
#[must_use]
pub fn country(index: u32) -> [u8; 2] {
    let mixed = index.wrapping_mul(STRIDE) >> 8;
    // A..J as the first letter: no blocked country begins with one of them.
    let letter = |value: u32, letters: u32| b'A' + u8::try_from(value % letters).unwrap_or(0);
    [letter(mixed, 10), letter(mixed / 10, 24)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_list_has_the_asked_number_of_different_addresses() {
        for count in [10, 1_000, 1_000_000] {
            let addresses = list(count);
            assert!(addresses.contains(&LISTED));
            assert_eq!(addresses.iter().collect::<HashSet<_>>().len(), count);
        }
    }

    #[test]
    fn countries_are_many_and_none_of_them_is_blocked() {
        let codes: HashSet<[u8; 2]> = (0..300_000).map(country).collect();
        assert!(codes.len() > 200, "{}", codes.len());
        for blocked in crate::workload::BLOCKED_COUNTRIES {
            assert!(!codes.iter().any(|code| code == blocked.as_bytes()));
        }
    }
}
