//! Opens the gates of rules that name networks: all of thousands of `ip.src eq ...` rules in one
//! look-up per prefix length in use, instead of one comparison per rule.

use std::net::IpAddr;

use hashbrown::HashMap;
use ipnet::IpNet;

/// Rules by network.
#[derive(Debug, Default)]
pub(crate) struct AddressGate {
    v4: Vec<Level<u32>>,
    v6: Vec<Level<u128>>,
}

/// The networks of one prefix length. There are at most 33 and 129 of these, usually two.
#[derive(Debug)]
struct Level<B> {
    length: u8,
    rules: HashMap<B, Vec<u32>, foldhash::fast::RandomState>,
}

impl AddressGate {
    /// Opens `rule` for addresses in `network`. Rules come in ascending order.
    pub(crate) fn add(&mut self, network: IpNet, rule: u32) {
        match network {
            IpNet::V4(net) => add(&mut self.v4, net.prefix_len(), net.network().to_bits(), rule),
            IpNet::V6(net) => add(&mut self.v6, net.prefix_len(), net.network().to_bits(), rule),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.v4.is_empty() && self.v6.is_empty()
    }

    /// Calls `open` with the rules of every network that holds `address`.
    pub(crate) fn look_up(&self, address: IpAddr, mut open: impl FnMut(&[u32])) {
        match address.to_canonical() {
            IpAddr::V4(v4) => {
                for level in &self.v4 {
                    let network = v4.to_bits() & u32::MAX.checked_shl(32 - u32::from(level.length)).unwrap_or(0);
                    level.rules.get(&network).map(Vec::as_slice).into_iter().for_each(&mut open);
                }
            }
            IpAddr::V6(v6) => {
                for level in &self.v6 {
                    let network = v6.to_bits() & u128::MAX.checked_shl(128 - u32::from(level.length)).unwrap_or(0);
                    level.rules.get(&network).map(Vec::as_slice).into_iter().for_each(&mut open);
                }
            }
        }
    }

    /// All rules that it can open.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &Vec<u32>> {
        self.v4
            .iter()
            .flat_map(|level| level.rules.values())
            .chain(self.v6.iter().flat_map(|level| level.rules.values()))
    }
}

fn add<B: std::hash::Hash + Eq>(levels: &mut Vec<Level<B>>, length: u8, network: B, rule: u32) {
    let level = match levels.iter().position(|level| level.length == length) {
        Some(position) => &mut levels[position],
        None => {
            levels.push(Level { length, rules: HashMap::default() });
            levels.last_mut().expect("just pushed")
        }
    };
    let rules = level.rules.entry(network).or_default();
    if rules.last() != Some(&rule) {
        rules.push(rule);
    }
}
