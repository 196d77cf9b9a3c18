//! HMAC signatures as Apache APISIX's and Kong's plugins `hmac-auth` and draft-cavage-http-signatures define them, so
//! that their clients work unchanged.
//!
//! Sources: `apisix/plugins/hmac-auth.lua` and its documentation (3.x: `Authorization: Signature`; the `X-HMAC-` fields
//! of 2.x are no longer documented and are not read); `kong/plugins/hmac-auth/access.lua`;
//! draft-cavage-http-signatures-12. The three differ in a few names and in how a line of the signed text is written,
//! which is [`dialect`]'s table. There is one parser and one canonicaliser.
//!
//! Stricter than the plugins: target and time must be signed, and so must the `Digest` of a body, unless an option says
//! otherwise; and what a request lists as signed must be there, once. The plugins silently leave an absent field out of
//! the signed text or sign it as empty, and sign only the first of several.

mod dialect;
mod lines;
mod parameters;
mod pending;
mod signer;
#[cfg(test)]
mod tests;

use dialect::{Component, Row};
use lines::Lines;
use parameters::Parameters;
use pending::{BodyDigest, HmacPending};
pub use signer::HmacSigner;

use crate::date::from_http;
use crate::digest::MacHash;
use crate::encoding::from_base64;
use crate::excerpt::Excerpt;
use crate::trial::Trial;
use crate::{Failure, Keys, Pending, Reason, Request, Scheme};

pub use dialect::Dialect;

/// What must be among the signed components.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Required {
    /// Method and target, by any name that the dialect has for them.
    Target,
    /// A time: `date`, in Kong's dialect also `x-date`, in Cavage's also `(created)`.
    Time,
    /// A header field, by its name in lower case.
    Field(String),
}

/// How the body is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyCheck {
    /// Not at all.
    Ignored,
    /// By a `Digest` that need not be signed, as the plugins do. It shows accidents; whoever changes a body on purpose
    /// can change the digest too.
    Digest,
    /// By a `Digest` that must be signed.
    SignedDigest,
}

/// The scheme with its options.
#[derive(Clone, Debug)]
pub struct HmacAuth {
    /// Whose clients.
    pub dialect: Dialect,
    /// The hash functions that a request may choose from. Default: SHA-256, SHA-384, SHA-512.
    pub algorithms: Vec<MacHash>,
    /// What must be signed. Default: target and time.
    pub required: Vec<Required>,
    /// How far the signed time may be from now, in seconds, either way; `None`: the time is not looked at. Default: 300.
    pub clock_skew_s: Option<u64>,
    /// How the body is checked. Default: by a signed digest.
    pub body: BodyCheck,
}

impl HmacAuth {
    /// The dialect with the default options.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            algorithms: vec![MacHash::Sha256, MacHash::Sha384, MacHash::Sha512],
            required: vec![Required::Target, Required::Time],
            clock_skew_s: Some(300),
            body: BodyCheck::SignedDigest,
        }
    }
}

impl Scheme for HmacAuth {
    fn begin<'a>(&self, request: &Request<'a>, keys: &dyn Keys, now_ms: u64) -> Result<Box<dyn Pending + 'a>, Failure> {
        let row = self.dialect.row();
        let parameters = Parameters::find(request, row)?;
        let hash = self.hash(row, &parameters)?;
        let signature =
            from_base64(parameters.signature).filter(|bytes| bytes.len() == hash.of(b"", b"").as_ref().len());
        let signature = signature.ok_or(Failure::new(
            Reason::Malformed,
            "the signature is not the Base64 of as many bytes as its hash has",
        ))?;
        let lines = Lines::write(request, row, &parameters)?;
        self.check_required(row, &lines)?;
        let (signed_ms, expires_ms) = self.check_time(row, &lines, &parameters, now_ms)?;
        let digest = self.digest(request, &lines)?;
        let trial = Trial::of_id(keys, parameters.key_id);
        let (text, version) = (lines.text, lines.version);
        let needs_digest = self.body != BodyCheck::Ignored;
        Ok(Box::new(HmacPending {
            trial,
            hash,
            text,
            version,
            signature,
            digest,
            needs_digest,
            has_body: false,
            signed_ms,
            expires_ms,
        }))
    }

    fn reads_body(&self) -> bool {
        self.body != BodyCheck::Ignored
    }

    fn challenge(&self) -> &'static str {
        self.dialect.row().places[0].1
    }

    fn credential_fields(&self) -> Vec<&str> {
        self.dialect.row().places.iter().map(|(field, _)| *field).collect()
    }
}

impl HmacAuth {
    fn hash(&self, row: &Row, parameters: &Parameters<'_>) -> Result<MacHash, Failure> {
        let name = parameters.algorithm;
        let known = row.algorithms.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, hash)| *hash);
        known.filter(|hash| self.algorithms.contains(hash)).ok_or_else(|| {
            let allowed = row.algorithms.iter().filter(|(_, hash)| self.algorithms.contains(hash));
            let allowed: Vec<&str> = allowed.map(|(name, _)| *name).collect();
            Failure::new(
                Reason::Unsupported,
                format!("the algorithm is {}, allowed: {}", Excerpt(name), allowed.join(", ")),
            )
        })
    }

    fn check_required(&self, row: &Row, lines: &Lines<'_>) -> Result<(), Failure> {
        for required in &self.required {
            let (is_signed, expected) = match required {
                Required::Target => {
                    let names: Vec<&str> = row.targets().collect();
                    (names.iter().any(|name| lines.value(name).is_some()), names.join("` or `"))
                }
                Required::Time => (row.times.iter().any(|name| lines.value(name).is_some()), row.times.join("` or `")),
                Required::Field(name) => (lines.value(name).is_some(), name.clone()),
            };
            if !is_signed {
                return Err(Failure::new(
                    Reason::Incomplete,
                    format!("`{expected}` is not among the signed components"),
                ));
            }
        }
        Ok(())
    }

    /// When the request was signed and when it expires, if it is valid now.
    fn check_time(
        &self,
        row: &Row,
        lines: &Lines<'_>,
        parameters: &Parameters<'_>,
        now_ms: u64,
    ) -> Result<(Option<u64>, u64), Failure> {
        let stated_expiry = match parameters.expires.filter(|_| lines.value("(expires)").is_some()) {
            Some(text) => seconds_ms(text).ok_or_else(|| malformed("(expires)", text))?,
            None => u64::MAX,
        };
        if now_ms > stated_expiry {
            let detail = format!("expired {} s ago", (now_ms - stated_expiry) / 1000);
            return Err(Failure::new(Reason::Expired, detail));
        }
        let Some(skew_s) = self.clock_skew_s else { return Ok((None, stated_expiry)) };
        let signed = row.times.iter().find_map(|name| Some((*name, lines.value(name)?)));
        let (name, text) = signed.ok_or_else(|| {
            Failure::new(Reason::Incomplete, format!("no signed time: `{}`", row.times.join("` or `")))
        })?;
        let is_number = row.component(name.as_bytes()) == Some(Component::Created);
        let signed_ms = if is_number { seconds_ms(text) } else { from_http(text) };
        let signed_ms = signed_ms.ok_or_else(|| malformed(name, text))?;
        let skew_ms = skew_s.saturating_mul(1000);
        let (ahead_ms, age_ms) = (signed_ms.saturating_sub(now_ms), now_ms.saturating_sub(signed_ms));
        if ahead_ms.max(age_ms) > skew_ms {
            let (reason, when) = if ahead_ms > 0 { (Reason::NotYet, "ahead") } else { (Reason::Expired, "ago") };
            let detail =
                format!("`{name}` is {} s {when}; at most {skew_s} s are allowed", ahead_ms.max(age_ms) / 1000);
            return Err(Failure::new(reason, detail));
        }
        Ok((Some(signed_ms), signed_ms.saturating_add(skew_ms).min(stated_expiry)))
    }

    /// The digest that the body must have, if the request states one that counts.
    fn digest(&self, request: &Request<'_>, lines: &Lines<'_>) -> Result<Option<BodyDigest>, Failure> {
        let stated = match self.body {
            BodyCheck::Ignored => None,
            BodyCheck::Digest => request.only("digest")?,
            BodyCheck::SignedDigest => lines.value("digest"),
        };
        stated.map(BodyDigest::read).transpose()
    }
}

/// Milliseconds of a number of seconds, of which a fraction is dropped.
fn seconds_ms(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = [seconds, fraction].iter().all(|text| is_digits(text)).then(|| seconds.parse::<u64>().ok())??;
    seconds.checked_mul(1000)
}

fn malformed(name: &str, text: &[u8]) -> Failure {
    Failure::new(Reason::Malformed, format!("`{name}` is {}, not a time", Excerpt(text)))
}
