//! JSON Web Signatures in compact form (RFC 7515, sections 3.1 and 5.2), with the strictness that RFC 8725 asks for.
//!
//! The client writes the header, so nothing in it decides how the signature is verified: its `alg` must be the one that
//! the key is bound to, and keys or addresses of keys in it (`jwk`, `jku`, `x5u`, `x5c`) are ignored.

use serde_json::{Map, Value};

use crate::encoding::from_base64_url;
use crate::excerpt::Excerpt;
use crate::jwa::{self, Algorithm, Method};
use crate::jwk::MAX_KID_BYTES;
use crate::{Failure, Key, Reason, strict_json};

/// The longest token in bytes: twice the longest header line that nginx accepts by default.
pub const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// A token whose signature has not been verified yet.
#[derive(Debug)]
pub struct Compact<'a> {
    /// The algorithm that the header names.
    pub algorithm: &'static Algorithm,
    /// The `kid` of the header.
    pub kid: Option<String>,
    /// The `typ` of the header.
    pub typ: Option<String>,
    /// The decoded payload.
    pub payload: Vec<u8>,
    signed: &'a [u8],
    signature: Vec<u8>,
}

impl<'a> Compact<'a> {
    /// Parses a token.
    ///
    /// # Errors
    /// [`Reason::TooLarge`], [`Reason::Malformed`], or [`Reason::Unsupported`] for a feature that is not implemented.
    pub fn parse(token: &'a [u8]) -> Result<Self, Failure> {
        if token.len() > MAX_TOKEN_BYTES {
            let detail = format!("a token of {} bytes; at most {MAX_TOKEN_BYTES} are accepted", token.len());
            return Err(Failure::new(Reason::TooLarge, detail));
        }
        let mut dots = memchr::memchr_iter(b'.', token);
        let (first, last) = match (dots.next(), dots.next(), dots.count()) {
            (Some(first), Some(last), 0) => (first, last),
            (_, _, 2) => return Err(Failure::new(Reason::Unsupported, "an encrypted token (JWE)")),
            (_, _, _) => return Err(malformed("not a token: expected three parts separated by dots")),
        };
        let header = strict_json::object(&decoded(&token[..first], "header")?)
            .map_err(|error| malformed(format!("the header of the token: {error}")))?;
        check_header(&header)?;
        let name = text(&header, "alg")?.ok_or_else(|| malformed("the header of the token has no `alg`"))?;
        let algorithm = Algorithm::named(name).ok_or_else(|| {
            let (name, known) = (Excerpt(name.as_bytes()), Algorithm::names(None));
            Failure::new(Reason::Unsupported, format!("the token's `alg` is {name}; expected one of {known}"))
        })?;
        let kid = text(&header, "kid")?;
        if kid.is_some_and(|kid| kid.len() > MAX_KID_BYTES) {
            let detail = format!("the token's `kid` has more than {MAX_KID_BYTES} bytes");
            return Err(Failure::new(Reason::TooLarge, detail));
        }
        Ok(Self {
            algorithm,
            kid: kid.map(str::to_owned),
            typ: text(&header, "typ")?.map(str::to_owned),
            payload: decoded(&token[first + 1..last], "payload")?,
            signed: &token[..last],
            signature: decoded(&token[last + 1..], "signature")?,
        })
    }

    /// Verifies the signature. Without a key, or with a key for another algorithm, it is verified all the same, so that
    /// the time does not tell which keys exist: with `like` if that is a key for the token's algorithm, otherwise with
    /// [`Algorithm::stand_in`].
    ///
    /// # Errors
    /// [`Reason::UnknownKey`] without a key, [`Reason::Unsupported`] with a key for another
    /// algorithm, and [`Reason::Mismatch`] for a wrong signature.
    pub fn verify(&self, key: Option<&Key>, like: Option<&Key>) -> Result<(), Failure> {
        let fits = |key: &&Key| Method::of(key) == Some(self.algorithm.method);
        let fitting = key.filter(fits);
        let is_right = match fitting.or(like.filter(fits)) {
            Some(key) => jwa::verifies(key, self.signed, &self.signature),
            None => jwa::verifies(self.algorithm.stand_in(), self.signed, &self.signature),
        };
        let is_right = std::hint::black_box(is_right);
        let name = self.algorithm.name;
        // Both take the same time to write.
        let about = |what| {
            let (kid, bytes) = (self.kid.as_deref().unwrap_or_default(), self.signature.len());
            format!("{what} ({name}, {bytes} bytes, `kid` {})", Excerpt(kid.as_bytes()))
        };
        match (key, fitting) {
            (None, _) => Err(Failure::new(Reason::UnknownKey, about("there is no such key"))),
            (Some(_), None) => {
                let detail = format!("the token's `alg` is `{name}`, and its key is for another algorithm");
                Err(Failure::new(Reason::Unsupported, detail))
            }
            (Some(_), Some(_)) if is_right => Ok(()),
            (Some(_), Some(_)) => Err(Failure::new(Reason::Mismatch, about("the signature is wrong"))),
        }
    }
}

/// Refuses header members that change the meaning of a token in ways that are not implemented.
fn check_header(header: &Map<String, Value>) -> Result<(), Failure> {
    let nested = || text(header, "cty").map(|cty| cty.is_some_and(|cty| media_type_is(cty, "jwt")));
    let unsupported = if header.contains_key("crit") {
        "the token requires extensions (`crit`); none is implemented"
    } else if header.get("b64").is_some_and(|value| *value != Value::Bool(true)) {
        "the token has an unencoded payload (`b64`)"
    } else if header.contains_key("enc") {
        "an encrypted token (`enc`)"
    } else if header.contains_key("zip") {
        "a compressed token (`zip`)"
    } else if nested()? {
        "a token within a token (`cty`)"
    } else {
        return Ok(());
    };
    Err(Failure::new(Reason::Unsupported, unsupported))
}

/// Whether a `typ` or `cty` is this media type; `application/` may be omitted (RFC 7515, section 4.1.9).
#[must_use]
pub fn media_type_is(found: &str, wanted: &str) -> bool {
    const PREFIX: &str = "application/";
    fn short(name: &str) -> &str {
        match name.split_at_checked(PREFIX.len()) {
            Some((prefix, rest)) if prefix.eq_ignore_ascii_case(PREFIX) => rest,
            Some(_) | None => name,
        }
    }
    short(found).eq_ignore_ascii_case(short(wanted))
}

fn text<'a>(header: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, Failure> {
    let wrong = || malformed(format!("`{name}` in the header of the token is not a string"));
    header.get(name).map(|value| value.as_str().ok_or_else(wrong)).transpose()
}

fn decoded(part: &[u8], name: &str) -> Result<Vec<u8>, Failure> {
    from_base64_url(part).ok_or_else(|| malformed(format!("the {name} of the token is not Base64url without padding")))
}

fn malformed(detail: impl Into<std::borrow::Cow<'static, str>>) -> Failure {
    Failure::new(Reason::Malformed, detail)
}

#[cfg(test)]
pub(crate) mod tests;
