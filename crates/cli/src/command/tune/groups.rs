//! First pass: what was named, by rule, target and path.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use weir_log::attack::{AttackLine, FindingLine};

use super::choice::Choice;
use super::exclusion::{Exclusion, Proposal};
use super::log::Log;
use super::path_scope::{PathScope, SEVERAL, Shape, path_of};
use super::target::{Target, target_of};
use crate::Failure;
use crate::table::counted;

/// Distinct findings that are kept. People cannot read more, and an attacker can make any number.
const MAX_GROUPS: usize = 10_000;
/// Bytes of a message or sample that are kept.
const MAX_SAMPLE: usize = 200;

/// What an exclusion is about, without the path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    /// The policy, if the log names it.
    pub policy: String,
    /// The policy's rule that runs the rule set.
    pub via: String,
    /// The rule.
    pub rule: String,
    /// The variable that matched.
    pub target: Target,
}

impl Key {
    /// Policy and rule whose action runs the rule set.
    pub fn of_action(&self) -> (&str, &str) {
        (&self.policy, &self.via)
    }

    /// The key of a finding, if it can be excluded.
    pub fn of(found: &FindingLine) -> Option<Self> {
        let (policy, via, rule) = (found.policy.clone(), found.via.clone()?, found.rule.clone());
        Some(Self { policy, via, rule, target: target_of(found)? })
    }
}

/// Paths of one key. Of those with an id in them no more are kept than tell that there are several.
#[derive(Default)]
struct Paths {
    plain: BTreeSet<Vec<u8>>,
    shaped: BTreeMap<Shape, BTreeSet<Vec<u8>>>,
}

impl Paths {
    /// Whether it is one more to be kept.
    fn add(&mut self, path: Vec<u8>) -> bool {
        let known = match Shape::of(&path) {
            Some(shape) => self.shaped.entry(shape).or_default(),
            None => return self.plain.insert(path),
        };
        known.len() < SEVERAL && known.insert(path)
    }
}

/// The selected findings so far.
#[derive(Default)]
pub(super) struct Groups {
    paths: BTreeMap<Key, Paths>,
    samples: BTreeMap<Key, (String, String)>,
    count: usize,
    entries: u64,
    named: u64,
    /// Findings of the policy's own rules, which are to be changed themselves.
    own: u64,
    seen: HashSet<String>,
}

impl Groups {
    /// Looks at one entry.
    pub fn see(&mut self, entry: &AttackLine, choice: &Choice) -> Result<(), Failure> {
        self.entries += 1;
        if choice.is_of_request(&entry.request_id) {
            self.seen.insert(entry.request_id.clone());
        }
        if !choice.names(entry) {
            return Ok(());
        }
        self.named += 1;
        for found in entry.findings.iter().filter(|found| choice.names_finding(found)) {
            if found.via.is_none() {
                self.own += 1;
                continue;
            }
            let Some(key) = Key::of(found).filter(|key| key.rule.parse::<u64>().is_ok()) else { continue };
            self.samples.entry(key.clone()).or_insert_with(|| (cut(&found.message), cut(&found.matched)));
            self.count += usize::from(self.paths.entry(key).or_default().add(path_of(entry)));
            if self.count > MAX_GROUPS {
                return Err(Failure::new(format!("more than {MAX_GROUPS} distinct findings are named"))
                    .hint("name fewer: by --rule, --path or --false-positive"));
            }
        }
        Ok(())
    }

    /// Fails if nothing can come of it.
    pub fn check(&self, log: &Log, choice: &Choice) -> Result<(), Failure> {
        if self.count > 0 {
            return Ok(());
        }
        if self.entries == 0 {
            return Err(Failure::new(format!("{}: none of its lines is from an attack log", log.name))
                .hint("weir_attack_log in nginx's configuration names the log"));
        }
        if let [first, ..] = choice.missing(&self.seen).as_slice() {
            return Err(Failure::new(format!("{} has no request {first}", log.name))
                .hint("the fields `request_id` of the log are the ids"));
        }
        let entries = counted(self.entries, "request");
        let failure = Failure::new(format!("{}: none of its {entries} has a matching finding of a rule set", log.name));
        Err(if self.own > 0 {
            failure.hint("the findings are from the policy's own rules; change their conditions")
        } else {
            failure.hint("weir tune --help explains how to select findings")
        })
    }

    /// Exclusions for all of it. Paths in which an id stands are one place if there are several.
    pub fn propose(self) -> Proposal {
        let mut exclusions = Vec::new();
        for (key, paths) in self.paths {
            let mut places: Vec<PathScope> = paths.plain.into_iter().map(PathScope::Path).collect();
            for (shape, paths) in paths.shaped {
                if paths.len() >= SEVERAL {
                    places.push(PathScope::Shape(shape));
                } else {
                    places.extend(paths.into_iter().map(PathScope::Path));
                }
            }
            places.sort();
            let (message, sample) = self.samples.get(&key).cloned().unwrap_or_default();
            exclusions.extend(places.into_iter().map(|place| Exclusion {
                key: key.clone(),
                place,
                message: message.clone(),
                sample: sample.clone(),
                named: Default::default(),
                others: Default::default(),
                other: None,
            }));
        }
        Proposal::new(exclusions, self.own, self.seen)
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_SAMPLE).collect()
}
