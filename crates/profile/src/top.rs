//! The functions that weigh most, as a table for the terminal.
//!
//! Sorted by what they weigh themselves, because that is where code can be changed; what passes
//! through them stands beside it, because a caller may be what is called too often.

mod calls;
mod render;

pub use calls::calls;

use std::collections::HashMap;

use crate::amount::Amounts;
use crate::graph::text::clean;
use crate::tree::{Options, Tree};
use crate::{Origin, Profile};

/// What makes a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// A function.
    #[default]
    Function,
    /// A line of a function, where lines are known.
    Line,
    /// A binary, the kernel or a Lua chunk.
    Module,
    /// A thread.
    Thread,
}

/// What the rows are sorted by, the heaviest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Weight of the samples that end there.
    #[default]
    Own,
    /// Weight of the samples that pass through there.
    Total,
}

/// How the table looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopOptions {
    /// What makes a row.
    pub by: By,
    /// What comes first.
    pub order: Order,
    /// Most rows.
    pub rows: usize,
    /// Columns of the terminal; names are cut to fit.
    pub width: usize,
}

impl Default for TopOptions {
    fn default() -> Self {
        Self { by: By::Function, order: Order::Own, rows: 15, width: 120 }
    }
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The function, module or thread; safe to show.
    pub name: String,
    /// Where its code comes from; a marker for modules and threads.
    pub origin: Origin,
    /// Last part of its module's path; empty: unknown, or the name says it.
    pub module: String,
    /// Weight of the samples that end there.
    pub self_weight: u64,
    /// Weight of the samples that pass through there.
    pub total: u64,
    /// Of a Lua function: the line that weighs most, and the weight of the samples that were in it.
    pub line: Option<(u32, u64)>,
}

/// All rows, the heaviest first.
#[must_use]
pub fn rows(profile: &Profile, by: By, order: Order) -> Vec<Row> {
    let mut rows = match by {
        By::Function | By::Line => functions(profile, by == By::Line),
        By::Module => modules(profile),
        By::Thread => threads(profile),
    };
    rows.retain(|row| row.total > 0);
    let key = |row: &Row| match order {
        Order::Own => (row.self_weight, row.total),
        Order::Total => (row.total, row.self_weight),
    };
    rows.sort_by(|a, b| key(b).cmp(&key(a)).then_with(|| a.name.cmp(&b.name)));
    rows
}

/// The table, with a heading that says what of, and a line for the rows that are left out.
#[must_use]
pub fn top(profile: &Profile, options: &TopOptions) -> String {
    let mut all = rows(profile, options.by, options.order);
    let more = all.len().saturating_sub(options.rows);
    all.truncate(options.rows);
    render::table(&all, more, options, &Amounts::of(profile))
}

fn functions(profile: &Profile, lines: bool) -> Vec<Row> {
    let (tree, origins) = Tree::with_origins(profile, Options { lines, ..Options::default() });
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
