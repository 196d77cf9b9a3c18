//! The client's side of sorted parameters: adds to the query what is missing, then the signature.

use super::{Body, Checked, Collected, Parameters, Place};
use crate::{Failure, Signed, Signer, SigningKey, Unsigned, encoding};

impl Signer for Parameters {
    /// Key id, timestamp and nonce are added if the request lacks them. Parameters are added to the query, as the body is
    /// what it is.
    fn sign(&self, request: &Unsigned<'_>, key_id: &str, key: &SigningKey) -> Result<Signed, String> {
        let Self(checked) = self;
        let options = &checked.options;
        let SigningKey::Secret(secret) = key else { return Err("parameters are signed with a shared secret".into()) };
        let mut target = request.target.to_owned();
        let mut headers = Vec::new();
        let mut parameters = Vec::new();
        let key_id = if options.consumer.is_empty() { key_id } else { "" };
        match &options.key {
            _ if key_id.is_empty() => {}
            Place::Header(name) => headers.push((name.clone(), key_id.to_owned())),
            Place::Parameter(name) => parameters.push((name, key_id.to_owned())),
        }
        parameters.push((&options.timestamp, options.window.format.write(request.now_ms)));
        parameters.push((&options.nonce, encoding::hex(&request.random)));
        for (name, value) in parameters {
            let text_of = |failure: Failure| failure.to_string();
            if !name.is_empty() && collect(checked, request, &target)?.get(name).map_err(text_of)?.is_none() {
                add(checked, &mut target, name, &value)?;
            }
        }
        let code = checked.code(&collect(checked, request, &target)?, secret.bytes());
        let signature = options.written.write(code.as_ref());
        match &options.signature {
            Place::Header(name) => headers.push((name.clone(), signature)),
            Place::Parameter(name) => add(checked, &mut target, name, &signature)?,
        }
        Ok(Signed { headers, target: (target != request.target).then_some(target) })
    }
}

fn collect<'r>(checked: &Checked, request: &Unsigned<'r>, target: &'r str) -> Result<Collected<'r>, String> {
    let is_type = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("content-type");
    let content_type = request.headers.iter().find(is_type).map_or("", |(_, value)| value);
    let kind: Body = checked.body(content_type.as_bytes());
    let query = target.split_once('?').map(|(_, query)| query.as_bytes());
    checked.collect(query, kind, request.body).map_err(|failure| failure.to_string())
}

/// Adds a parameter to the query of a target.
fn add(checked: &Checked, target: &mut String, name: &str, value: &str) -> Result<(), String> {
    if !checked.options.query {
        return Err(format!("`{name}` can only be added to the query, which these options do not sign"));
    }
    target.push(if target.contains('?') { '&' } else { '?' });
    escape(target, name);
    target.push('=');
    escape(target, value);
    Ok(())
}

/// Adds a text to a query.
fn escape(target: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            target.push(char::from(byte));
        } else {
            target.push_str(&format!("%{byte:02X}"));
        }
    }
}
