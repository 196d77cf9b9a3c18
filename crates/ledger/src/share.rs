//! Divides the time of a lane among the rules that caused it.
//!
//! A rule's cost is that of its own exact evaluations plus its share of the lanes that it needs. Shares are
//! equal, because a lane costs about one pass over the bytes, whatever the number of its rules.

use crate::{Entry, EntryKind};

/// The share of lanes' time of each entry; `own[n]` is the own time of entry `n`.
pub(crate) fn lane_shares(entries: &[Entry], own: &[f64]) -> Vec<f64> {
    let rules: Vec<usize> =
        entries.iter().enumerate().filter(|(_, entry)| entry.kind == EntryKind::Rule).map(|(index, _)| index).collect();
    let mut shares = vec![0.0; entries.len()];
    for (entry, time) in entries.iter().zip(own).filter(|(entry, _)| entry.kind == EntryKind::Lane) {
        let sharing: Vec<usize> = entry.rules.iter().filter_map(|&rule| rules.get(rule as usize).copied()).collect();
        for &index in &sharing {
            shares[index] += time / sharing.len() as f64;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: EntryKind, rules: &[u32]) -> Entry {
        Entry { kind, policy: String::new(), id: String::new(), plugin: String::new(), rules: rules.to_vec() }
    }

    #[test]
    fn a_lane_falls_to_its_rules_in_equal_parts_and_nothing_is_lost() {
        use EntryKind::{Lane, Plugin, Rule};
        let entries = [
            entry(Plugin, &[]),
            entry(Rule, &[]),
            entry(Rule, &[]),
            entry(Lane, &[0, 1]),
            entry(Lane, &[1]),
            entry(Lane, &[7]),
        ];
        let shares = lane_shares(&entries, &[10.0, 1.0, 2.0, 8.0, 3.0, 5.0]);
        assert_eq!(shares, [0.0, 4.0, 7.0, 0.0, 0.0, 0.0]);
    }
}
