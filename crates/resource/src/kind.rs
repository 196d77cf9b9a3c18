//! The kinds of resources: one row for each, from which checks, JSON Schema, OpenAPI document, examples and reference
//! page are made.
//!
//! What a kind is called lies with the operations that name it ([`ResourceKind`]). A file below has the tables of its
//! keys, with all defaults (`Need::Value`), and how a checked document becomes what workers get.

mod certificate;
mod consumer;
mod file;
mod policy;
mod route;
mod settings;
mod site;
mod topics;
mod upstream;

use weir_gateway::resource::{MAX_TOPICS, ResourceKind};
use weir_policy::check::Fields;
use weir_policy::table::{
    CLIENT_ADDRESS, CONSUMER, GEO, INSPECTOR, Key, Kind, LIST, Need, RULE_SET_DOCUMENT, Resource,
};

use crate::convert::Converter;

/// All that is to be known of the documents of a kind.
pub struct Descriptor {
    /// Keys of a document.
    pub(crate) table: &'static Resource,
    /// Mappings within it, in the order of the reference page.
    nested: &'static [&'static Resource],
    /// The key whose value the API takes and never shows.
    pub secret: Option<&'static str>,
    /// For the OpenAPI document.
    pub example: Example,
    /// Makes what workers get of a checked document, and notes what other documents have to be asked for.
    pub(crate) convert: fn(&mut Converter<'_>, &Fields<'_>),
}

/// Part of a small gateway that all examples together make up. Empty texts are left out.
pub struct Example {
    /// Its id.
    pub id: &'static str,
    /// The document, in JSON.
    pub document: &'static str,
    /// A merge patch of it, in JSON.
    pub patch: &'static str,
}

/// The row of a kind.
#[must_use]
pub fn descriptor(kind: ResourceKind) -> &'static Descriptor {
    match kind {
        ResourceKind::Files => &file::FILES,
        ResourceKind::Lists => &policy::LISTS,
        ResourceKind::RuleSets => &policy::RULE_SETS,
        ResourceKind::Inspectors => &policy::INSPECTORS,
        ResourceKind::Policies => &policy::POLICIES,
        ResourceKind::Consumers => &consumer::DESCRIPTOR,
        ResourceKind::Certificates => &certificate::DESCRIPTOR,
        ResourceKind::Settings => &settings::DESCRIPTOR,
        ResourceKind::Upstreams => &upstream::DESCRIPTOR,
        ResourceKind::Members => &upstream::MEMBERS,
        ResourceKind::Topics => &topics::DESCRIPTOR,
        ResourceKind::Sites => &site::DESCRIPTOR,
        ResourceKind::Routes => &route::DESCRIPTOR,
    }
}

/// The tables of all mappings in documents, in the order of the reference page: what names others comes first.
pub(crate) fn tables() -> Vec<&'static Resource> {
    let of_kind = |kind| {
        let row = descriptor(kind);
        std::iter::once(row.table).chain(row.nested.iter().copied())
    };
    std::iter::once(&STATE).chain(ResourceKind::written().rev().flat_map(of_kind)).collect()
}

/// Most policies that one document names.
const MAX_NAMED: usize = weir_policy::MAX_PLAN_POLICIES;
/// Longest time: a day.
const DAY_MS: u64 = 86_400_000;

/// Policies by their ids.
static POLICIES: Kind = Kind::List(&Kind::Id(ResourceKind::Policies), false);

const fn policies(default: &'static str) -> Key {
    Key {
        name: "policies",
        kind: Kind::AtMost(&POLICIES, MAX_NAMED),
        need: Need::Default(default),
        doc: "The policies that apply; an empty list means none. They are evaluated in the order of the list.",
    }
}

/// Most documents of one kind in a state file; 10,000 routes are what Weir is measured with.
const MAX_DOCUMENTS: usize = 200_000;

/// A state file.
pub(crate) static STATE: Resource = Resource {
    name: "state",
    article: "a state file",
    doc: "The complete configuration of the gateway, as `weir apply` reads it. `client_address` and `geo` may be given beside `settings`, as in a policy file.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "settings",
            kind: Kind::Resource(&settings::SETTINGS),
            need: Need::Default("none"),
            doc: "Settings of the whole gateway.",
        },
        Key {
            name: "client_address",
            kind: Kind::Resource(&CLIENT_ADDRESS),
            need: Need::Default("as in `settings`"),
            doc: "Short for `client_address` of the settings.",
        },
        Key {
            name: "geo",
            kind: Kind::Resource(&GEO),
            need: Need::Default("as in `settings`"),
            doc: "Short for `geo` of the settings.",
        },
        documents("sites", &Kind::Map(&Kind::Id(ResourceKind::Sites), &Kind::Resource(&site::SITE)), "Sites, by id."),
        documents(
            "routes",
            &Kind::Map(&Kind::Id(ResourceKind::Routes), &Kind::Resource(&route::ROUTE)),
            "Routes, by id.",
        ),
        Key {
            name: "topics",
            kind: Kind::AtMost(
                &Kind::Map(&Kind::Id(ResourceKind::Topics), &Kind::Resource(&topics::TOPICS)),
                MAX_TOPICS,
            ),
            need: Need::Default("none"),
            doc: "Topic sets, by id.",
        },
        documents(
            "upstreams",
            &Kind::Map(&Kind::Id(ResourceKind::Upstreams), &Kind::Resource(&upstream::UPSTREAM)),
            "Upstreams, by id.",
        ),
        documents(
            "certificates",
            &Kind::Map(&Kind::Id(ResourceKind::Certificates), &Kind::Resource(&certificate::CERTIFICATE)),
            "Certificates, by id.",
        ),
        documents(
            "consumers",
            &Kind::Map(&Kind::Id(ResourceKind::Consumers), &Kind::Resource(&CONSUMER)),
            "Consumers, by id.",
        ),
        documents(
            "inspectors",
            &Kind::Map(&Kind::Id(ResourceKind::Inspectors), &Kind::Resource(&INSPECTOR)),
            "Inspectors, by id.",
        ),
        documents("lists", &Kind::Map(&Kind::Id(ResourceKind::Lists), &Kind::Resource(&LIST)), "Lists, by name."),
        Key {
            name: "policies",
            kind: Kind::AtMost(&Kind::Policies, weir_policy::MAX_POLICIES),
            need: Need::Default("none"),
            doc: "Policies, by id, or as the list of a policy file.",
        },
        documents(
            "rule_sets",
            &Kind::Map(&Kind::Id(ResourceKind::RuleSets), &Kind::Resource(&RULE_SET_DOCUMENT)),
            "Rule sets, by id.",
        ),
    ],
};

const fn documents(name: &'static str, kind: &'static Kind, doc: &'static str) -> Key {
    Key { name, kind: Kind::AtMost(kind, MAX_DOCUMENTS), need: Need::Default("none"), doc }
}

#[cfg(test)]
mod tests;
