//! Rows of sites.

use super::{Of, policies};
use weir_policy::table::{Key, Kind, Need, Resource, form};

/// Most host names of a site.
const MAX_HOSTS: usize = 1024;

/// A site.
pub(crate) static SITE: Resource = Resource {
    name: "site",
    article: "a site",
    doc: "Host names that are served, and how TLS is for them. What is answered is up to the routes of the site.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "hosts",
            kind: Kind::AtMost(&Kind::List(&Kind::Form(&form::HOST_PATTERN), true), MAX_HOSTS),
            need: Need::Required,
            doc: "Host names: `shop.example`; `*.shop.example` for one or more labels before it; `*` for all that no other site has. The most specific wins. No two sites have the same.",
        },
        Key {
            name: "tls",
            kind: Kind::Resource(&SITE_TLS),
            need: Need::Default("as its keys' defaults"),
            doc: "TLS for these hosts.",
        },
        policies("those of the settings"),
    ],
};

/// TLS of a site.
pub(crate) static SITE_TLS: Resource = Resource {
    name: "site_tls",
    article: "`tls`",
    doc: "How TLS is for the hosts of a site.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "certificate",
            kind: Kind::Id(Of::Certificates),
            need: Need::Default("the certificate whose names fit best"),
            doc: "The certificate to show.",
        },
        Key {
            name: "min_version",
            kind: Kind::Choice(&[("1.2", "RFC 5246"), ("1.3", "RFC 8446")]),
            need: Need::Value("1.2"),
            doc: "The oldest version of TLS that is accepted.",
        },
        Key {
            name: "redirect",
            kind: Kind::Flag,
            need: Need::Value("false"),
            doc: "Whether plain HTTP is answered with a redirect (308) to HTTPS.",
        },
    ],
};
