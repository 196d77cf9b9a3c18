//! Joins single rules to chains and checks constraints between them: unique ids, and actions that
//! only the first rule of a chain can have.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::diagnostic::{Report, SourceLocation};
use super::draft::{DraftItem, Link};
use super::ir::Phase;

/// A chain or a marker.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Chain(Chain),
    Marker(String),
}

/// A rule with the rules chained to it.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) id: u64,
    pub(super) phase: Phase,
    /// Never empty.
    pub(super) links: Vec<Link>,
    /// Whether the last rule has `chain` but no successor: the chain then never matches.
    pub(super) open: bool,
}

impl Chain {
    pub(super) fn head(&self) -> &Link {
        &self.links[0]
    }

    pub(super) fn head_mut(&mut self) -> &mut Link {
        &mut self.links[0]
    }
}

/// Joins rules. A marker inside a chain is placed before the chain, as in ModSecurity.
pub(super) fn join(items: Vec<DraftItem>, report: &mut Report) -> Vec<Step> {
    let mut joiner = Joiner { steps: Vec::new(), pending: Vec::new(), ids: HashMap::new(), report };
    for item in items {
        match item {
            DraftItem::Marker(name) => joiner.steps.push(Step::Marker(name)),
            DraftItem::Link(link) => joiner.add(*link),
        }
    }
    joiner.finish(true);
    joiner.steps
}

struct Joiner<'r> {
    steps: Vec<Step>,
    /// The incomplete chain.
    pending: Vec<Link>,
    ids: HashMap<u64, SourceLocation>,
    report: &'r mut Report,
}

impl Joiner<'_> {
    fn add(&mut self, link: Link) {
        if self.pending.last().is_some_and(|last| last.root != link.root) {
            self.finish(true);
        }
        if self.pending.len() == self.report.limits.chain {
            let message = format!("a chain of more than {} rules", self.report.limits.chain);
            self.report.error(link.spot, "chain", message, None);
            self.finish(false);
        }
        if let Some(head) = self.pending.first() {
            check_link(&link, head, self.report);
        }
        let goes_on = link.actions.chain.is_some();
        self.pending.push(link);
        if !goes_on {
            self.finish(false);
        }
    }

    fn finish(&mut self, open: bool) {
        let links = std::mem::take(&mut self.pending);
        let Some(head) = links.first() else { return };
        let spot = head.spot;
        if open {
            let hint = "the chain can never match";
            let last = links.last().and_then(|last| last.actions.chain).unwrap_or(spot);
            self.report.warn(last, "chain", "`chain` without a following rule", Some(hint));
        }
        let phase = head.actions.phase.map_or(Phase::RequestHeaders, |(phase, _)| phase);
        let Some((id, at)) = head.actions.id else {
            if head.whole {
                self.report.error(
                    spot,
                    "",
                    "a rule needs an id",
                    Some("such as id:100; ids below 100,000 are for local use"),
                );
            }
            return;
        };
        match self.ids.entry(id) {
            Entry::Vacant(free) => drop(free.insert(spot)),
            Entry::Occupied(first) => {
                let message = format!("id {id} is already used by the rule at {}", self.report.place(*first.get()));
                self.report.error(at, &id.to_string(), message, Some("ids must be unique"));
                return;
            }
        }
        if links.iter().all(|link| link.whole) {
            self.steps.push(Step::Chain(Chain { id, phase, links, open }));
        }
    }
}

/// Reports actions that only the first rule of a chain can have.
fn check_link(link: &Link, head: &Link, report: &mut Report) {
    let actions = &link.actions;
    let disruptive = actions.disruptive.as_ref().map(|(_, spot)| *spot).or(actions.block);
    if let Some(spot) = disruptive {
        let hint = "move it to the first rule of the chain";
        report.error(spot, "", "only the first rule of a chain can have a disruptive action", Some(hint));
    }
    if let Some((id, spot)) = actions.id {
        let hint = "remove it; the chain has the id of its first rule";
        report.error(spot, &id.to_string(), "only the first rule of a chain has an id", Some(hint));
    }
    if let (Some((phase, spot)), Some((first, _))) = (actions.phase, head.actions.phase)
        && phase != first
    {
        let message = format!("a chain runs in one phase: this one in phase {}", first as u8);
        report.error(spot, "phase", message, Some("remove the phase"));
    }
}
