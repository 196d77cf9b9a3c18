//! The heaviest lines of each function, at any position in a stack: a Lua function costs most where
//! it calls, not where it ends.

use std::collections::HashMap;

use super::{Tree, TreeIndex};
use crate::Profile;

/// Maximum number of lines per function.
const MOST: usize = 5;

impl Tree {
    /// The heaviest lines of each function, at most five, with the weight of the samples in them.
    /// Empty if lines are not known.
    #[must_use]
    pub fn lines(&self, profile: &Profile, origins: &TreeIndex) -> Vec<Vec<(u32, u64)>> {
        let mut weights: HashMap<_, u64> = HashMap::new();
        let mut seen = Vec::new();
        for sample in &profile.samples {
            seen.clear();
            for id in profile.stack(sample.stack) {
                let line = profile.frame(*id).line;
                if line > 0 {
                    seen.push((origins.functions[id.0 as usize], line));
                }
            }
            seen.sort_unstable();
            seen.dedup();
            for key in &seen {
                let weight = weights.entry(*key).or_default();
                *weight = weight.saturating_add(sample.weight);
            }
        }
        let mut lines = vec![Vec::new(); self.functions.len()];
        for ((function, line), weight) in weights {
            lines[function.0 as usize].push((line, weight));
        }
        for lines in &mut lines {
            lines.sort_unstable_by_key(|(line, weight)| (std::cmp::Reverse(*weight), *line));
            lines.truncate(MOST);
        }
        lines
    }
}
