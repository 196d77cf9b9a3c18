//! `sorted_tokens`: a digest of the sorted characters of a body's tokens.
//!
//! A gateway in Lua spent three quarters of its processor on this scheme: it cut the body into tokens, encoded them, cut
//! the code into characters and sorted these. Here nothing is cut or sorted ([`sorted`]).
//!
//! The scheme itself is weak, whatever its hash: bodies with the same characters in another order have the same
//! signature, as have bodies that differ in punctuation. It is here for clients that exist.

use std::sync::Arc;

use crate::digest::{Digest, Hash};
use crate::field::{Field, MAX_ID_BYTES, MAX_SIGNATURE_BYTES};
use crate::keyed::{Keyed, SecretPlace};
use crate::trial::Trial;
use crate::written::Written;
use crate::{Failure, Identity, Keys, Pending, Reason, Request, Scheme, Signed, Signer, SigningKey, Unsigned, secret};

pub mod naive;
pub mod sorted;
#[cfg(test)]
mod tests;
mod utf8;

use sorted::{SortedText, SortedTokens};

/// The options of [`Tokens`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokensOptions {
    /// The header field with the signature.
    pub signature_header: String,
    /// The header field with the key id; of no meaning if there is a consumer.
    pub key_header: String,
    /// The consumer whose live secrets are tried; empty: the request names a key.
    pub consumer: String,
    /// The hash function.
    pub hash: Hash,
    /// Where the secret goes.
    pub secret: SecretPlace,
    /// How the signature is written.
    pub written: Written,
}

impl Default for TokensOptions {
    fn default() -> Self {
        Self {
            signature_header: "x-signature".into(),
            key_header: "x-app-id".into(),
            consumer: String::new(),
            hash: Hash::Md5,
            secret: SecretPlace::After,
            written: Written::LowerHex,
        }
    }
}

/// The scheme.
#[derive(Clone, Debug)]
pub struct Tokens(Arc<Checked>);

/// Options that fit together.
#[derive(Debug)]
struct Checked {
    signature: Field,
    key: Field,
    consumer: String,
    keyed: Keyed,
    written: Written,
}

impl Tokens {
    /// The scheme with these options.
    ///
    /// # Errors
    /// If a name is not one of a header field.
    pub fn new(options: TokensOptions) -> Result<Self, String> {
        let TokensOptions { signature_header, key_header, consumer, hash, secret, written } = options;
        let (signature, key) = (Field::new(&signature_header)?, Field::new(&key_header)?);
        let keyed = Keyed { hash, place: secret, label: String::new() };
        Ok(Self(Arc::new(Checked { signature, key, consumer, keyed, written })))
    }
}

impl Checked {
    fn code(&self, text: &SortedText, secret: &[u8]) -> Digest {
        let mut code = self.keyed.begin(secret);
        text.give(|part| code.update(part));
        code.finish()
    }
}

impl Scheme for Tokens {
    fn begin<'a>(
        &self,
        request: &Request<'a>,
        keys: &dyn Keys,
        _now_ms: u64,
    ) -> Result<Box<dyn Pending + 'a>, Failure> {
        let Self(checked) = self;
        let signature = checked.signature.required(request, MAX_SIGNATURE_BYTES)?;
        let trial = if checked.consumer.is_empty() {
            Trial::of_id(keys, checked.key.required(request, MAX_ID_BYTES)?)
        } else {
            Trial::of_consumer(keys, &checked.consumer)
        };
        let signature = checked.written.read(signature)?;
        Ok(Box::new(Arriving { checked: Arc::clone(checked), trial, signature, tokens: SortedTokens::default() }))
    }

    fn reads_body(&self) -> bool {
        true
    }

    fn challenge(&self) -> &'static str {
        "SortedTokens"
    }

    fn credential_fields(&self) -> Vec<&str> {
        vec![self.0.signature.name()]
    }
}

/// A body that is arriving.
struct Arriving {
    checked: Arc<Checked>,
    trial: Trial,
    signature: Vec<u8>,
    tokens: SortedTokens,
}

/// The most of the sorted text that is shown, in bytes.
const MAX_SHOWN: usize = 64 * 1024;

impl Pending for Arriving {
    fn absorb(&mut self, bytes: &[u8]) {
        self.tokens.absorb(bytes);
    }

    fn finish(self: Box<Self>, _: &dyn Keys) -> Result<Identity, Failure> {
        let not_utf8 = || Failure::new(Reason::Malformed, "the body is not UTF-8");
        let text = self.tokens.finish().ok_or_else(not_utf8)?;
        let is_right = |secret: &[u8]| secret::equal(&self.signature, self.checked.code(&text, secret).as_ref());
        self.trial.decide(self.trial.first(|_, secret| is_right(secret)), None)
    }

    fn canonical(&self) -> Vec<u8> {
        let mut shown = Vec::new();
        let mut show = |part: &[u8]| shown.extend_from_slice(&part[..part.len().min(MAX_SHOWN - shown.len())]);
        if let Some(text) = self.tokens.finish() {
            text.give(&mut show);
        }
        shown
    }
}

impl Signer for Tokens {
    fn sign(&self, request: &Unsigned<'_>, key_id: &str, key: &SigningKey) -> Result<Signed, String> {
        let Self(checked) = self;
        let SigningKey::Secret(secret) = key else {
            return Err("sorted tokens are signed with a shared secret".into());
        };
        let mut tokens = SortedTokens::default();
        tokens.absorb(request.body);
        let text = tokens.finish().ok_or("the body is not UTF-8")?;
        let signature = checked.written.write(checked.code(&text, secret.bytes()).as_ref());
        let mut headers = vec![(checked.signature.name().to_owned(), signature)];
        if checked.consumer.is_empty() {
            headers.push((checked.key.name().to_owned(), key_id.to_owned()));
        }
        Ok(Signed { headers, target: None })
    }
}
