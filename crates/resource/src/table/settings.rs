//! Rows of settings, certificates, policies by id, and the state file that holds everything.

use super::{Of, policies, site::SITE};
use super::{route::ROUTE, upstream::UPSTREAM};
use weir_policy::table::{CLIENT_ADDRESS, GEO, Key, Kind, LIST, Need, RULE_SET_DOCUMENT, Resource, form};

/// Settings.
pub(crate) static SETTINGS: Resource = Resource {
    name: "settings",
    article: "the settings",
    doc: "What holds for the whole gateway.",
    short: None,
    one_of: &[],
    keys: &[
        policies("none"),
        Key {
            name: "default_certificate",
            kind: Kind::Id(Of::Certificates),
            need: Need::Default("none: such handshakes fail"),
            doc: "The certificate for names that no site and no certificate has.",
        },
        Key {
            name: "client_address",
            kind: Kind::Resource(&CLIENT_ADDRESS),
            need: Need::Default("the address of the connection"),
            doc: "Whose word is taken for the client's address (`ip.src`).",
        },
        Key {
            name: "geo",
            kind: Kind::Resource(&GEO),
            need: Need::Default("no geographic data"),
            doc: "Where `ip.src.country`, `ip.src.continent` and `ip.src.asnum` come from.",
        },
    ],
};

/// A certificate.
pub(crate) static CERTIFICATE: Resource = Resource {
    name: "certificate",
    article: "a certificate",
    doc: "A certificate with its key. The API never shows the key again.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "certificate",
            kind: Kind::Form(&form::PEM),
            need: Need::Required,
            doc: "PEM: the certificate, and behind it those of the authorities between it and the root.",
        },
        Key {
            name: "key",
            kind: Kind::Form(&form::PEM),
            need: Need::Required,
            doc: "PEM: the private key, not encrypted.",
        },
    ],
};

/// Most documents of one kind in a state file; 10,000 routes are what Weir is measured with.
const MAX_DOCUMENTS: usize = 200_000;

/// A state file.
pub(crate) static STATE: Resource = Resource {
    name: "state",
    article: "a state file",
    doc: "What `weir apply` reads: everything that the gateway is to have. `client_address` and `geo` may stand beside `settings`, as in a policy file.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "settings",
            kind: Kind::Resource(&SETTINGS),
            need: Need::Default("none"),
            doc: "What holds for the whole gateway.",
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
        documents("sites", &Kind::Map(&Kind::Id(Of::Sites), &Kind::Resource(&SITE)), "Sites, by id."),
        documents("routes", &Kind::Map(&Kind::Id(Of::Routes), &Kind::Resource(&ROUTE)), "Routes, by id."),
        documents("upstreams", &Kind::Map(&Kind::Id(Of::Upstreams), &Kind::Resource(&UPSTREAM)), "Upstreams, by id."),
        documents(
            "certificates",
            &Kind::Map(&Kind::Id(Of::Certificates), &Kind::Resource(&CERTIFICATE)),
            "Certificates, by id.",
        ),
        documents("lists", &Kind::Map(&Kind::Id(Of::Lists), &Kind::Resource(&LIST)), "Lists, by name."),
        Key {
            name: "policies",
            kind: Kind::AtMost(&Kind::Policies, weir_policy::MAX_POLICIES),
            need: Need::Default("none"),
            doc: "Policies, by id, or as the list of a policy file.",
        },
        documents(
            "rule_sets",
            &Kind::Map(&Kind::Id(Of::RuleSets), &Kind::Resource(&RULE_SET_DOCUMENT)),
            "Rule sets, by id.",
        ),
    ],
};

const fn documents(name: &'static str, kind: &'static Kind, doc: &'static str) -> Key {
    Key { name, kind: Kind::AtMost(kind, MAX_DOCUMENTS), need: Need::Default("none"), doc }
}
