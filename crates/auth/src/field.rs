//! A header field whose name comes from an option: checked and hashed once, not per request.

use weir_http::header_hash;

use crate::{Failure, Reason, Request};

/// The longest value of a field with a signature, in bytes: a few signatures of SHA-512 with their labels.
pub const MAX_SIGNATURE_BYTES: usize = 4096;
/// The longest key id, in bytes; ids are names that people or programs hand out.
pub const MAX_ID_BYTES: usize = 256;
/// The longest timestamp, in bytes; every format in use is shorter than 30.
pub const MAX_TIME_BYTES: usize = 40;

/// The name of a header field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    name: String,
    hash: u64,
}

impl Field {
    /// A field of this name, in any case.
    ///
    /// # Errors
    /// If it is not a token (RFC 9110, section 5.6.2).
    pub fn new(name: &str) -> Result<Self, String> {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(format!("`{name}` is not the name of a header field"));
        }
        Ok(Self { name: name.to_ascii_lowercase(), hash: header_hash(name.as_bytes()) })
    }

    /// The name in lower case.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The only value of at most `bound` bytes; `None` if the request has no such field.
    ///
    /// # Errors
    /// [`Reason::Duplicated`] if there are several, [`Reason::TooLarge`] if it is longer.
    pub fn only<'a>(&self, request: &Request<'a>, bound: usize) -> Result<Option<&'a [u8]>, Failure> {
        let name = &self.name;
        let mut found = request.headers.iter().filter(|header| header.is(name.as_bytes(), self.hash));
        match (found.next(), found.next()) {
            (None, _) => Ok(None),
            (Some(_), Some(_)) => Err(Failure::new(Reason::Duplicated, format!("several `{name}` fields"))),
            (Some(header), None) => within(header.value, name, bound).map(Some),
        }
    }

    /// The only value, of 1 to `bound` bytes.
    ///
    /// # Errors
    /// As [`Field::only`], and [`Reason::Missing`] if there is none or it is empty.
    pub fn required<'a>(&self, request: &Request<'a>, bound: usize) -> Result<&'a [u8], Failure> {
        let value = self.only(request, bound)?.filter(|value| !value.is_empty());
        value.ok_or_else(|| Failure::new(Reason::Missing, format!("no `{}` field", self.name)))
    }
}

/// A value, if it is not longer than `bound` bytes.
///
/// # Errors
/// [`Reason::TooLarge`].
pub fn within<'a>(value: &'a [u8], name: &str, bound: usize) -> Result<&'a [u8], Failure> {
    if value.len() <= bound {
        return Ok(value);
    }
    Err(Failure::new(Reason::TooLarge, format!("`{name}` has {} bytes, the bound is {bound}", value.len())))
}
