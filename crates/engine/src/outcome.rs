//! What evaluation yields: a decision for the caller to carry out, and what to log.

use std::sync::Arc;

use crate::{Response, RuleIndex, Side};

/// What the caller has to do now.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Nothing; the request goes on.
    Continue,
    /// Answer with this.
    Respond(Arc<Response>),
}

/// What has been decided about a transaction so far. Orders by severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No rule has decided.
    #[default]
    Pass,
    /// A rule allowed it.
    Allow,
    /// A rule would have stopped it, but only detection is on.
    Detect,
    /// Redirected.
    Redirect,
    /// Over a rate limit.
    RateLimit,
    /// Blocked.
    Block,
    /// Stopped by the fail mode: a fault in Weir, or a body past its limit.
    Fail,
}

impl Verdict {
    /// All of them in order, which is also the order of a worker's counters in the ledger.
    pub const ALL: [Self; 7] =
        [Self::Pass, Self::Allow, Self::Detect, Self::Redirect, Self::RateLimit, Self::Block, Self::Fail];

    /// As in `$weir_verdict` and the logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Allow => "allow",
            Self::Detect => "detect",
            Self::Redirect => "redirect",
            Self::RateLimit => "rate_limit",
            Self::Block => "block",
            Self::Fail => "fail",
        }
    }
}

/// One rule that matched and has something to say in the attack log.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule.
    pub rule: RuleIndex,
    /// Name of the action, e.g. `block`; see [`Verdict`] for whether it was carried out.
    pub action: &'static str,
    /// Whether it was only detected.
    pub detected_only: bool,
    /// The value that matched, as an expression would name it.
    pub variable: String,
    /// The bytes that matched, at most [`MATCHED_BYTES`] of them, not escaped.
    pub matched: Vec<u8>,
}

/// How many matched bytes a finding keeps: enough to recognise an attack, and a bound for the log.
pub const MATCHED_BYTES: usize = 128;

/// A change to header fields, to be made by the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderChange {
    /// Of which message.
    pub side: Side,
    /// Field name as written in the policy.
    pub name: Vec<u8>,
    /// New value, or `None` to remove the field.
    pub value: Option<Vec<u8>>,
}

/// A transaction's evaluation: carried through the phases, empty and unallocated for benign traffic.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Verdict so far.
    pub verdict: Verdict,
    /// The rule that made it so.
    pub decided_by: Option<RuleIndex>,
    /// Findings for the attack log, in the order of evaluation.
    pub findings: Vec<Finding>,
    /// Sum of the scores of the rules that matched.
    pub score: u32,
    /// Tags set.
    pub tags: Vec<String>,
    /// Header changes to make; the caller takes them out.
    pub header_changes: Vec<HeaderChange>,
    /// Policies that have been evaluated per phase: a later location that applies them again
    /// does not repeat them.
    pub(crate) done: [u64; 3],
    /// Policies whose rest is skipped by `allow`; all of them for [`crate::AllowScope::All`].
    pub(crate) allowed: u64,
}
