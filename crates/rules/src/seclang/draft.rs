//! The contents of rule files in their order, before chains are joined.

use super::actions::Actions;
use super::diagnostic::SourceLocation;
use super::ir::{Phase, Settings};
use super::operator;
use super::selector::Targets;

/// Everything read from all files.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) items: Vec<DraftItem>,
    pub(super) settings: Settings,
    pub(super) defaults: Vec<Defaults>,
    pub(super) removals: Vec<(RuleSelector, SourceLocation)>,
    pub(super) updates: Vec<RuleUpdate>,
}

/// A single rule, which may be part of a chain, or a marker.
#[derive(Debug)]
pub(super) enum DraftItem {
    Link(Box<Link>),
    Marker(String),
}

/// One `SecRule` or `SecAction`.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) spot: SourceLocation,
    /// Index of the source: chains and defaults do not span sources.
    pub(super) root: usize,
    /// `None` for a `SecAction`.
    pub(super) test: Option<Test>,
    pub(super) actions: Actions,
    /// Whether the directive was read without errors.
    pub(super) whole: bool,
}

/// Targets and operator of a `SecRule`.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) targets: Targets,
    /// `None` if it could not be parsed.
    pub(super) operator: Option<operator::RawOperator>,
}

/// A `SecDefaultAction`.
#[derive(Debug)]
pub(super) struct Defaults {
    pub(super) spot: SourceLocation,
    pub(super) root: usize,
    pub(super) phase: Phase,
    pub(super) actions: Actions,
}

/// The rules that a directive applies to.
#[derive(Clone, Debug)]
pub(super) enum RuleSelector {
    Ids(Vec<(u64, u64)>),
    Tag(String),
    Message(String),
}

/// An update of existing rules.
#[derive(Debug)]
pub(super) struct RuleUpdate {
    pub(super) spot: SourceLocation,
    pub(super) which: RuleSelector,
    pub(super) change: RuleChange,
}

/// The content of an update.
#[derive(Debug)]
pub(super) enum RuleChange {
    Targets(Targets),
    Actions(Box<Actions>),
}
