//! The meaning of SecLang text, with everything resolved that can be resolved at load time: includes read, default
//! actions merged, chains joined, removals and updates applied, phrases and networks read from their files. Only
//! macros, whose values depend on the request, are left for evaluation.
//!
//! Enumerations are named after ModSecurity's terms; `table/` holds spelling and meaning of each.

mod decision;
mod effect;
mod operator;
mod settings;
mod text;
mod variable;

use std::sync::Arc;

use weir_transform::Transformation;

pub use decision::{AllowScope, Disruption, Flow};
pub use effect::{BodyProcessor, Change, Collection, Control, Effect, TextMatch};
pub use operator::{Comparison, Operator, PatternText, Verify};
pub use settings::{Engine, Settings};
pub use text::{Macro, Piece};
pub use variable::Variable;

use super::pattern::Pattern;

/// The rules of a set of files, in the order in which they were read.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    /// Rules and markers.
    pub entries: Vec<RuleSetEntry>,
    /// Values of the configuration directives.
    pub settings: Settings,
    /// Files read, in order; [`SourcePosition::file`] is an index into it.
    pub files: Vec<String>,
}

/// One entry of a rule set.
#[derive(Clone, Debug)]
pub enum RuleSetEntry {
    /// A rule or an unconditional action, with the rules chained to it.
    Rule(Box<Rule>),
    /// A target of `skipAfter`.
    Marker(String),
}

/// Position of a directive in the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourcePosition {
    /// Index into [`RuleSet::files`].
    pub file: u32,
    /// Line, from 1, where the directive begins.
    pub line: u32,
}

/// The phase in which a rule runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Phase {
    /// Request header: 1.
    RequestHeaders = 1,
    /// Request body: 2.
    RequestBody = 2,
    /// Response header: 3.
    ResponseHeaders = 3,
    /// Response body: 4.
    ResponseBody = 4,
    /// After the response: 5.
    Logging = 5,
}

/// A rule: a chain of one or more links that must all match.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Id, unique in the set.
    pub id: u64,
    /// The phase in which it runs.
    pub phase: Phase,
    /// Position of the first link.
    pub place: SourcePosition,
    /// The rule itself and the rules chained to it; never empty.
    pub links: Vec<Link>,
    /// `msg`.
    pub message: Macro,
    /// `logdata`.
    pub log_data: Macro,
    /// `severity`, 0 (emergency) to 7 (debug).
    pub severity: Option<u8>,
    /// `tag`s.
    pub tags: Vec<String>,
    /// `rev`.
    pub revision: String,
    /// `ver`.
    pub version: String,
    /// Whether a match is written to the attack log: `log`, `nolog`.
    pub log: bool,
    /// Effect of a match on the transaction.
    pub disruption: Disruption,
    /// Where evaluation continues after a match.
    pub flow: Flow,
}

/// One link of a chain.
#[derive(Clone, Debug)]
pub struct Link {
    /// Position in the source.
    pub place: SourcePosition,
    /// Targets and operator; `None` always matches (`SecAction`).
    pub test: Option<Test>,
    /// Transformations applied to each value before the operator, in order.
    pub transformations: Vec<Transformation>,
    /// Whether the operator tests the value after every transformation, not only after the last.
    pub multi_match: bool,
    /// Whether capture groups are stored in `TX:0` to `TX:9`.
    pub capture: bool,
    /// Effects of a match of this link, applied once for each matching value, whether or not the
    /// rest of the chain matches.
    pub effects: Vec<Effect>,
}

/// Targets and operator.
#[derive(Clone, Debug)]
pub struct Test {
    /// Values to test, in order.
    pub targets: Vec<Target>,
    /// Values to exclude: `!ARGS:x`.
    pub exclusions: Vec<Target>,
    /// The test.
    pub operator: Operator,
    /// Whether a value matches if the operator does not: `!@rx`.
    pub negated: bool,
}

/// A variable, or some of its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The variable.
    pub variable: Variable,
    /// The selected members.
    pub selector: Selector,
    /// `&`: the number of values instead of the values.
    pub count: bool,
}

/// A selection of members of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// All members; also for variables without members.
    All,
    /// Members of this name, in lower case here; names are case-insensitive.
    Name(Vec<u8>),
    /// Members whose name matches the pattern, ignoring case.
    Pattern(Arc<Pattern>),
}
