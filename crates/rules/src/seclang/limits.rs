//! Bounds on what is read. They are far above any real set of rules (CRS: 700 kB, 1,000 rules) and
//! keep a wrong path, such as a log file, from filling the memory.

/// Bounds of one [`load`](super::load).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one file, rules or data.
    pub file_bytes: usize,
    /// Bytes of all files together, each counted as often as it is read.
    pub total_bytes: usize,
    /// Files of rules.
    pub files: usize,
    /// How deep `Include` may be nested.
    pub include_depth: usize,
    /// Rules, chained ones counted singly.
    pub rules: usize,
    /// Rules of one chain.
    pub chain: usize,
    /// Bytes of one value: a parameter, a message, a name.
    pub value_bytes: usize,
    /// Actions of one rule.
    pub actions: usize,
    /// Changes that updates make, each counted for each rule.
    pub changes: usize,
    /// Variables of one rule.
    pub targets: usize,
    /// Problems that are reported; what follows is counted only.
    pub problems: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 16 << 20,
            total_bytes: 128 << 20,
            files: 4_096,
            include_depth: 16,
            rules: 100_000,
            chain: 64,
            value_bytes: 256 << 10,
            actions: 1_024,
            changes: 1_000_000,
            targets: 1_024,
            problems: 1_000,
        }
    }
}
