//! The client's side: signs a request as RFC 9421, section 3.1, says, with the code that verifies it.

use weir_http::Header;

use super::algorithm::Algorithm;
use super::base::Message;
use super::component::Component;
use super::content_digest::{CONTENT_DIGEST, content_digest};
use super::structured::parser::dictionary;
use super::structured::{Bare, Member, escape};
use crate::digest::Hash;
use crate::encoding::base64_url;
use crate::{Request, Signed, Signer, SigningKey, Unsigned};

/// Signs requests.
#[derive(Clone, Debug)]
pub struct MessageSigner {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The label of the signature.
    pub label: String,
    /// The components, each by its name, or by its whole identifier in quotation marks such as `"date";bs`. `None`
    /// means `@method`, `@target-uri`, and `content-type` and `content-digest` if the request has type and body.
    pub components: Option<Vec<String>>,
    /// The `tag`.
    pub tag: Option<String>,
    /// Whether a `nonce` is added.
    pub nonce: bool,
    /// The time from `created` until `expires` in seconds; `None` leaves `expires` out.
    pub lifetime_s: Option<u64>,
    /// Whether `alg` is added.
    pub names_algorithm: bool,
    /// The hash function of the `Content-Digest` that is added if the request has a body: SHA-256 or SHA-512.
    pub hash: Hash,
}

impl MessageSigner {
    /// A signer with a nonce, without `expires`, `alg` and tag, with the label `sig1` and SHA-256.
    #[must_use]
    pub fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            label: "sig1".to_owned(),
            components: None,
            tag: None,
            nonce: true,
            lifetime_s: None,
            names_algorithm: false,
            hash: Hash::Sha256,
        }
    }

    /// The signature's member of `Signature-Input`.
    fn input(&self, request: &Unsigned<'_>, key_id: &str, headers: &[(String, String)]) -> Result<String, String> {
        let has = |name: &str| headers.iter().any(|header| header.0.eq_ignore_ascii_case(name));
        let default = || {
            let names = ["@method", "@target-uri", "content-type", CONTENT_DIGEST];
            names.into_iter().filter(|name| name.starts_with('@') || has(name)).map(str::to_owned).collect()
        };
        let components: Vec<String> = self.components.clone().unwrap_or_else(default);
        let identifier =
            |text: &String| if text.starts_with('"') { text.clone() } else { format!("\"{}\"", text.to_lowercase()) };
        let components = components.iter().map(identifier).collect::<Vec<_>>().join(" ");

        let text = |name: &str, value: &str| {
            let written = escape(value).map(|value| format!(";{name}=\"{value}\""));
            written.ok_or_else(|| format!("`{name}` is not printable ASCII"))
        };
        let created = request.now_ms / 1000;
        let mut input = format!("{}=({components});created={created}", self.label);
        if let Some(lifetime) = self.lifetime_s {
            input += &format!(";expires={}", created.saturating_add(lifetime));
        }
        input += &text("keyid", key_id)?;
        if self.names_algorithm {
            input += &text("alg", self.algorithm.name())?;
        }
        if self.nonce {
            input += &text("nonce", &base64_url(&request.random))?;
        }
        if let Some(tag) = &self.tag {
            input += &text("tag", tag)?;
        }
        Ok(input)
    }
}

impl Signer for MessageSigner {
    fn sign(&self, request: &Unsigned<'_>, key_id: &str, key: &SigningKey) -> Result<Signed, String> {
        let mut signed = Signed::default();
        let mut headers = request.headers.to_vec();
        let has_digest = headers.iter().any(|header| header.0.eq_ignore_ascii_case(CONTENT_DIGEST));
        if !request.body.is_empty() && !has_digest {
            let header = ("Content-Digest".to_owned(), content_digest(self.hash, request.body)?);
            signed.headers.push(header.clone());
            headers.push(header);
        }
        let input = self.input(request, key_id, &headers)?;
        let parsed = dictionary(input.as_bytes()).map_err(|fault| fault.of("signature-input").to_string())?;
        let [(label, member @ Member::List(items, _))] = &parsed[..] else {
            return Err(format!("`{}` is not a label for a signature", self.label));
        };
        let components = items.iter().cloned().map(Component::of).collect::<Result<Vec<_>, _>>();
        let components = components.map_err(|failure| failure.to_string())?;

        let own = headers.iter().map(|(name, value)| Header::new(name.as_bytes(), value.trim().as_bytes()));
        let host = Header::new(b"Host", request.authority.as_bytes());
        let lines: Vec<Header<'_>> = std::iter::once(host).chain(own).collect();
        let head = Request {
            method: request.method.as_bytes(),
            is_tls: request.is_tls,
            client_certificate: None,
            authority: request.authority.as_bytes(),
            target: request.target.as_bytes(),
            headers: &lines,
        };
        let base = Message::new(&head, None).base(&components, &member.to_string());
        let base = base.map_err(|failure| failure.to_string())?;
        let signature = Bare::Bytes(self.algorithm.sign(key, base.as_bytes())?);
        signed.headers.push(("Signature-Input".to_owned(), format!("{label}={member}")));
        signed.headers.push(("Signature".to_owned(), format!("{label}={signature}")));
        Ok(signed)
    }
}
