//! System calls as a table for the terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::Profile;
use crate::amount::counted;
use crate::amount::{grouped, time};
use crate::graph::text::clean;

#[derive(Clone, Copy, Default)]
struct CallTotals {
    calls: u64,
    errors: u64,
    total_ns: u64,
    max_ns: u64,
}

/// The system calls of all processes together, those with most time first; empty if none were
/// counted. Blocked time is included, so `epoll_wait` comes first in an idle process.
#[must_use]
pub fn calls(profile: &Profile, rows: usize) -> String {
    let mut sums: BTreeMap<&str, CallTotals> = BTreeMap::new();
    for call in &profile.system_calls {
        let sum = sums.entry(&call.name).or_default();
        sum.calls = sum.calls.saturating_add(call.calls);
        sum.errors = sum.errors.saturating_add(call.errors);
        sum.total_ns = sum.total_ns.saturating_add(call.total_ns);
        sum.max_ns = sum.max_ns.max(call.max_ns);
    }
    if sums.is_empty() {
        return String::new();
    }
    let mut sums: Vec<(&str, CallTotals)> = sums.into_iter().collect();
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse((sum.total_ns, sum.calls)));
    let mut text =
        format!("{:>10} {:>13} {:>11} {:>9} {:>9}  SYSTEM CALL\n", "TIME", "CALLS", "ERRORS", "MEAN", "LONGEST");
    for (name, sum) in sums.iter().take(rows) {
        let shown = |ns: u64| time(ns as f64);
        let mean = time((sum.total_ns as f64 / sum.calls.max(1) as f64).round());
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:>10} {:>13} {:>11} {mean:>9} {:>9}  {}",
            shown(sum.total_ns),
            grouped(sum.calls),
            grouped(sum.errors),
            shown(sum.max_ns),
            clean(name)
        );
    }
    if sums.len() > rows {
        let _ = writeln!(text, "and {}", counted((sums.len() - rows) as u64, "more system call"));
    }
    text
}
