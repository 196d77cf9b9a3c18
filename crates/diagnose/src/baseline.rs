//! Baselines: facts of a day when all was well, to compare with those of today.
//!
//! What a process costs depends on much that no review sees: flags of a build, one line of a configuration, a kernel
//! parameter. So a comparison goes from the outside in: first what changed in the context, then where the CPU time
//! goes now, then what a request costs. A difference in cost without one in the context is a change of the load, or of
//! the code itself.

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

/// Two facts, compared.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// What changed in the context; empty: nothing did. At most [`context::MAX_CHANGES`] of each area.
    pub context: Vec<Change>,
    /// What could not be compared because one side does not know it.
    pub unknown: Vec<String>,
    /// Where the CPU time goes, if both sides were sampled.
    pub on_cpu: Option<Functions>,
    /// What it waits for, if both sides were sampled.
    pub off_cpu: Option<Functions>,
    /// What it costs.
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

    /// As text for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        text::text(self)
    }
}
