//! The actions: one file each, with its row of the table and how the engine's action is made from it.
//! A new action is a new file, a line in [`ACTIONS`] and a variant of [`weir_engine::Action`].

mod allow;
mod answer;
mod authenticate;
mod basic_auth;
mod block;
mod crs;
mod header;
mod inspect;
pub(crate) mod jwt;
pub(crate) mod key_auth;
mod log;
mod mtls;
mod rate_limit;
mod redirect;
mod rule_set;
pub(crate) mod sec_lang;
mod shadow;
mod tag;
mod topics;
mod verify_response;
mod verify_signature;

use weir_engine::Action;

use crate::build::Builder;
use crate::check::Fields;
use crate::table::Resource;

/// A kind of action.
#[derive(Debug)]
pub struct ActionKind {
    /// Name, meaning and parameters.
    pub resource: &'static Resource,
    /// From checked parameters to the engine's action; `None` after reporting what is wrong.
    pub(crate) build: fn(&Fields<'_>, &mut Builder<'_>) -> Option<Action>,
}

/// All of them, in the order of the reference page.
pub static ACTIONS: &[&ActionKind] = &[
    &block::BLOCK,
    &allow::ALLOW,
    &log::LOG,
    &tag::TAG,
    &topics::TOPICS,
    &redirect::REDIRECT,
    &header::SET_HEADER,
    &header::REMOVE_HEADER,
    &rate_limit::RATE_LIMIT,
    &shadow::SHADOW,
    &inspect::INSPECT,
    &authenticate::AUTHENTICATE,
    &key_auth::KEY_AUTH,
    &jwt::JWT,
    &basic_auth::BASIC_AUTH,
    &mtls::MTLS,
    &verify_signature::VERIFY_SIGNATURE,
    &verify_response::VERIFY_RESPONSE,
    &crs::CRS,
    &rule_set::RULE_SET,
];

/// The action of that name.
pub(crate) fn find(name: &str) -> Option<&'static ActionKind> {
    ACTIONS.iter().find(|kind| kind.resource.name == name).copied()
}

/// All names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> + Clone {
    ACTIONS.iter().map(|kind| kind.resource.name)
}

/// Names of the actions that run a rule set.
pub const RULE_SET_ACTIONS: [&str; 2] = [crs::CRS.resource.name, rule_set::RULE_SET.resource.name];
