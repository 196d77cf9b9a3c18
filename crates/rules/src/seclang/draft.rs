//! What files say, in their order, before it is put together.

use super::actions::Actions;
use super::diagnostic::Spot;
use super::ir::{Phase, Settings};
use super::operator;
use super::selector::Targets;

/// Everything that was read.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) items: Vec<Item>,
    pub(super) settings: Settings,
    pub(super) defaults: Vec<Defaults>,
    pub(super) removals: Vec<(Which, Spot)>,
    pub(super) updates: Vec<Update>,
}

/// A rule, perhaps one link of a chain, or a marker.
#[derive(Debug)]
pub(super) enum Item {
    Link(Box<Link>),
    Marker(String),
}

/// One `SecRule` or `SecAction`.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) spot: Spot,
    /// Which root it was read from: chains and defaults do not reach over roots.
    pub(super) root: usize,
    /// `None` of a `SecAction`.
    pub(super) test: Option<Test>,
    pub(super) actions: Actions,
    /// Whether all of it could be read.
    pub(super) whole: bool,
}

/// What a `SecRule` looks at, and how.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) targets: Targets,
    /// `None` if it could not be read.
    pub(super) operator: Option<operator::Written>,
}

/// A `SecDefaultAction`.
#[derive(Debug)]
pub(super) struct Defaults {
    pub(super) spot: Spot,
    pub(super) root: usize,
    pub(super) phase: Phase,
    pub(super) actions: Actions,
}

/// Which rules a directive is about.
#[derive(Clone, Debug)]
pub(super) enum Which {
    Ids(Vec<(u64, u64)>),
    Tag(String),
    Message(String),
}

/// A change of rules.
#[derive(Debug)]
pub(super) struct Update {
    pub(super) spot: Spot,
    pub(super) which: Which,
    pub(super) change: Change,
}

/// What changes.
#[derive(Debug)]
pub(super) enum Change {
    Targets(Targets),
    Actions(Box<Actions>),
}
