//! Limits on the input. They are far above any real rule set (CRS: 700 kB, 1,000 rules) and keep a
//! wrong path, such as a log file, from filling the memory.

/// Limits of one [`load`](super::load).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Size of one file, rules or data, in bytes.
    pub file_bytes: usize,
    /// Size of all files together in bytes, each counted as often as it is read.
    pub total_bytes: usize,
    /// Number of rule files.
    pub files: usize,
    /// Nesting depth of `Include`.
    pub include_depth: usize,
    /// Number of rules, each link of a chain counted.
    pub rules: usize,
    /// Number of rules in one chain.
    pub chain: usize,
    /// Length of one value in bytes: a parameter, a message, a name.
    pub value_bytes: usize,
    /// Number of actions of one rule.
    pub actions: usize,
    /// Number of changes by updates, counted per rule.
    pub changes: usize,
    /// Number of variables of one rule.
    pub targets: usize,
    /// Number of reported problems; further ones are only counted.
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
