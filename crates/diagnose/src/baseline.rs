//! Baselines: facts recorded while a process was healthy, for comparison with current ones.
//!
//! The cost of a process depends on much that code review does not see: build flags, one line of
//! configuration, a kernel parameter. A comparison therefore goes from the outside in: changes of
//! the context, then the distribution of CPU time, then the cost of a request. A difference in cost
//! without one in the context is a change of the load, or of the code itself.

use serde::Serialize;
use weir_profile::diff::{DiffOptions, diff};

use crate::facts::Facts;

mod configuration;
mod context;
mod cost;
mod functions;
pub mod store;
mod text;

pub use context::{Area, Change};
pub use cost::{Cost, CostChange};
pub use functions::{FunctionChange, Functions};

/// The comparison of two sets of facts.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Changes of the context; empty if there are none. At most [`context::MAX_CHANGES`] for each area.
    pub context: Vec<Change>,
    /// Items that could not be compared because one side lacks them.
    pub unknown: Vec<String>,
    /// Changes of CPU time by function, if both sides were sampled.
    pub on_cpu: Option<Functions>,
    /// Changes of waiting time by function, if both sides were sampled.
    pub off_cpu: Option<Functions>,
    /// Change of the cost.
    pub cost: CostChange,
}

impl Comparison {
    /// Compares `new` with `old`.
    #[must_use]
    pub fn of(old: &Facts, new: &Facts) -> Self {
        let mut unknown = Vec::new();
        let context = context::changes(old, new, &mut unknown);
        let both = |one: &Option<_>, other: &Option<_>| match (one, other) {
            (Some(old), Some(new)) => Some(Functions::of(&diff(old, new, &DiffOptions::default()))),
            _ => None,
        };
        let on_cpu = both(&old.profile, &new.profile);
        if on_cpu.is_none() && (old.profile.is_some() || new.profile.is_some()) {
            unknown.push("the flame graph: only one side was sampled".into());
        }
        let off_cpu = both(&old.off_cpu, &new.off_cpu);
        Self { context, unknown, on_cpu, off_cpu, cost: CostChange::of(old, new) }
    }

    /// Whether nothing changed in the context, as far as it is known.
    #[must_use]
    pub fn same_context(&self) -> bool {
        self.context.is_empty()
    }

    /// The comparison as text for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        text::text(self)
    }
}
