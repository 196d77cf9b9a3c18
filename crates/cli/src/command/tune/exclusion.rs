//! Second pass: what each exclusion would silence, of what was named and of all else.

use std::collections::{HashMap, HashSet};

use weir_log::attack::AttackLine;

use super::choice::Choice;
use super::groups::Key;
use super::path_scope::{PathScope, SEVERAL, path_of};
use super::target::{Target, is_member};
use crate::table::counted;

/// A proposed exclusion.
#[derive(Debug)]
pub(super) struct Exclusion {
    pub key: Key,
    pub place: PathScope,
    /// The rule's message.
    pub message: String,
    /// An example of a matched value.
    pub sample: String,
    /// Findings of the selected requests that it silences.
    pub named: Count,
    /// Findings of other requests that it silences.
    pub others: Count,
    /// An example of those: the request and the matched value.
    pub other: Option<(String, String)>,
}

/// Findings and the requests that have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub findings: u64,
    pub requests: u64,
}

/// All of them, with what the log says.
pub(super) struct Proposal {
    pub exclusions: Vec<Exclusion>,
    /// Of the whole log.
    pub findings: u64,
    pub requests: u64,
    /// Named findings of the policy's own rules.
    pub own: u64,
    /// Lines that were no entries.
    pub unread_lines: u64,
    /// Request ids of the command line that the log has.
    pub seen: HashSet<String>,
    by_key: HashMap<Key, HashMap<PathScope, usize>>,
}

impl Proposal {
    pub fn new(exclusions: Vec<Exclusion>, own: u64, seen: HashSet<String>) -> Self {
        let mut by_key: HashMap<Key, HashMap<PathScope, usize>> = HashMap::new();
        for (number, exclusion) in exclusions.iter().enumerate() {
            by_key.entry(exclusion.key.clone()).or_default().insert(exclusion.place.clone(), number);
        }
        Self { exclusions, findings: 0, requests: 0, own, unread_lines: 0, seen, by_key }
    }

    /// Counts one entry.
    pub fn count(&mut self, entry: &AttackLine, choice: &Choice) {
        self.requests += 1;
        self.findings += entry.findings.len() as u64;
        let is_named = choice.names(entry);
        let places = PathScope::of(path_of(entry));
        let mut touched: Vec<(usize, bool)> = Vec::new();
        for found in &entry.findings {
            let Some(key) = Key::of(found) else { continue };
            let Some(known) = self.by_key.get(&key) else { continue };
            for number in places.iter().filter_map(|place| known.get(place).copied()) {
                let exclusion = &mut self.exclusions[number];
                let is_named = is_named && choice.names_finding(found);
                let count = if is_named { &mut exclusion.named } else { &mut exclusion.others };
                count.findings += 1;
                if !touched.contains(&(number, is_named)) {
                    touched.push((number, is_named));
                    count.requests += 1;
                    if !is_named && exclusion.other.is_none() {
                        let sample: String = found.matched.chars().take(100).collect();
                        exclusion.other = Some((entry.request_id.clone(), sample));
                    }
                }
            }
        }
    }

    /// Policies' rules that run the rule sets concerned, in order.
    pub fn vias(&self) -> Vec<&str> {
        let mut vias: Vec<&str> = self.exclusions.iter().map(|exclusion| exclusion.key.via.as_str()).collect();
        vias.sort_unstable();
        vias.dedup();
        vias
    }
}

impl Exclusion {
    /// As an item of `exclude:` in YAML's flow style.
    pub fn as_yaml(&self) -> String {
        let target = match &self.key.target {
            Target::Named(target) => format!(", target: {}", single_quoted(target)),
            Target::Whole => String::new(),
        };
        format!("{{rule: {}{target}, when: {}}}", self.key.rule, single_quoted(&self.place.expression()))
    }

    /// The exclusion in JSON.
    pub fn as_json(&self) -> String {
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let target = match &self.key.target {
            Target::Named(target) => format!(", \"target\": {}", text(target)),
            Target::Whole => String::new(),
        };
        format!("{{\"rule\": {}{target}, \"when\": {}}}", self.key.rule, text(&self.place.expression()))
    }

    /// What somebody should know before taking it.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        match &self.key.target {
            Target::Whole => {
                warnings.push("the finding names no value: this leaves out the whole rule there".to_owned())
            }
            Target::Named(target) if !is_member(target) => {
                warnings.push(format!("{target} has no members: this leaves out all of it there"));
            }
            Target::Named(_) => {}
        }
        if let PathScope::Shape(_) = self.place {
            warnings.push(format!("the path is a pattern: {SEVERAL} or more were named that differ in an id only"));
        }
        if let Some((request, sample)) = &self.other {
            warnings.push(format!(
                "it also silences {} in {} not named, such as {request} with `{sample}`: look at those first",
                counted(self.others.findings, "finding"),
                counted(self.others.requests, "request"),
            ));
        }
        warnings
    }
}

/// A scalar in single quotes, in which a backslash is a backslash.
fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use weir_log::attack::FindingLine;
    use weir_policy::Snapshot;

    use super::*;

    /// A policy with that exclusion of a rule set that has rule 1.
    fn policy(dir: &Path, exclusion: &str) -> String {
        let rules = "SecRule ARGS|REQUEST_URI \"@contains x\" \"id:1,phase:2,deny\"\n";
        std::fs::write(dir.join("rules.conf"), rules).expect("writes");
        format!(
            "policies:\n  - id: p\n    rules:\n      - id: r\n        when: 'true'\n        action:\n          \
             rule_set:\n            files: [rules.conf]\n            exclude:\n              - {exclusion}\n"
        )
    }

    fn exclusion(variable: &str, path: &[u8]) -> Option<Exclusion> {
        let via = Some("r".to_owned());
        let found =
            FindingLine { rule: "1".into(), variable: variable.into(), via, score: 5, ..FindingLine::default() };
        let key = Key::of(&found)?;
        let place = PathScope::of(path.to_vec()).pop()?;
        let (message, sample) = Default::default();
        Some(Exclusion { key, place, message, sample, named: Count::default(), others: Count::default(), other: None })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
        #[test]
        fn a_policy_takes_what_is_proposed(
            name in "\\PC{0,20}|[ -~]{1,20}|.{1,8}",
            path in prop_oneof!["/[ -~]{0,20}".prop_map(String::into_bytes), proptest::collection::vec(any::<u8>(), 1..20),
                "/[a-z.+*()$]{0,5}/[0-9]{1,3}".prop_map(String::into_bytes)],
        ) {
            let dir = tempfile::tempdir().expect("temp dir");
            let Some(exclusion) = exclusion(&format!("ARGS:{name}"), &path) else { return Ok(()) };
            for (text, end) in [(exclusion.as_yaml(), "yaml"), (exclusion.as_json(), "yaml")] {
                let policy = policy(dir.path(), &text);
                let loaded = Snapshot::parse(&policy, &dir.path().join("policy").with_extension(end));
                prop_assert!(loaded.is_ok(), "{text}: {}", loaded.err().map_or(String::new(), |errors| errors.to_string()));
            }
        }
    }
}
