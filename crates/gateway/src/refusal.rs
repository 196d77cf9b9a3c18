//! The reasons for refusing an operation.

/// The reason why [`crate::Gateway::apply`] refused an operation; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A regular expression is not compiled yet: compile it beside the event loop ([`crate::Patterns::compile`]), hand
    /// it to [`crate::Patterns::insert`], and apply the operation again.
    #[error("the expression `{0}` is not compiled yet")]
    NeedsPattern(String),
    /// A member names a missing upstream (an upstream comes before its members).
    #[error("{what} `{id}`: there is no {needs} `{missing}`")]
    MissingReference {
        /// The kind of resource to put or delete.
        what: &'static str,
        /// Its id.
        id: String,
        /// The kind of resource that it needs.
        needs: &'static str,
        /// The id that is missing.
        missing: String,
    },
    /// The resource to delete does not exist.
    #[error("there is no {what} `{id}` to delete")]
    Unknown {
        /// The kind of resource to delete.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// The operation is not valid; the message says why, where, and what would be valid.
    #[error("{0}")]
    Invalid(String),
}
