//! How a profile runs one of its rules, for people who ask (`weir rules explain`).
//!
//! Nothing here is stored for it: what is told is worked out anew from what evaluation itself
//! uses, so that it cannot say anything else than what happens.

use weir_rules::seclang::ir::{Selector, Variable};
use weir_transform::ByteSet;

use super::need::{Bytes, Need};
use super::program::Link;
use super::template::Status;
use super::variable::{BASES, Origin, Source};
use super::{Exclusion, Profile};

/// How a profile runs a rule, for `weir rules explain`.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The requests in which it runs.
    pub execution: Execution,
    /// The profile's exclusions that concern it.
    pub exclusions: Vec<Exclusion>,
}

/// The requests in which a rule runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Execution {
    /// Not in requests: nothing in it depends on them, so its outcome is worked out at load. It is
    /// run after all in a request that changes a variable which it reads or writes.
    Folded,
    /// Never unless a variable changes that decides so: a rule worked out at load jumps over it,
    /// such as one that checks the paranoia level.
    Skipped,
    /// Never: an exclusion without a condition takes it out.
    Removed,
    /// In every request.
    Always,
    /// Only if the filter finds a value that may match.
    Gated {
        /// The link of the chain that the filter judges, from 0.
        link: usize,
        /// What a value must have.
        needs: Needs,
        /// Where it is looked for: the lanes' collections, with the member if it is one, such as
        /// `ARGS_GET:id`.
        lanes: Vec<String>,
        /// Names of the transformations that values go through first, joined by commas; `none`.
        through: String,
    },
}

/// What the filter looks for in a value. Letters' case does not matter.
#[derive(Clone, Debug, PartialEq)]
pub enum Needs {
    /// Any value will do; that there is one is what is rare.
    Value,
    /// No value can match.
    Impossible,
    /// One of the literals, and the bytes. Literals are folded (`byte | 0x20`).
    Literals(Vec<Vec<u8>>, ByteNeeds),
    /// The bytes.
    Bytes(ByteNeeds),
    /// A beginning that SQL injection could have.
    Sql,
    /// A beginning that cross-site scripting could have.
    Xss,
}

/// Bytes that a value must have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ByteNeeds {
    /// At least one byte of each set; each set is in ascending order.
    pub one_of: Vec<Vec<u8>>,
    /// Length in bytes.
    pub at_least: usize,
}

impl Profile {
    /// How the rule with that id runs; `None` if the program has no such rule.
    #[must_use]
    pub fn explain(&self, id: u64) -> Option<Explanation> {
        let program = &self.program;
        let info = program.infos.iter().position(|info| info.id == id)?;
        let at = program.rules.iter().position(|rule| rule.info as usize == info)?;
        let execution = match self.template().status(at as u32) {
            Status::Folded => Execution::Folded,
            Status::Skipped => Execution::Skipped,
            Status::Removed => Execution::Removed,
            Status::Live => self.live(at),
        };
        let exclusions = self.excluded.iter().zip(self.exclusions());
        let exclusions = exclusions.filter(|(excluded, _)| excluded.rules.contains(at)).map(|(_, one)| one.clone());
        Some(Explanation { execution, exclusions: exclusions.collect() })
    }

    /// Number of exclusions.
    #[must_use]
    pub fn exclusion_count(&self) -> usize {
        self.exclusions().len()
    }

    fn live(&self, at: usize) -> Execution {
        let Some(gate) = self.sifter().gate(at as u32) else { return Execution::Always };
        let link = &self.program.rules[at].links[gate.link];
        let through = self.program.pipelines.name(link.pipeline);
        Execution::Gated { link: gate.link, needs: Needs::of(&gate.need), lanes: lanes_of(link), through }
    }
}

/// The collections that a link looks at.
fn lanes_of(link: &Link) -> Vec<String> {
    let mut lanes = Vec::new();
    for target in link.test.iter().flat_map(|test| &test.targets) {
        let Source::Origins(origins) = &target.source else { continue };
        let member = match &target.selector {
            Selector::Name(name) => format!(":{}", String::from_utf8_lossy(name)),
            Selector::All | Selector::Pattern(_) => String::new(),
        };
        for origin in origins {
            let lane = format!("{}{member}", name_of(*origin));
            if !lanes.contains(&lane) {
                lanes.push(lane);
            }
        }
    }
    lanes
}

/// The collection's name, with what tells the body's part of `ARGS` from the query's.
fn name_of(origin: Origin) -> String {
    let name = match BASES[usize::from(origin.base)].variable {
        Variable::Args => "ARGS of the body",
        other => other.name(),
    };
    if origin.names { format!("names of {name}") } else { name.to_owned() }
}

impl Needs {
    fn of(need: &Need) -> Self {
        match need {
            Need::Any => Self::Value,
            Need::Never => Self::Impossible,
            Need::Literals(literals, bytes) => Self::Literals(literals.clone(), ByteNeeds::of(bytes)),
            Need::Bytes(bytes) => Self::Bytes(ByteNeeds::of(bytes)),
            Need::Sqli => Self::Sql,
            Need::Xss => Self::Xss,
        }
    }
}

impl ByteNeeds {
    fn of(bytes: &Bytes) -> Self {
        let listed = |set: &ByteSet| (0..=255).filter(|byte| set.contains(*byte)).collect();
        Self { one_of: bytes.sets.iter().map(listed).collect(), at_least: bytes.min_length }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_rules::seclang::{Options, RuleSource, load};

    use super::*;
    use crate::RuleIndex;
    use crate::seclang::{Program, RuleChoice, Tuning};

    const RULES: &str = "\
        SecAction \"id:1,phase:1,pass,nolog,setvar:tx.level=1\"\n\
        SecRule TX:level \"@lt 2\" \"id:2,phase:1,pass,nolog,skipAfter:END\"\n\
        SecRule ARGS:x \"@contains evil\" \"id:3,phase:1,deny\"\n\
        SecMarker END\n\
        SecRule ARGS_GET \"@contains evil\" \"id:4,phase:1,deny,t:lowercase\"\n\
        SecRule REQUEST_HEADERS:Host \"!@streq a\" \"id:5,phase:1,deny\"\n\
        SecRule ARGS_GET \"@detectSQLi\" \"id:6,phase:1,deny\"\n\
        SecRule ARGS_GET \"@rx ['\\\"]\\s*x\" \"id:7,phase:1,deny\"\n";

    fn profile() -> Profile {
        let root = RuleSource::Text { name: "t".into(), text: RULES.into() };
        let set = load(&[root], &Options::default()).expect("loads").set;
        let program = Arc::new(Program::compile(&set).expect("compiles"));
        let exclusion = Exclusion { rules: RuleChoice::Ids(vec![(7, 9)]), target: None, when: None };
        Profile::new(program, RuleIndex(0), Tuning { exclusions: vec![exclusion], ..Tuning::default() })
    }

    #[test]
    fn each_way_to_run_a_rule_is_told() {
        let profile = profile();
        let gated = |needs: Needs, through: &str| {
            let (lanes, through) = (vec!["ARGS_GET".to_owned()], through.to_owned());
            Execution::Gated { link: 0, needs, lanes, through }
        };
        let literal = Needs::Literals(vec![b"evil".to_vec()], ByteNeeds::default());
        let cases = [
            (1, Execution::Folded),
            (2, Execution::Folded),
            (3, Execution::Skipped),
            (4, gated(literal, "lowercase")),
            (5, Execution::Always),
            (6, gated(Needs::Sql, "none")),
            (7, Execution::Removed),
        ];
        for (id, way) in cases {
            assert_eq!(profile.explain(id).map(|explanation| explanation.execution), Some(way), "rule {id}");
        }
        assert_eq!(profile.explain(8), None);
        let touched: Vec<u64> =
            (1..8).filter(|id| !profile.explain(*id).expect("is there").exclusions.is_empty()).collect();
        assert_eq!(touched, [7]);
    }
}
