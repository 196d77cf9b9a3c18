//! The resources of a running gateway: what control keeps, the API takes and `weir apply` reads.
//!
//! Each document is JSON, checked against the same table as the policy file and made into the
//! types that workers get ([`weir_gateway::resource`]), with all defaults filled in. What only
//! other documents or a compiler can tell is handed back for control to ask: references, names
//! that must be unique, and whether the sandbox has to see it.

mod assemble;
mod check;
mod kind;
pub(crate) mod pointer;
mod state;

use weir_gateway::op::Op;
use weir_gateway::resource::Member;

pub use assemble::{Assembled, assemble};
pub use check::{check, check_stored};
pub use kind::Kind;
pub use state::{State, parse_document, parse_state};

pub use crate::schema::{json_schema_of as json_schema, state_schema};

/// What is wrong with a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// JSON pointer (RFC 6901) within the document: `/split/1/weight`; empty for the whole.
    pub pointer: String,
    /// What is wrong, in a sentence without a full stop.
    pub message: String,
    /// What was expected, if one thing was.
    pub expected: Option<String>,
    /// What was found there.
    pub found: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A document that is right as far as it alone can tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// What workers are told; `None` for lists, policies and rule sets, which go into [`assemble`]'s text.
    pub op: Option<Op>,
    /// The members in the document of an upstream, in the order of their ids.
    pub members: Vec<Member>,
    /// Every resource that it names.
    pub references: Vec<Reference>,
    /// What no other document may have as well.
    pub unique: Vec<Unique>,
    /// Regular expressions that have to be compiled, in a sandbox.
    pub patterns: Vec<String>,
    /// Whether it contains what is compiled, so that the sandbox must see it first.
    pub compiled: bool,
}

/// A resource that a document names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Where, as in [`Fault`].
    pub pointer: String,
    /// What it names.
    pub kind: Kind,
    /// Which.
    pub id: String,
}

/// Something that only one document of its kind may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unique {
    /// For messages: ``the host `shop.example` ``.
    pub what: String,
    /// Equal for what must not be there twice. Several entries of one document always differ.
    pub key: String,
    /// Where, as in [`Fault`].
    pub pointer: String,
}
