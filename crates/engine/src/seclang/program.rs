//! A compiled rule set, shared by everything that uses it.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, Weak};

use weir_rules::seclang::ir::{
    BodyProcessor, Collection, Disruption, Engine, Phase, RuleSet, Selector, Settings, SourcePosition,
};

use super::bits::Bits;
use super::expand::Text;
use super::gate::Collecting;
use super::names::{TxId, TxNames};
use super::operator::Operator;
use super::pipeline::{Node, Pipelines};
use super::sift::{Factors, Sifter};
use super::template::Template;
use super::variable::Source;

/// A rule set ready to be run.
#[derive(Debug)]
pub struct Program {
    pub(crate) infos: Vec<RuleInfo>,
    /// By phase, within a phase in the order of the files: a rule's position is its number here.
    pub(crate) rules: Vec<Rule>,
    /// Positions of each phase's rules.
    pub(crate) phases: [Range<u32>; 5],
    pub(crate) names: TxNames,
    pub(crate) pipelines: Pipelines,
    pub(crate) settings: Settings,
    pub(crate) files: Vec<String>,
    /// Where a profile's settings are applied: the position in phase 1 of the marker
    /// [`SETTINGS_MARKER`], or of the first rule.
    pub(crate) settings_at: u32,
    /// Filters by the set of rules that they know, shared by profiles that have the same.
    pub(crate) sifters: Mutex<HashMap<Bits, Weak<Sifter>>>,
    /// Parts of patterns by the rules that are live where none is left out, shared by all that leave out some.
    pub(crate) factors: Mutex<HashMap<Bits, Weak<Factors>>>,
    /// Templates by what they come from, shared likewise.
    pub(crate) templates: Mutex<HashMap<TemplateKey, Weak<Template>>>,
}

/// What a template comes from: variables, settings, and the rules that are removed.
pub(crate) type TemplateKey = (Vec<Setting>, Vec<Setting>, Bits);

/// Name and value.
pub(crate) type Setting = (Vec<u8>, Vec<u8>);

/// The marker at which [`crate::seclang::Tuning::settings`] take effect.
pub const SETTINGS_MARKER: &str = "WEIR-SETTINGS";

/// Description of a rule for logs and people.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleInfo {
    /// Id.
    pub id: u64,
    /// Phase in which it runs.
    pub phase: Phase,
    /// Where it was written; its file is a position in [`Program::files`].
    pub place: SourcePosition,
    /// `msg` without its macros expanded.
    pub message: String,
    /// `severity`.
    pub severity: Option<u8>,
    /// `tag`s.
    pub tags: Vec<String>,
}

/// Why a rule does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramError {
    /// The rule's id.
    pub rule: u64,
    /// Where it is; the file is a position in the set's `files`.
    pub place: SourcePosition,
    /// The problem and the remedy.
    pub message: String,
}

/// A rule as it is run.
#[derive(Debug)]
pub(crate) struct Rule {
    /// Number of its description.
    pub(crate) info: u32,
    pub(crate) links: Vec<Link>,
    pub(crate) message: Text,
    pub(crate) log_data: Text,
    pub(crate) log: bool,
    pub(crate) disruption: Disrupt,
    /// Where evaluation goes on after a match, if not at the next rule: a position within its
    /// phase, or its end.
    pub(crate) jump: Option<u32>,
    /// For a rule that collects values in variables of its own.
    pub(crate) collecting: Option<Collecting>,
}

/// A link of a chain.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) test: Option<Test>,
    pub(crate) pipeline: Node,
    /// For `multiMatch`: all stages of the pipeline.
    pub(crate) stages: Vec<Node>,
    pub(crate) capture: bool,
    /// Done for each value that matches.
    pub(crate) assignments: Vec<Assignment>,
    /// Done once the whole chain has matched, of the last link first.
    pub(crate) effects: Vec<Effect>,
}

#[derive(Debug)]
pub(crate) struct Test {
    pub(crate) targets: Vec<Target>,
    pub(crate) exclusions: Vec<Pick>,
    pub(crate) operator: Operator,
    pub(crate) negated: bool,
}

/// One target of a test.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) source: Source,
    pub(crate) selector: Selector,
    pub(crate) pattern: Option<Arc<super::matcher::Matcher>>,
    pub(crate) count: bool,
    /// The variable's name, as logs say it.
    pub(crate) name: &'static str,
    /// For `TX`: the variables that the program names and that the selector picks.
    pub(crate) tx: Vec<TxId>,
}

/// What is left out, or removed in the course of a request.
#[derive(Clone, Debug)]
pub(crate) struct Pick {
    pub(crate) source: Source,
    pub(crate) selector: Selector,
    pub(crate) pattern: Option<Arc<super::matcher::Matcher>>,
}

/// `setvar`.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) collection: Collection,
    pub(crate) name: Name,
    pub(crate) change: Change,
    /// Whether what it adds is an anomaly score of the rule that adds it, not a sum of scores.
    pub(crate) scores: bool,
}

/// A variable's name.
#[derive(Debug)]
pub(crate) enum Name {
    /// A variable of `TX` that is known at load.
    Tx(TxId),
    /// A variable of `TX` with macros in its name, or of a persistent collection.
    Text(Text),
}

#[derive(Debug)]
pub(crate) enum Change {
    Set(Text),
    Add(Text),
    Subtract(Text),
    Unset,
}

/// Effects of a match of the whole chain.
#[derive(Debug)]
pub(crate) enum Effect {
    Expire(Collection, Text, Text),
    InitCollection(Collection, Text),
    SetEnvironment,
    Engine(Engine),
    RequestBodyAccess(bool),
    ResponseBodyAccess(bool),
    BodyProcessor(BodyProcessor),
    ForceRequestBody(bool),
    /// These rules are not run any more.
    Remove(Bits),
    /// These rules do not look at that any more.
    RemoveTarget(Bits, Arc<Pick>),
}

#[derive(Debug)]
pub(crate) enum Disrupt {
    Pass,
    Redirect(u16, Text),
    Other(Disruption),
}

impl Program {
    /// The rules, in the order of the files. A finding's rule is the profile's first index plus a
    /// position here.
    #[must_use]
    pub fn rules(&self) -> &[RuleInfo] {
        &self.infos
    }

    /// The files that it was read from; [`SourcePosition::file`] is a position here.
    #[must_use]
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// What its configuration directives say.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Names of the variables of `TX` that rules read or set, in lower case.
    pub fn variables(&self) -> impl Iterator<Item = &str> + Clone {
        self.names.iter().filter_map(|name| std::str::from_utf8(name).ok())
    }

    /// Whether a rule compares this variable of `TX` as a number.
    #[must_use]
    pub fn is_number(&self, variable: &str) -> bool {
        let Some(id) = self.names.find(variable.as_bytes()) else { return false };
        let named =
            |target: &Target| !target.count && matches!(target.selector, Selector::Name(_)) && target.tx.contains(&id);
        let mut tests = self.rules.iter().flat_map(|rule| &rule.links).filter_map(|link| link.test.as_ref());
        tests.any(|test| match &test.operator {
            Operator::Compare(_, text) => test.targets.iter().any(named) || text.reads().any(|read| read == id),
            _ => false,
        })
    }

    /// Compiles a rule set.
    ///
    /// # Errors
    /// Every rule that cannot be compiled, such as one whose pattern is too large.
    pub fn compile(set: &RuleSet) -> Result<Self, Vec<ProgramError>> {
        super::compile::compile(set)
    }

    pub(crate) fn positions(&self, phase: Phase) -> Range<u32> {
        self.phases[phase as usize - 1].clone()
    }
}
