//! The rows of the gateway's resources: what the API takes and state files contain.
//!
//! Defaults stand here and nowhere else (`Need::Value`); `convert/` reads them.

mod forward;
mod route;
mod settings;
mod site;
mod upstream;

pub(crate) use forward::{MIRROR, RETRIES, REWRITE, SPLIT, STICKY, TIMEOUTS};
pub(crate) use route::{HEADER_CHANGES, PATH_MATCH, REDIRECT, RESPOND, ROUTE, TEST};
pub(crate) use settings::{CERTIFICATE, SETTINGS, STATE};
pub(crate) use site::{SITE, SITE_TLS};
pub(crate) use upstream::{ACTIVE, HEALTH, HTTP_CHECK, KEEPALIVE, MEMBER, PASSIVE, UPSTREAM, UPSTREAM_TLS};

use weir_gateway::resource::ResourceKind as Of;
use weir_policy::table::{Key, Kind, LIST, Need, POLICY_DOCUMENT, RULE_SET_DOCUMENT, Resource};

/// All of them, in the order of the reference page.
pub(crate) static ALL: [&Resource; 27] = [
    &STATE,
    &SETTINGS,
    &SITE,
    &SITE_TLS,
    &ROUTE,
    &PATH_MATCH,
    &TEST,
    &SPLIT,
    &STICKY,
    &REDIRECT,
    &RESPOND,
    &REWRITE,
    &HEADER_CHANGES,
    &TIMEOUTS,
    &RETRIES,
    &MIRROR,
    &UPSTREAM,
    &KEEPALIVE,
    &HEALTH,
    &PASSIVE,
    &ACTIVE,
    &HTTP_CHECK,
    &UPSTREAM_TLS,
    &MEMBER,
    &CERTIFICATE,
    &POLICY_DOCUMENT,
    &RULE_SET_DOCUMENT,
];

/// Most policies that one document names: as many as a file can have.
const MAX_NAMED: usize = weir_policy::MAX_POLICIES;
/// Longest time: a day.
const DAY_MS: u64 = 86_400_000;

/// Policies by their ids.
static POLICIES: Kind = Kind::List(&Kind::Id(Of::Policies), false);

const fn policies(default: &'static str) -> Key {
    Key {
        name: "policies",
        kind: Kind::AtMost(&POLICIES, MAX_NAMED),
        need: Need::Default(default),
        doc: "Policies that apply here; an empty list for none. They are evaluated in the order of their ids.",
    }
}

/// The keys of a kind's documents.
pub(crate) fn of(kind: Of) -> &'static Resource {
    match kind {
        Of::Settings => &SETTINGS,
        Of::Sites => &SITE,
        Of::Routes => &ROUTE,
        Of::Upstreams => &UPSTREAM,
        Of::Members => &MEMBER,
        Of::Certificates => &CERTIFICATE,
        Of::Lists => &LIST,
        Of::Policies => &POLICY_DOCUMENT,
        Of::RuleSets => &RULE_SET_DOCUMENT,
    }
}

#[cfg(test)]
mod tests;
