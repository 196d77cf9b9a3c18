//! Why an operation was refused.

/// Why [`crate::Gateway::apply`] refused an operation; nothing was changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A regular expression is not compiled yet: compile it beside the event loop ([`crate::Patterns::compile`]), hand
    /// it to [`crate::Patterns::insert`], and apply the operation again.
    #[error("the expression `{0}` is not compiled yet")]
    NeedsPattern(String),
    /// A member names an upstream that is not there (an upstream comes before its members).
    #[error("{what} `{id}`: there is no {needs} `{missing}`")]
    MissingReference {
        /// What was to be put or deleted.
        what: &'static str,
        /// Its id.
        id: String,
        /// What it needs.
        needs: &'static str,
        /// The id that is missing.
        missing: String,
    },
    /// What is to be deleted is not there.
    #[error("there is no {what} `{id}` to delete")]
    Unknown {
        /// What was to be deleted.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// The operation makes no sense: what, where, and what would.
    #[error("{0}")]
    Invalid(String),
}
