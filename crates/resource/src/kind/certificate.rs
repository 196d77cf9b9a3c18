//! Certificates with their keys: in the document, in files, or, of a key, by its hash.

use weir_gateway::resource::Certificate;
use weir_policy::check::Fields;
use weir_policy::table::{Key, Kind, Need, Resource, form};

use super::{Descriptor, Example};
use crate::convert::Converter;
use crate::pem::{CertificateFacts, PemPart, examine};

pub(super) static DESCRIPTOR: Descriptor = Descriptor {
    table: &CERTIFICATE,
    nested: &[&CHAIN, &PRIVATE_KEY, &CAPTURED],
    secret: Some("key"),
    // Any document would expire.
    example: Example { id: "shop.example", document: "", patch: "" },
    convert: |converter, fields| converter.certificate(fields),
};

/// A certificate.
pub(crate) static CERTIFICATE: Resource = Resource {
    name: "certificate",
    article: "a certificate",
    doc: "A certificate and its private key. The API never returns the key.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "certificate",
            kind: Kind::Resource(&CHAIN),
            need: Need::Required,
            doc: "The certificate, followed by those of the intermediate authorities: in PEM, or `{file: PATH}`.",
        },
        Key {
            name: "key",
            kind: Kind::Resource(&PRIVATE_KEY),
            need: Need::Required,
            doc: "The private key, unencrypted: in PEM, or `{file: PATH}`.",
        },
        Key {
            name: "refresh",
            kind: Kind::Form(&form::REFRESH),
            need: Need::Value("on_change"),
            doc: "When the files of this certificate are read again: `on_change`, `manual` (only at `weir refresh`, `weir apply` and changes of this certificate), or an interval such as `12h`. As long as the files do not fit each other, the certificate stays as it is.",
        },
        Key {
            name: "captured",
            kind: Kind::Resource(&CAPTURED),
            need: Need::Default("none"),
            doc: "What was read from the files, as answers show it. Ignored in changes.",
        },
    ],
};

/// Where a chain is.
static CHAIN: Resource = Resource {
    name: "certificate_chain",
    article: "a certificate chain",
    doc: "A certificate and its intermediates. A text is short for `{pem: TEXT}`.",
    short: Some("pem"),
    one_of: &["pem", "file"],
    keys: &[
        Key { name: "pem", kind: Kind::Form(&form::PEM), need: Need::Default("none"), doc: "The chain in PEM." },
        Key {
            name: "file",
            kind: Kind::File,
            need: Need::Default("none"),
            doc: "A file with the chain in PEM, such as `fullchain.pem` of certbot. It is read when the change is accepted, and again as `refresh` says.",
        },
    ],
};

/// Where a private key is.
static PRIVATE_KEY: Resource = Resource {
    name: "private_key",
    article: "a private key",
    doc: "A private key. A text is short for `{pem: TEXT}`.",
    short: Some("pem"),
    one_of: &["pem", "file", "sha256"],
    keys: &[
        Key { name: "pem", kind: Kind::Form(&form::PEM), need: Need::Default("none"), doc: "The key in PEM." },
        Key {
            name: "file",
            kind: Kind::File,
            need: Need::Default("none"),
            doc: "A file with the key in PEM, such as `privkey.pem` of certbot; read together with the certificate.",
        },
        Key {
            name: "sha256",
            kind: Kind::Form(&form::SHA256),
            need: Need::Default("none"),
            doc: "The SHA-256 of a key that the gateway has, as answers show it in place of the key.",
        },
    ],
};

/// What was read.
static CAPTURED: Resource = Resource {
    name: "captured_certificate",
    article: "`captured`",
    doc: "Hashes of the files of a certificate, as they were captured.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "certificate",
            kind: Kind::Form(&form::SHA256),
            need: Need::Default("none"),
            doc: "The SHA-256 of the file with the chain.",
        },
        Key {
            name: "key",
            kind: Kind::Form(&form::SHA256),
            need: Need::Default("none"),
            doc: "The SHA-256 of the file with the key.",
        },
    ],
};

impl Converter<'_> {
    fn certificate(&mut self, fields: &Fields<'_>) {
        let pem = |part| fields.fields(part).and_then(|part| part.text("pem"));
        // What is in files is examined when control has read them.
        let (Some(chain), Some(key)) = (pem("certificate"), pem("key")) else { return };
        match examine(chain, key, self.now) {
            Ok(CertificateFacts { names, not_after }) => {
                let (chain, key) = (chain.to_owned(), key.to_owned());
                let certificate = Certificate { id: self.id.to_owned(), chain, key, names, not_after };
                self.put(weir_gateway::resource::Resource::Certificate(certificate));
            }
            Err(faults) => {
                for fault in faults {
                    let key = if fault.part == PemPart::Key { "key" } else { "certificate" };
                    let node = fields.get(key).map_or(fields.node, |item| item.node);
                    self.fault(node, fault.message, fault.hint);
                }
            }
        }
    }
}
