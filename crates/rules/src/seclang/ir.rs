//! What SecLang text means, with everything resolved that can be resolved at load: includes read,
//! default actions merged, chains joined, removals and updates applied, phrases and networks read
//! from their files. What is left for evaluation are macros, whose values requests decide.
//!
//! Names of enumerations follow ModSecurity's; `table/` has each one's spelling and meaning.

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

/// Rules of a set of files, in the order in which they were read.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    /// Rules and markers.
    pub entries: Vec<Entry>,
    /// What the configuration directives say.
    pub settings: Settings,
    /// Files read, in order; [`Place::file`] is a position in it.
    pub files: Vec<String>,
}

/// One entry of the list of rules.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A rule or an unconditional action, chained ones included.
    Rule(Box<Rule>),
    /// Where `skipAfter` may go on.
    Marker(String),
}

/// Where something was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Position in [`RuleSet::files`].
    pub file: u32,
    /// Line, from 1, where the directive begins.
    pub line: u32,
}

/// When a rule runs.
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

/// A rule: a chain of one or more links that all have to match.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its id, unique in the set.
    pub id: u64,
    /// When it runs.
    pub phase: Phase,
    /// Where it begins.
    pub place: Place,
    /// The rule itself and those chained to it; never empty.
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
    /// What becomes of the transaction after a match.
    pub disruption: Disruption,
    /// Where evaluation goes on after a match.
    pub flow: Flow,
}

/// One link of a chain.
#[derive(Clone, Debug)]
pub struct Link {
    /// Where it is.
    pub place: Place,
    /// What it looks at and how; `None` matches always (`SecAction`).
    pub test: Option<Test>,
    /// Applied to each value before the operator, in order.
    pub transformations: Vec<Transformation>,
    /// Whether the operator sees the value after every transformation, not only the last.
    pub multi_match: bool,
    /// Whether groups of a pattern are kept in `TX:0` to `TX:9`.
    pub capture: bool,
    /// What a match of this link does at once, whether the rest of the chain matches or not; once
    /// for each value that matches.
    pub effects: Vec<Effect>,
}

/// Targets and an operator.
#[derive(Clone, Debug)]
pub struct Test {
    /// Values to look at, in order.
    pub targets: Vec<Target>,
    /// Values to leave out: `!ARGS:x`.
    pub exclusions: Vec<Target>,
    /// What they are tested for.
    pub operator: Operator,
    /// Whether a value matches if the operator does not: `!@rx`.
    pub negated: bool,
}

/// One variable of a rule, perhaps only some of its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The variable.
    pub variable: Variable,
    /// Which of its members.
    pub selector: Selector,
    /// `&`: how many there are, instead of their values.
    pub count: bool,
}

/// Which members of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// All of them; also of variables that have no members.
    All,
    /// Those of that name, whatever its case. Lower case here.
    Name(Vec<u8>),
    /// Those whose name the pattern matches, whatever its case.
    Pattern(Arc<Pattern>),
}
