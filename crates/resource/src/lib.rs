//! The resources of a running gateway: what control keeps, the API takes and `weir apply` reads.
//!
//! Each document is JSON, checked by the same code as a policy file (`weir-policy`) against tables of its own and made
//! into the types that workers get ([`weir_gateway::resource`]), with all defaults filled in. What only other documents
//! or a compiler can tell is handed back for control to ask: references, names that must be unique, and whether the
//! sandbox has to see it.

mod check;
mod convert;
mod kind;
mod pem;
mod reference;
mod schema;
mod spelling;
mod state;

use weir_gateway::op::Op;

pub use check::{check, check_stored};
pub use kind::{Descriptor, Example, descriptor};
pub use reference::reference;
pub use schema::{json_schema, state_schema};
pub use spelling::reads_alike;
pub use state::{State, parse_state};
pub use weir_gateway::resource::ResourceKind;
pub use weir_policy::Fault;

/// A document that is right as far as it alone can tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// The operation for workers.
    pub op: Option<Op>,
    /// Every resource that it names.
    pub references: Vec<Reference>,
    /// What no other document may have as well.
    pub unique: Vec<Unique>,
    /// Regular expressions that have to be compiled, in a sandbox.
    pub patterns: Vec<String>,
}

/// A resource that a document names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Where it stands, as in [`Fault`].
    pub pointer: String,
    /// The kind of the named resource.
    pub kind: ResourceKind,
    /// Its id.
    pub id: String,
}

/// Something that only one document of its kind may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unique {
    /// For messages: ``the host `shop.example` ``.
    pub what: String,
    /// Equal for what must not be there twice. Several entries of one document always differ.
    pub key: String,
    /// Where it stands, as in [`Fault`].
    pub pointer: String,
}
