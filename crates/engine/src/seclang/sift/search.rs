//! The literals of one or several collections, and the search for them.
//!
//! Up to 128 literals are found by shuffles, 32 positions at a time; more by hashing, for which
//! literals of two and three bytes would each cost a pass of their own. So a collection with few
//! literals gets a search of its own, and of the many in the others the short ones are kept apart.

use std::collections::BTreeMap;

use crate::scan::{Needle, Scanner};

/// Literals with the rules that wait for them.
pub(super) type Literals = BTreeMap<Vec<u8>, Vec<u32>>;

/// As many as shuffles find.
pub(super) const FEW: usize = 128;
/// Literals of at least this many bytes are hashed in one pass.
const LONG: usize = 4;

/// A search for literals.
#[derive(Debug)]
pub(super) struct Search {
    scanners: Vec<Scanner>,
    /// Rules by the scanners' owner.
    owners: Vec<Vec<u32>>,
    /// Bytes of the shortest literal.
    pub(super) shortest: usize,
}

impl Search {
    pub(super) fn new(literals: &Literals) -> Self {
        let mut search = Self { scanners: Vec::new(), owners: Vec::new(), shortest: usize::MAX };
        let are_few = literals.len() <= FEW;
        let (short, long): (Vec<_>, Vec<_>) = literals.iter().partition(|(literal, _)| are_few || literal.len() < LONG);
        for part in [short, long] {
            let mut needles = Vec::with_capacity(part.len());
            for (literal, rules) in part {
                search.shortest = search.shortest.min(literal.len());
                needles.push(Needle { literal: literal.clone(), owner: search.owners.len() as u32 });
                search.owners.push(rules.clone());
            }
            if !needles.is_empty() {
                search.scanners.push(Scanner::new(needles));
            }
        }
        search
    }

    /// Calls `found` for every rule that waits for a literal in `value`, perhaps more than once.
    #[inline]
    pub(super) fn scan(&self, value: &[u8], mut found: impl FnMut(u32)) {
        for scanner in &self.scanners {
            scanner.scan(value, |owner| self.owners[owner as usize].iter().for_each(|rule| found(*rule)));
        }
    }
}
