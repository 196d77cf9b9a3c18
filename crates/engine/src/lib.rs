//! The engine: rules compiled to a plan, evaluated over a transaction.
//!
//! Evaluating forty regular expressions on eight values is 320 searches. Nearly all of them
//! fail, and that they will fail can be known far more cheaply: each rule needs some literal or
//! some exact value, and one pass per value finds which of all rules' literals are there at all.
//! What is left, usually nothing, is evaluated exactly. `docs/adr/006-filter.md` has the
//! measurements that decided between the ways to do that pass.

mod action;
mod address_gate;
mod address_set;
mod authenticate;
mod check;
mod compile;
mod evaluate;
mod evidence;
mod filter;
mod function;
mod gate;
mod inspection;
mod literal;
pub mod lock;
mod meter;
#[doc(hidden)]
pub mod naive;
mod nonce;
mod outcome;
mod plan;
mod range_trie;
mod rate;
mod response_signature;
mod scan;
pub mod seclang;
mod shadow;
#[cfg(target_arch = "x86_64")]
mod shuffle;
mod spec;
mod string_set;
mod topics;
mod value;
mod wildcard;

pub use action::{Action, ActionInfo, MAX_FINDINGS};
pub use address_set::AddressSet;
pub use compile::{CompileError, MAX_PATTERN_BYTES, MAX_PLAN_POLICIES};
pub use evaluate::{Context, MAX_TAGS};
pub use inspection::{Inspection, Inspections};
pub use meter::{Meter, NoMeter};
pub use nonce::{NonceTable, Remembered};
pub use outcome::{Decision, Finding, HeaderChange, MATCHED_BYTES, Outcome, Verdict};
pub use plan::{LaneInfo, Plan};
pub use rate::{Pace, RateTable, Take};
pub use response_signature::ResponseSignature;
pub use shadow::Shadow;
pub use spec::{
    AllowScope, Bans, Code, Geo, GeoLocation, List, Mode, PolicySpec, RateLimit, Response, RuleIndex, RuleSpec,
    SelectorSpec, Side, Specification,
};
pub use string_set::{SharedBytes, StringSet};
pub use topics::{TopicGrant, TopicGrants};
