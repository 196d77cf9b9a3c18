//! Consumers with their credentials.

use weir_gateway::resource::{Credential, Resource};
use weir_policy::check::Fields;
use weir_policy::consumer::{self, Secrets};
use weir_policy::document::Node;
use weir_policy::table::{CONSUMER, CONSUMER_TABLES};

use super::{Descriptor, Example};
use crate::convert::Converter;

pub(super) static DESCRIPTOR: Descriptor = Descriptor {
    table: &CONSUMER,
    nested: &CONSUMER_TABLES,
    secret: Some("credentials"),
    example: Example {
        id: "partner",
        document: r#"{"groups": ["partners"], "credentials": [{"key_auth": {"key": "kSb9dK3VqX2mTz81"}}, {"signature": {"id": "partner-1", "secret": "a shared secret of some length"}}]}"#,
        patch: r#"{"groups": ["partners", "beta"]}"#,
    },
    convert: |converter, fields| converter.consumer(fields),
};

impl Converter<'_> {
    fn consumer(&mut self, fields: &Fields<'_>) {
        let id = self.id.to_owned();
        let hides = std::mem::replace(&mut self.reporter.hides, true);
        let consumer = consumer::consumer(&id, fields, self);
        self.reporter.hides = hides;
        let Some(consumer) = consumer else { return };
        for credential in &consumer.credentials {
            let (kind, name) = match credential {
                Credential::KeyAuth { sha256 } => ("key_auth", sha256),
                Credential::Signature { id, .. } => ("signature", id),
                Credential::Jwt { id, .. } => ("jwt", id),
                Credential::BasicAuth { username, .. } => ("basic_auth", username),
                Credential::Mtls { kind, name } => ("mtls", &format!("{kind}: {name}")),
            };
            let what = match credential {
                Credential::KeyAuth { .. } => "the key".to_owned(),
                _ => format!("the {kind} credential `{name}`"),
            };
            self.unique(what, format!("{kind} {name}"), fields.node);
        }
        self.put(Resource::Consumer(consumer));
    }
}

impl Secrets for Converter<'_> {
    /// What is in files and in the environment is known when control has read it.
    fn secret(&mut self, fields: &Fields<'_>) -> Option<String> {
        fields.text("value").or_else(|| fields.text("captured")).map(str::to_owned)
    }

    fn fault(&mut self, node: &Node, message: String, hint: Option<&'static str>) {
        Converter::fault(self, node, message, hint);
    }
}
