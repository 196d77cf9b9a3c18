//! What a match decides.

use super::Macro;

/// What becomes of the transaction.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Disruption {
    /// Nothing.
    #[default]
    Pass,
    /// Answered with the status.
    Deny {
        /// 100 to 599; 403 if nothing was said.
        status: u16,
    },
    /// The connection is closed.
    Drop,
    /// Sent elsewhere.
    Redirect {
        /// 301, 302, 303, 307 or 308; 302 if nothing was said.
        status: u16,
        /// Where to.
        to: Macro,
    },
    /// No more rules.
    Allow(AllowScope),
}

/// How far `allow` reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowScope {
    /// The whole transaction but phase 5.
    All,
    /// The rest of this phase.
    Phase,
    /// The rest of phases 1 and 2.
    Request,
}

/// Where evaluation goes on.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Flow {
    /// At the next rule.
    #[default]
    Next,
    /// After so many more rules.
    Skip(u32),
    /// After the marker (or the rule with that id).
    SkipAfter(String),
}
