//! Checks for rules that are valid but surprising.
//!
//! Only statements that hold without running a request. A *warning* is probably a mistake; a *note*
//! is an improvement, or worth knowing.

mod capitals;
mod flow;
mod operator;
mod transformation;
mod variable;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::chain::{Chain, Step};
use super::diagnostic::{Report, SourceLocation};
use super::draft::Link;
use super::ir::Phase;
use super::lower::Defaults;

/// First and last id reserved for the Core Rule Set; those of its setup are for users.
const RESERVED: std::ops::RangeInclusive<u64> = 901_000..=999_999;

/// Runs all checks.
pub(super) fn check(steps: &[Step], defaults: &Defaults, report: &mut Report) {
    let set = RuleSummary::new(steps);
    for (at, step) in steps.iter().enumerate() {
        let Step::Chain(chain) = step else { continue };
        self::chain(chain, &set, report);
        flow::check(chain, at, &set, report);
        for link in &chain.links {
            let default = defaults[chain.phase as usize].as_ref();
            operator::check(link, report);
            capitals::check(link, report);
            transformation::check(link, default, report);
        }
    }
    variable::check(steps, report);
}

/// An index of all rules.
struct RuleSummary<'s> {
    /// Phase and position of each rule.
    rules: BTreeMap<u64, (Phase, usize)>,
    /// Phase and position of the last rule with each tag, and with each message.
    tags: HashMap<&'s str, (Phase, usize)>,
    messages: HashMap<&'s [u8], (Phase, usize)>,
    /// The last position of each marker.
    markers: HashMap<&'s str, usize>,
    /// Indexes of files that belong to the Core Rule Set.
    core: HashSet<u32>,
}

impl<'s> RuleSummary<'s> {
    fn new(steps: &'s [Step]) -> Self {
        let mut set = Self {
            rules: BTreeMap::new(),
            tags: HashMap::new(),
            messages: HashMap::new(),
            markers: HashMap::new(),
            core: HashSet::new(),
        };
        for (at, step) in steps.iter().enumerate() {
            match step {
                Step::Marker(name) => drop(set.markers.insert(name, at)),
                Step::Chain(chain) => set.add(chain, at),
            }
        }
        set
    }

    fn add(&mut self, chain: &'s Chain, at: usize) {
        let head = chain.head();
        let actions = &head.actions;
        let place = (chain.phase, at);
        self.rules.insert(chain.id, place);
        for (tag, _) in &actions.tags {
            let last = self.tags.entry(tag).or_insert(place);
            *last = place.max(*last);
        }
        if let Some(text) = actions.message.as_ref().and_then(|(message, _)| message.as_text()) {
            let last = self.messages.entry(text).or_insert(place);
            *last = place.max(*last);
        }
        if actions.version.as_ref().is_some_and(|version| version.starts_with("OWASP_CRS")) {
            self.core.insert(head.spot.file);
        }
    }
}

fn chain(chain: &Chain, set: &RuleSummary<'_>, report: &mut Report) {
    let head = chain.head();
    if head.actions.phase.is_none() {
        let hint = "write phase:2 if it inspects the body";
        report.warn(
            head.spot,
            "",
            "a rule without a phase runs in phase 1; in ModSecurity 2 it was phase 2",
            Some(hint),
        );
    }
    if let Some((id, spot)) = head.actions.id
        && RESERVED.contains(&id)
        && !set.core.contains(&spot.file)
    {
        let hint = "ids below 100,000 are for local use";
        report.warn(spot, &id.to_string(), format!("id {id} is in the range of the Core Rule Set"), Some(hint));
    }
    for link in &chain.links[1..] {
        misplaced_actions(link, report);
    }
    late_variables(chain, report);
}

/// Actions in a later rule of a chain that apply to the whole chain.
fn misplaced_actions(link: &Link, report: &mut Report) {
    let actions = &link.actions;
    let said: [(&str, Option<SourceLocation>); 6] = [
        ("msg", actions.message.as_ref().map(|(_, spot)| *spot)),
        ("logdata", actions.log_data.as_ref().map(|(_, spot)| *spot)),
        ("severity", actions.severity.map(|(_, spot)| spot)),
        ("tag", actions.tags.first().map(|(_, spot)| *spot)),
        ("skip", actions.flow.as_ref().map(|(_, spot)| *spot)),
        ("phase", actions.phase.map(|(_, spot)| spot)),
    ];
    for (name, spot) in said {
        if let Some(spot) = spot {
            let hint = "ModSecurity 2 rejects it elsewhere";
            report.warn(spot, name, format!("`{name}` belongs to the first rule of a chain"), Some(hint));
        }
    }
}

/// Variables that are not yet known when the rule runs.
fn late_variables(chain: &Chain, report: &mut Report) {
    use super::ir::Variable as V;
    for link in &chain.links {
        let Some(test) = &link.test else { continue };
        let mut seen = BTreeSet::new();
        for target in &test.targets.targets {
            let row = super::table::variable::row(target.variable);
            if row.kind.since <= chain.phase || !seen.insert(target.variable) {
                continue;
            }
            let (phase, since) = (chain.phase as u8, row.kind.since as u8);
            let (message, hint) = match target.variable {
                V::Args | V::ArgsNames | V::ArgsCombinedSize => (
                    format!("in phase {phase}, `{}` has no body arguments yet", row.name),
                    "use phase:2, or ARGS_GET if the query is meant",
                ),
                _ => (
                    format!("`{}` is known from phase {since} on, and this is phase {phase}", row.name),
                    "use a later phase",
                ),
            };
            report.warn(link.spot, row.name, message, Some(hint));
        }
    }
}
