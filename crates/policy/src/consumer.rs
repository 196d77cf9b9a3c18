//! From the checked mapping of a consumer to what workers get.

use weir_auth::api_key;
use weir_auth::certificate::NameKind;
use weir_auth::digest::Hash;
use weir_auth::encoding::hex;
use weir_gateway::resource::{Consumer, Credential, CredentialKey, HiddenText};

use crate::check::Fields;
use crate::document::Node;
use crate::table::form;

/// Where the secret in a mapping of [`crate::table::SECRET`] is read, and where faults go.
pub trait Secrets {
    /// The secret, or `None` after reporting why there is none, or if it is not known yet.
    fn secret(&mut self, fields: &Fields<'_>) -> Option<String>;

    /// Reports what is wrong with a node.
    fn fault(&mut self, node: &Node, message: String, hint: Option<&'static str>);
}

/// The consumer, or `None` if a secret is missing or something is wrong, which has been reported.
pub fn consumer(id: &str, fields: &Fields<'_>, secrets: &mut dyn Secrets) -> Option<Consumer> {
    let mut groups: Vec<String> = Vec::new();
    for item in fields.items("groups") {
        if let crate::check::Value::Text(group) = item.value
            && !groups.iter().any(|known| known == group)
        {
            groups.push(group.to_owned());
        }
    }
    let mut credentials = Vec::new();
    let mut nodes = Vec::new();
    for fields in fields.items("credentials").iter().filter_map(|item| item.as_fields()) {
        nodes.push(fields.node);
        credentials.push(credential(fields, secrets));
    }
    let credentials = credentials.into_iter().collect::<Option<Vec<_>>>()?;
    let consumer = Consumer { id: id.to_owned(), groups, credentials };
    match weir_gateway::consumer(&consumer) {
        Ok(_) => Some(consumer),
        Err((at, why)) => {
            secrets.fault(nodes[at], why, None);
            None
        }
    }
}

fn credential(fields: &Fields<'_>, secrets: &mut dyn Secrets) -> Option<Credential> {
    if let Some(of) = fields.fields("key_auth") {
        let key = secrets.secret(of.fields("key")?)?;
        if let Err(message) = api_key::check(key.as_bytes()) {
            secrets.fault(of.node, message, Some("make one with `openssl rand -hex 24`"));
            return None;
        }
        return Some(Credential::KeyAuth { sha256: hex(Hash::Sha256.of(key.as_bytes()).as_ref()) });
    }
    if let Some(of) = fields.fields("signature") {
        let (id, key) = (of.text("id")?.to_owned(), key(of, secrets)?);
        return Some(Credential::Signature { id, key });
    }
    if let Some(of) = fields.fields("jwt") {
        let (id, key) = (of.text("id")?.to_owned(), key(of, secrets)?);
        return Some(Credential::Jwt { id, key });
    }
    if let Some(of) = fields.fields("mtls") {
        let named = NameKind::ALL.into_iter().find_map(|kind| Some((kind, of.text(kind.as_str())?)));
        let (kind, name) = named?;
        return Some(Credential::Mtls { kind: kind.as_str().to_owned(), name: kind.normal(name) });
    }
    let of = fields.fields("basic_auth")?;
    let password_hash = HiddenText(secrets.secret(of.fields("password_hash")?)?);
    Some(Credential::BasicAuth { username: of.text("username")?.to_owned(), password_hash })
}

fn key(of: &Fields<'_>, secrets: &mut dyn Secrets) -> Option<CredentialKey> {
    let algorithm = of.choice("algorithm").map(str::to_owned);
    // That one of them is there, and no more, has been checked with the tables.
    let secret = match of.fields("secret") {
        Some(secret) => Some(HiddenText(secrets.secret(secret)?)),
        None => None,
    };
    let public_key = of.text("public_key").map(str::to_owned);
    (secret.is_some() != public_key.is_some()).then_some(CredentialKey { algorithm, secret, public_key })
}

/// The one line of a file that holds a secret.
#[must_use]
pub fn one_line(text: &str) -> Option<&str> {
    let line = text.strip_suffix('\n').unwrap_or(text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    ((form::SECRET.check)(line).is_ok() && line.len() <= form::MAX_SECRET_BYTES).then_some(line)
}
