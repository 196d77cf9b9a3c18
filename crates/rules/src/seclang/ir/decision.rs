//! The decision that a match makes.

use super::Macro;

/// Effect of a match on the transaction.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Disruption {
    /// No effect.
    #[default]
    Pass,
    /// The request is answered with a status.
    Deny {
        /// 100 to 599; 403 by default.
        status: u16,
    },
    /// The connection is closed.
    Drop,
    /// The client is redirected.
    Redirect {
        /// 301, 302, 303, 307 or 308; 302 by default.
        status: u16,
        /// The target URL.
        to: Macro,
    },
    /// No further rules are evaluated.
    Allow(AllowScope),
}

/// The scope of `allow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowScope {
    /// The whole transaction except phase 5.
    All,
    /// The rest of this phase.
    Phase,
    /// The rest of phases 1 and 2.
    Request,
}

/// Where evaluation continues.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Flow {
    /// With the next rule.
    #[default]
    Next,
    /// After skipping this many rules.
    Skip(u32),
    /// After the marker (or after the rule with this id).
    SkipAfter(String),
}
