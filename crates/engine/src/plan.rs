//! The plan: what a set of policies compiles to.
//!
//! Rules are sorted into stages by the phase in which everything they read is known. Each stage
//! has filters, one per lane (a value expression that some rule's gate looks at), which mark the
//! candidates; the others are never touched. See `evaluate.rs` for the pass itself.

use std::collections::HashMap;
use std::sync::Arc;

use weir_inspect::Inspector;
use weir_inspect::inspector::Fail;
use weir_rules::Phase;
use weir_rules::ir::ValueExpr;

use crate::check::Node;
use crate::filter::Filter;
use crate::value::Source;
use crate::{Action, Geo, RuleIndex};

/// Policies compiled for evaluation. Immutable; share it in an `Arc`.
pub struct Plan {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) selectors: Vec<Selector>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) stages: [Stage; 3],
    pub(crate) infos: Vec<LaneInfo>,
    /// Lanes and selectors that read tags or the consumer, which rules set on the way.
    pub(crate) changing_lanes: Vec<u32>,
    pub(crate) changing_selectors: Vec<u32>,
    /// Lanes whose values are not known, or not final, when it is asked whether the body is wanted.
    pub(crate) unforeseen: Vec<u32>,
    pub(crate) geo: Option<Arc<dyn Geo>>,
    /// Positions of its policies in the specification; the n-th has bit n.
    pub(crate) policies: Box<[u32]>,
    pub(crate) changes_response: bool,
    pub(crate) inflates: bool,
    pub(crate) may_refuse: bool,
    pub(crate) only_detects: bool,
    /// Whether rules or rule sets read the request body itself, and not only a digest of it.
    pub(crate) reads_body: bool,
    /// Whether some rule verifies a signature over the request body.
    pub(crate) verifies_body: bool,
    /// Most bytes of the body that inspectors are sent.
    pub(crate) inspected_bytes: usize,
    /// Header fields of the request, in lower case, that only inspectors may set.
    pub(crate) stripped: Vec<String>,
    /// The longest time for which one of its rules accepts a signature that may come only once, in milliseconds.
    pub(crate) window_ms: u64,
    /// Whether a rule set has rules for that phase, by [`Phase`].
    pub(crate) rule_sets: [bool; 3],
}

/// A lane as the ledger names it.
#[derive(Clone, Debug)]
pub struct LaneInfo {
    /// The value it looks at, as an expression, and the phase unless it is the request's.
    pub name: String,
    /// The rules that share it.
    pub rules: Vec<RuleIndex>,
}

/// One value expression, read at most once per evaluation.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) value: ValueExpr,
    pub(crate) source: Source,
}

#[derive(Debug)]
pub(crate) struct Selector {
    pub(crate) when: Option<Node>,
}

#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) index: RuleIndex,
    pub(crate) id: String,
    /// The policy's bit, see [`Plan::policies`].
    pub(crate) policy: u64,
    pub(crate) detect: bool,
    pub(crate) selector: u32,
    pub(crate) node: Node,
    pub(crate) actions: Vec<PlannedAction>,
    pub(crate) score: u32,
    /// Whether it verifies a signature over the request body.
    pub(crate) verifies_body: bool,
    /// Whether it reads what earlier rules, and answers of inspectors, may set.
    pub(crate) reads_changing: bool,
}

/// An action with its parameters ready to be read.
#[derive(Debug)]
pub(crate) struct PlannedAction {
    pub(crate) action: Action,
    pub(crate) parameter: Option<Source>,
    /// For a rate limit: its identity, see [`crate::rate::limit_identity`].
    pub(crate) limit: u64,
    /// For a rule set: the condition of each of its exclusions.
    pub(crate) exclusions: Vec<Option<Node>>,
    /// For a rule set: number of its first lane.
    pub(crate) lanes_at: u32,
}

/// The rules of one phase.
#[derive(Debug, Default)]
pub(crate) struct Stage {
    /// Positions in `Plan::rules`, in order.
    pub(crate) rules: Vec<u32>,
    /// One bit per entry of `rules`: those without a gate.
    pub(crate) ungated: Vec<u64>,
    pub(crate) filters: Vec<Filter>,
}

impl Plan {
    /// Whether any rule has work in that phase.
    #[must_use]
    pub fn has(&self, phase: Phase) -> bool {
        !self.stages[phase as usize].rules.is_empty() || self.rule_sets[phase as usize]
    }

    /// Whether one of its policies reads what compressed bodies contain.
    #[must_use]
    pub fn inflates(&self) -> bool {
        self.inflates
    }

    /// Whether a rule may refuse a request; not if its policies only detect.
    #[must_use]
    pub fn may_refuse(&self) -> bool {
        self.may_refuse
    }

    /// Whether its rules change neither requests nor responses.
    #[must_use]
    pub fn only_detects(&self) -> bool {
        self.only_detects
    }

    /// The bits of all its policies.
    pub(crate) fn all(&self) -> u64 {
        u64::MAX.checked_shr(64 - self.policies.len() as u32).unwrap_or(0)
    }

    /// Whether some rule reads the request body itself; if not, signatures are verified as it passes.
    #[must_use]
    pub fn reads_body(&self) -> bool {
        self.reads_body
    }

    /// Whether some rule verifies a signature over the request body.
    #[must_use]
    pub fn verifies_body(&self) -> bool {
        self.verifies_body
    }

    /// Most bytes of the request body that inspectors are sent.
    #[must_use]
    pub fn inspected_bytes(&self) -> usize {
        self.inspected_bytes
    }

    /// Whether some rule asks who sent the request, or an inspector without which it must not pass.
    #[must_use]
    pub fn authenticates(&self) -> bool {
        let mut actions = self.rules.iter().flat_map(|rule| &rule.actions);
        let is_closed = |inspector: &Arc<Inspector>| inspector.fail != Fail::Open;
        actions.any(|planned| {
            let info = planned.action.info();
            info.authentication.is_some() || info.inspector.is_some_and(is_closed)
        })
    }

    /// Whether it has no rules at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether a rule may change or stop a response: a header filter is needed.
    #[must_use]
    pub fn touches_response(&self) -> bool {
        self.changes_response || self.has(Phase::Response)
    }

    /// The lanes, as numbered in [`crate::Meter::lane`].
    #[must_use]
    pub fn lanes(&self) -> &[LaneInfo] {
        &self.infos
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Plan")
            .field("rules", &self.rules.len())
            .field("lanes", &self.infos.len())
            .finish_non_exhaustive()
    }
}

/// Lanes by value expression, numbered as they come.
#[derive(Default)]
pub(crate) struct LaneTable {
    pub(crate) lanes: Vec<Lane>,
    numbers: HashMap<ValueExpr, u32>,
}

impl LaneTable {
    pub(crate) fn number(&mut self, value: &ValueExpr) -> u32 {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        let number = self.lanes.len() as u32;
        self.lanes.push(Lane { value: value.clone(), source: Source::new(value) });
        self.numbers.insert(value.clone(), number);
        number
    }
}
