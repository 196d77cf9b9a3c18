//! Compares nginx configurations: directives by the block in which they apply, not lines by their number.
//!
//! Moving a server to another file, reordering `gzip` and `sendfile`, or adding a comment is not a
//! change. Repeatable directives are compared as a set of lines in the order of the file.

use std::collections::{BTreeMap, BTreeSet};

use super::context::{Area, Change, MAX_CHANGES};
use crate::facts::nginx::{Block, Configuration, Directive};

/// Maximum length of Lua or arguments shown, in characters.
const MAX_SHOWN: usize = 200;

/// A configuration flattened by block.
#[derive(Debug, Default)]
struct FlattenedConfiguration<'c> {
    /// Lines with their directives, by block and name.
    lines: BTreeMap<(String, &'c str), Vec<(String, &'c Directive)>>,
    /// Blocks by their full title, with their directive and the title of the enclosing block.
    blocks: BTreeMap<String, (&'c Directive, String)>,
}

/// Changes from `old` to `new`.
pub(super) fn changes(old: &Configuration, new: &Configuration) -> Vec<Change> {
    let (old, new) = (FlattenedConfiguration::of(old), FlattenedConfiguration::of(new));
    let mut changes = Vec::new();
    let titles: BTreeSet<&String> = old.blocks.keys().chain(new.blocks.keys()).collect();
    for title in titles {
        let (before, after) = (old.blocks.get(title), new.blocks.get(title));
        let Some((_, around)) = before.or(after) else { continue };
        // An added or removed block is one change, rather than one for each directive in it.
        let parent_on_both = around.is_empty() || (old.blocks.contains_key(around) && new.blocks.contains_key(around));
        if before.is_some() != after.is_some() && parent_on_both {
            changes.push(block(title, before.map(|one| one.0), after.map(|one| one.0)));
        }
    }
    let keys: BTreeSet<&(String, &str)> = old.lines.keys().chain(new.lines.keys()).collect();
    for key in keys {
        let known = |flat: &FlattenedConfiguration<'_>| key.0.is_empty() || flat.blocks.contains_key(&key.0);
        if known(&old) && known(&new) {
            let none = Vec::new();
            lines(key, old.lines.get(key).unwrap_or(&none), new.lines.get(key).unwrap_or(&none), &mut changes);
        }
    }
    changes.truncate(MAX_CHANGES);
    changes
}

impl<'c> FlattenedConfiguration<'c> {
    fn of(configuration: &'c Configuration) -> Self {
        let mut flat = Self::default();
        let mut left: Vec<(String, &'c [Directive])> = vec![(String::new(), &configuration.directives)];
        while let Some((around, level)) = left.pop() {
            let mut seen: BTreeMap<String, usize> = BTreeMap::new();
            for directive in level {
                if let Block::Directives(children) = &directive.block {
                    let mut title = title(&around, directive);
                    let count = seen.entry(title.clone()).or_default();
                    *count += 1;
                    if *count > 1 {
                        title = format!("{title} (number {count})");
                    }
                    left.push((title.clone(), children));
                    flat.blocks.insert(title, (directive, around.clone()));
                } else {
                    let line = (written(directive), directive);
                    flat.lines.entry((around.clone(), directive.name.as_str())).or_default().push(line);
                }
            }
        }
        flat
    }
}

/// `http > server shop.example 8080 > location /api`
fn title(around: &str, block: &Directive) -> String {
    let own = if block.name == "server" {
        let values = |name| block.named(name).flat_map(|directive| directive.arguments.first()).cloned();
        let names: Vec<String> = values("listen").chain(values("server_name")).collect();
        format!("server {}", names.join(" "))
    } else {
        format!("{} {}", block.name, block.arguments.join(" "))
    };
    let own = own.trim_end();
    if around.is_empty() { own.to_owned() } else { format!("{around} > {own}") }
}

/// A directive as written, with Lua stripped of trailing blanks.
fn written(directive: &Directive) -> String {
    match &directive.block {
        Block::Lua(code) => {
            let lines: Vec<&str> = code.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            format!("{} {{ {} }}", directive.arguments.join(" "), lines.join("; ")).trim_start().to_owned()
        }
        Block::None | Block::Directives(_) => directive.arguments.join(" "),
    }
}

fn block(title: &str, before: Option<&Directive>, after: Option<&Directive>) -> Change {
    let size = |block: &Directive| format!("{{ {} directives }}", block.children().len());
    let mut change = Change::of(Area::Configuration, title, before.map(size), after.map(size));
    change.place_before = before.map(|block| block.place.to_string()).unwrap_or_default();
    change.place = after.map(|block| block.place.to_string()).unwrap_or_default();
    change
}

type Lines<'c> = [(String, &'c Directive)];

/// Changes of one name in one block: common lines are skipped, the rest is paired in order.
fn lines(key: &(String, &str), old: &Lines<'_>, new: &Lines<'_>, changes: &mut Vec<Change>) {
    let (mut gone, mut come): (Vec<_>, Vec<_>) = (old.iter().collect(), Vec::new());
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (text, _) in old {
        *counts.entry(text).or_default() += 1;
    }
    let mut same: BTreeMap<&str, usize> = BTreeMap::new();
    for line in new {
        match counts.get_mut(line.0.as_str()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                *same.entry(&line.0).or_default() += 1;
            }
            _ => come.push(line),
        }
    }
    gone.retain(|line| match same.get_mut(line.0.as_str()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    });
    let what = if key.0.is_empty() { key.1.to_owned() } else { format!("{}: {}", key.0, key.1) };
    for number in 0..gone.len().max(come.len()) {
        let (before, after) = (gone.get(number), come.get(number));
        let shown = |line: &&(String, &Directive)| shown(key.1, &line.0);
        let mut change = Change::of(
            Area::Configuration,
            what.clone(),
            before.copied().map(|line| shown(&line)),
            after.copied().map(|line| shown(&line)),
        );
        let place =
            |line: Option<&&(String, &Directive)>| line.map(|line| line.1.place.to_string()).unwrap_or_default();
        (change.place_before, change.place) = (place(before), place(after));
        changes.push(change);
    }
}

fn shown(name: &str, line: &str) -> String {
    let line: String = if line.chars().count() > MAX_SHOWN {
        line.chars().take(MAX_SHOWN).chain(" ...".chars()).collect()
    } else {
        line.to_owned()
    };
    let end = if line.ends_with('}') || line.ends_with("...") { "" } else { ";" };
    format!("{name}{}{line}{end}", if line.is_empty() { "" } else { " " })
}
