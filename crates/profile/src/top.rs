//! The heaviest functions, as a table for the terminal.
//!
//! Sorted by self weight, because that is where code can be changed; the total is shown beside it,
//! because the cause may be a caller that calls too often.

mod calls;
mod render;

pub use calls::calls;

use std::collections::HashMap;

use crate::amount::Amounts;
use crate::graph::text::clean;
use crate::tree::{Tree, TreeOptions};
use crate::{Origin, Profile};

/// The grouping of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupBy {
    /// A function.
    #[default]
    Function,
    /// A line of a function, if lines are known.
    Line,
    /// A binary, the kernel or a Lua chunk.
    Module,
    /// A thread.
    Thread,
}

/// The sort key, the heaviest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// Weight of the samples that end there.
    #[default]
    Own,
    /// Weight of the samples that pass through there.
    Total,
}

/// Options of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopOptions {
    /// The grouping of rows.
    pub by: GroupBy,
    /// The sort key.
    pub order: SortBy,
    /// Maximum number of rows.
    pub rows: usize,
    /// Width of the terminal in columns; names are cut to fit.
    pub width: usize,
}

impl Default for TopOptions {
    fn default() -> Self {
        Self { by: GroupBy::Function, order: SortBy::Own, rows: 15, width: 120 }
    }
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The function, module or thread; safe to display.
    pub name: String,
    /// The origin of its code; a marker for modules and threads.
    pub origin: Origin,
    /// Last component of its module's path; empty if unknown or contained in the name.
    pub module: String,
    /// Weight of the samples that end there.
    pub self_weight: u64,
    /// Weight of the samples that pass through there.
    pub total: u64,
    /// For a Lua function: the heaviest line, and the weight of the samples in it.
    pub line: Option<(u32, u64)>,
}

/// All rows, the heaviest first.
#[must_use]
pub fn rows(profile: &Profile, by: GroupBy, order: SortBy) -> Vec<Row> {
    let mut rows = match by {
        GroupBy::Function | GroupBy::Line => functions(profile, by == GroupBy::Line),
        GroupBy::Module => modules(profile),
        GroupBy::Thread => threads(profile),
    };
    rows.retain(|row| row.total > 0);
    let key = |row: &Row| match order {
        SortBy::Own => (row.self_weight, row.total),
        SortBy::Total => (row.total, row.self_weight),
    };
    rows.sort_by(|a, b| key(b).cmp(&key(a)).then_with(|| a.name.cmp(&b.name)));
    rows
}

/// The table, with a heading, and a line with the number of omitted rows.
#[must_use]
pub fn top(profile: &Profile, options: &TopOptions) -> String {
    let mut all = rows(profile, options.by, options.order);
    let more = all.len().saturating_sub(options.rows);
    all.truncate(options.rows);
    render::table(&all, more, options, &Amounts::of(profile))
}

fn functions(profile: &Profile, lines: bool) -> Vec<Row> {
    let (tree, origins) = Tree::with_origins(profile, TreeOptions { lines, ..TreeOptions::default() });
    let hottest = tree.lines(profile, &origins);
    let all = tree.functions.iter().zip(tree.weights()).zip(hottest).skip(1);
    all.map(|((function, weight), lines)| Row {
        name: clean(&function.title()),
        origin: function.origin,
        module: clean(function.short_module()),
        self_weight: weight.self_weight,
        total: weight.total,
        line: lines.first().copied().filter(|_| function.origin == Origin::Lua && function.line == 0),
    })
    .collect()
}

fn modules(profile: &Profile) -> Vec<Row> {
    let mut rows: HashMap<&str, Row> = HashMap::new();
    let mut seen: Vec<&str> = Vec::new();
    for sample in &profile.samples {
        seen.clear();
        seen.extend(profile.stack(sample.stack).iter().map(|id| profile.frame(*id).module.as_str()));
        let leaf = seen.last().copied().unwrap_or_default();
        seen.sort_unstable();
        seen.dedup();
        for module in &seen {
            let row = rows.entry(module).or_default();
            row.total = row.total.saturating_add(sample.weight);
            if *module == leaf {
                row.self_weight = row.self_weight.saturating_add(sample.weight);
            }
        }
    }
    let name = |module: &str| if module.is_empty() { "[unknown]".to_owned() } else { clean(module) };
    rows.into_iter().map(|(module, row)| Row { name: name(module), origin: Origin::Marker, ..row }).collect()
}

fn threads(profile: &Profile) -> Vec<Row> {
    let name = |thread: &crate::Thread| format!("{} (pid {}, tid {})", clean(&thread.name), thread.pid, thread.tid);
    let row = |thread| Row { name: name(thread), origin: Origin::Marker, ..Row::default() };
    let mut rows: Vec<Row> = profile.threads.iter().map(row).collect();
    for sample in &profile.samples {
        let row = &mut rows[sample.thread.0 as usize];
        row.total = row.total.saturating_add(sample.weight);
        row.self_weight = row.total;
    }
    rows
}

#[cfg(test)]
mod tests;
