//! Sites.

use std::collections::HashSet;

use weir_gateway::resource::{ClientTls, ResourceKind, Site, SiteTls, TlsVersion};
use weir_policy::check::{Fields, Value};
use weir_policy::table::{Key, Kind, Need, Resource, form};

use super::route::HEADER_CHANGES;
use super::{Descriptor, Example, policies};
use crate::convert::Converter;

pub(super) static DESCRIPTOR: Descriptor = Descriptor {
    table: &SITE,
    nested: &[&SITE_TLS, &CLIENT_TLS],
    secret: None,
    example: Example {
        id: "shop",
        document: r#"{"hosts": ["shop.example", "*.shop.example"]}"#,
        patch: r#"{"tls": {"min_version": "1.3"}}"#,
    },
    convert: |converter, fields| converter.site(fields),
};

/// Most host names of a site.
const MAX_HOSTS: usize = 1024;

/// A site.
pub(crate) static SITE: Resource = Resource {
    name: "site",
    article: "a site",
    doc: "A set of host names with their TLS settings. The routes of the site decide what is served.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "hosts",
            kind: Kind::AtMost(&Kind::List(&Kind::Form(&form::HOST_PATTERN), true), MAX_HOSTS),
            need: Need::Required,
            doc: "Host names: `shop.example`; `*.shop.example` for one or more labels before it; `*` for all names that no other site has. The most specific name wins. Two sites cannot have the same name.",
        },
        Key {
            name: "tls",
            kind: Kind::Resource(&SITE_TLS),
            need: Need::Default("as its keys' defaults"),
            doc: "TLS for these hosts.",
        },
        Key {
            name: "response_headers",
            kind: Kind::Resource(&HEADER_CHANGES),
            need: Need::Default("none"),
            doc: "Changes of the header fields of every response to these hosts: those of members, Weir's own (blocked, redirected, without a route, without a member) and nginx's error pages. Those of the route come after them.",
        },
        policies("those of the settings"),
    ],
};

/// TLS of a site.
pub(crate) static SITE_TLS: Resource = Resource {
    name: "site_tls",
    article: "`tls`",
    doc: "TLS settings for the hosts of a site.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "certificate",
            kind: Kind::Id(ResourceKind::Certificates),
            need: Need::Default("the certificate whose names fit best"),
            doc: "The certificate to present.",
        },
        Key {
            name: "min_version",
            kind: Kind::Choice(&[("1.2", "RFC 5246"), ("1.3", "RFC 8446")]),
            need: Need::Value("1.2"),
            doc: "The oldest accepted version of TLS.",
        },
        Key {
            name: "redirect",
            kind: Kind::Flag,
            need: Need::Value("false"),
            doc: "Whether plain HTTP is answered with a redirect (308) to HTTPS.",
        },
        Key {
            name: "client",
            kind: Kind::Resource(&CLIENT_TLS),
            need: Need::Default("no client certificates"),
            doc: "Client certificates, which the handshake asks for. The action `mtls` finds the consumer of one.",
        },
    ],
};

/// Client certificates of a site.
static CLIENT_TLS: Resource = Resource {
    name: "client_tls",
    article: "`client`",
    doc: "Client certificates. A certificate that cannot be verified is answered with 400. What changes here holds for open connections, too: their next request is answered with 421, upon which clients connect anew.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "mode",
            kind: Kind::Choice(&[
                ("require", "requests without a certificate are answered with 400, those over plain HTTP too"),
                ("optional", "they pass; policies decide, by `mtls`"),
            ]),
            need: Need::Value("require"),
            doc: "Whether a certificate has to be there.",
        },
        Key {
            name: "authorities",
            kind: Kind::Form(&form::PEM),
            need: Need::Required,
            doc: "The certificates of the authorities that may issue client certificates, in PEM. The system's are not trusted for this.",
        },
        Key {
            name: "crl",
            kind: Kind::Form(&form::PEM),
            need: Need::Default("nothing is revoked"),
            doc: "Certificate revocation lists in PEM: a current one of every authority in a chain, otherwise none of its certificates pass.",
        },
    ],
};

impl Converter<'_> {
    fn site(&mut self, fields: &Fields<'_>) {
        let hosts = self.hosts(fields);
        let tls = fields.fields_or("tls", |tls| SiteTls {
            certificate: self.reference(tls, "certificate", ResourceKind::Certificates),
            min_version: if tls.choice_or("min_version") == "1.3" { TlsVersion::V1_3 } else { TlsVersion::V1_2 },
            redirect: tls.flag_or("redirect"),
            client: tls.fields("client").map(|client| self.client_tls(client)),
        });
        let policies = self.policies(fields);
        let response_headers = self.header_changes(fields, "response_headers");
        let site = Site { id: self.id.to_owned(), hosts, tls, policies, response_headers };
        self.put(weir_gateway::resource::Resource::Site(site));
    }

    fn client_tls(&mut self, client: &Fields<'_>) -> ClientTls {
        for (key, check) in [("authorities", crate::pem::issuers as fn(&str) -> _), ("crl", crate::pem::crls)] {
            if let (Some(item), Some(text)) = (client.get(key), client.text(key))
                && let Err(fault) = check(text)
            {
                self.fault(item.node, fault.message, fault.hint);
            }
        }
        ClientTls {
            is_required: client.choice_or("mode") == "require",
            authorities: client.text_or("authorities").to_owned(),
            crl: client.text("crl").map(str::to_owned),
        }
    }

    fn hosts(&mut self, fields: &Fields<'_>) -> Vec<String> {
        let items = fields.items("hosts");
        let mut hosts = Vec::with_capacity(items.len());
        let mut seen = HashSet::with_capacity(items.len());
        for item in items {
            let Value::Text(host) = item.value else { continue };
            let host = host.to_ascii_lowercase();
            if !seen.insert(host.clone()) {
                self.fault(item.node, format!("the host `{host}` is given twice"), Some("keep one of them"));
                continue;
            }
            self.unique(format!("the host `{host}`"), format!("host {host}"), item.node);
            hosts.push(host);
        }
        hosts
    }
}
