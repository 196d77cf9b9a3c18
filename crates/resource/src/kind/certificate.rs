//! Certificates with their keys.

use weir_gateway::resource::Certificate;
use weir_policy::check::Fields;
use weir_policy::table::{Key, Kind, Need, Resource, form};

use super::{Descriptor, Example};
use crate::convert::Converter;
use crate::pem::{CertificateFacts, PemPart, examine};

pub(super) static DESCRIPTOR: Descriptor = Descriptor {
    table: &CERTIFICATE,
    nested: &[],
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
            kind: Kind::Form(&form::PEM),
            need: Need::Required,
            doc: "The certificate, followed by those of the intermediate authorities, in PEM.",
        },
        Key {
            name: "key",
            kind: Kind::Form(&form::PEM),
            need: Need::Required,
            doc: "The private key, unencrypted, in PEM.",
        },
    ],
};

impl Converter<'_> {
    fn certificate(&mut self, fields: &Fields<'_>) {
        let (Some(chain), Some(key)) = (fields.text("certificate"), fields.text("key")) else { return };
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
