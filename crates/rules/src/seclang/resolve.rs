//! Applies removals and updates of rules. They affect all rules, wherever they stand in the files,
//! as in ModSecurity v3.

use std::collections::{BTreeMap, HashMap};

use super::actions::Actions;
use super::chain::{Chain, Step};
use super::diagnostic::{Report, SourceLocation};
use super::draft::{RuleChange, RuleSelector, RuleUpdate};
use super::ir::Flow;

/// Positions of rules by id, tag and message.
struct RuleIndex {
    ids: BTreeMap<u64, usize>,
    tags: HashMap<String, Vec<usize>>,
    messages: HashMap<Vec<u8>, Vec<usize>>,
}

impl RuleIndex {
    fn new(steps: &[Step]) -> Self {
        let mut index = Self { ids: BTreeMap::new(), tags: HashMap::new(), messages: HashMap::new() };
        for (at, step) in steps.iter().enumerate() {
            let Step::Chain(chain) = step else { continue };
            let actions = &chain.head().actions;
            index.ids.insert(chain.id, at);
            for (tag, _) in &actions.tags {
                let known = index.tags.entry(tag.clone()).or_default();
                if known.last() != Some(&at) {
                    known.push(at);
                }
            }
            if let Some(text) = actions.message.as_ref().and_then(|(message, _)| message.as_text()) {
                index.messages.entry(text.to_vec()).or_default().push(at);
            }
        }
        index
    }

    fn find(&self, which: &RuleSelector) -> Vec<usize> {
        match which {
            RuleSelector::Ids(ranges) => {
                ranges.iter().flat_map(|&(low, high)| self.ids.range(low..=high)).map(|(_, &at)| at).collect()
            }
            RuleSelector::Tag(tag) => self.tags.get(tag).cloned().unwrap_or_default(),
            RuleSelector::Message(message) => self.messages.get(message.as_bytes()).cloned().unwrap_or_default(),
        }
    }
}

/// Directives that selected no rule.
pub(super) type UnusedDirectives = Vec<(SourceLocation, &'static str)>;

/// Applies removals and updates; returns the directives without effect.
pub(super) fn apply(
    steps: &mut Vec<Step>,
    removals: &[(RuleSelector, SourceLocation)],
    updates: &[RuleUpdate],
    report: &mut Report,
) -> UnusedDirectives {
    let index = RuleIndex::new(steps);
    let mut idle = UnusedDirectives::new();
    let mut left = report.limits.changes;
    for update in updates {
        let found = index.find(&update.which);
        if found.is_empty() {
            idle.push((update.spot, "there is no such rule to change"));
        }
        left = left.saturating_sub(found.len());
        if left == 0 {
            let message = format!("updates make more than {} changes", report.limits.changes);
            report.error(update.spot, "", message, None);
            break;
        }
        for at in found {
            if let Step::Chain(chain) = &mut steps[at] {
                change(chain, &update.change);
            }
        }
    }
    let mut removed = vec![false; steps.len()];
    for (which, spot) in removals {
        let found = index.find(which);
        if found.is_empty() {
            idle.push((*spot, "there is no such rule to remove"));
        }
        found.into_iter().for_each(|at| removed[at] = true);
    }
    if removed.contains(&true) {
        keep_skips(steps, &removed);
        let mut removed = removed.into_iter();
        steps.retain(|_| !removed.next().unwrap_or(false));
    }
    idle
}

fn change(chain: &mut Chain, change: &RuleChange) {
    match change {
        RuleChange::Targets(change) => {
            if let Some(test) = &mut chain.head_mut().test {
                test.targets.targets.extend(change.targets.iter().cloned());
                test.targets.exclusions.extend(change.exclusions.iter().cloned());
            }
        }
        RuleChange::Actions(change) => merge(&mut chain.head_mut().actions, change),
    }
}

/// Merges actions into `base`: single-valued actions are replaced.
///
/// ModSecurity v3.0.9 keeps the rule's own message and severity and drops its disruptive action
/// whatever is changed; this follows its manual instead.
pub(super) fn merge(base: &mut Actions, change: &Actions) {
    fn replace<T: Clone>(base: &mut Option<T>, change: &Option<T>) {
        if change.is_some() {
            base.clone_from(change);
        }
    }
    if change.disruptive.is_some() || change.block.is_some() {
        base.disruptive.clone_from(&change.disruptive);
        base.block = change.block;
    }
    replace(&mut base.status, &change.status);
    replace(&mut base.log, &change.log);
    replace(&mut base.flow, &change.flow);
    replace(&mut base.capture, &change.capture);
    replace(&mut base.multi_match, &change.multi_match);
    replace(&mut base.message, &change.message);
    replace(&mut base.log_data, &change.log_data);
    replace(&mut base.severity, &change.severity);
    replace(&mut base.revision, &change.revision);
    replace(&mut base.version, &change.version);
    if change.cleared {
        base.transformations.clear();
        base.cleared = true;
    }
    base.transformations.extend(change.transformations.iter().copied());
    base.tags.extend(change.tags.iter().cloned());
    base.set.extend(change.set.iter().cloned());
    base.effects.extend(change.effects.iter().cloned());
}

/// `skip` also counts removed rules, as long as they are in the list.
fn keep_skips(steps: &mut [Step], removed: &[bool]) {
    // The positions of rules in each phase.
    let mut phases: [Vec<usize>; 6] = Default::default();
    for (at, step) in steps.iter().enumerate() {
        if let Step::Chain(chain) = step {
            phases[chain.phase as usize].push(at);
        }
    }
    for rules in &phases {
        let mut gone = vec![0_u32];
        for &at in rules {
            gone.push(gone[gone.len() - 1] + u32::from(removed[at]));
        }
        for (position, &at) in rules.iter().enumerate() {
            let Step::Chain(chain) = &mut steps[at] else { continue };
            if let Some((Flow::Skip(count), _)) = &mut chain.head_mut().actions.flow {
                let end = (position + 1).saturating_add(*count as usize).min(rules.len());
                *count -= gone[end] - gone[position + 1];
            }
        }
    }
}
