//! The settings: what holds for the whole gateway.

mod crowdsec;

use serde_json::{Map, Value};
use weir_gateway::resource::{Document, ResourceKind, Settings};
use weir_policy::table::{CLIENT_ADDRESS, CLIENT_ADDRESS_KEY, GEO, GEO_KEY, Key, Kind, Need, Resource};

use super::{Descriptor, Example, policies};

pub(super) static DESCRIPTOR: Descriptor = Descriptor {
    table: &SETTINGS,
    nested: &[&crowdsec::CROWDSEC],
    secret: Some("crowdsec"),
    example: Example {
        id: "",
        document: r#"{"client_address": {"trusted": ["10.0.0.0/8"]}}"#,
        patch: r#"{"client_address": null}"#,
    },
    convert: |converter, fields| {
        let policies = converter.policies(fields).unwrap_or_default();
        let default_certificate = converter.reference(fields, "default_certificate", ResourceKind::Certificates);
        let compiled = compiled(&converter.source.text);
        let settings = Settings { policies, default_certificate, compiled };
        converter.put(weir_gateway::resource::Resource::Settings(settings));
    },
};

/// The part of the settings that is compiled with the policies, if it says anything.
fn compiled(settings: &str) -> Option<Document> {
    let mut keys: Map<String, Value> = serde_json::from_str(settings).ok()?;
    keys.retain(|key, _| [CLIENT_ADDRESS.name, GEO.name].contains(&key.as_str()));
    (!keys.is_empty()).then(|| Document::new("", Value::Object(keys).to_string()))
}

/// Settings.
pub(crate) static SETTINGS: Resource = Resource {
    name: "settings",
    article: "the settings",
    doc: "Settings of the whole gateway.",
    short: None,
    one_of: &[],
    keys: &[
        policies("none"),
        Key {
            name: "default_certificate",
            kind: Kind::Id(ResourceKind::Certificates),
            need: Need::Default("none: such handshakes fail"),
            doc: "The certificate for names that no site and no certificate covers.",
        },
        CLIENT_ADDRESS_KEY,
        GEO_KEY,
        Key {
            name: "crowdsec",
            kind: Kind::Resource(&crowdsec::CROWDSEC),
            need: Need::Default("none"),
            doc: "Where decisions of CrowdSec come from, which become bans.",
        },
    ],
};
