//! Variables of the request line, header and connection. Each method is named after its variable.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use super::{View, concat, cookie, number, pairs};
use crate::bound::Extent;
use crate::{Anomalies, Pair, form, header_hash};

impl<'a> View<'a> {
    /// `REQUEST_LINE`: method, target as received, protocol.
    #[must_use]
    pub fn request_line(&self) -> &'a [u8] {
        self.request_line.get_or_init(|| {
            let head = &self.request.head;
            let composed = || concat(self.arena, &[head.method, b" ", head.target, b" ", self.request_protocol()]);
            self.request.request_line().unwrap_or_else(composed)
        })
    }

    /// `REQUEST_METHOD`
    #[must_use]
    pub fn request_method(&self) -> &'a [u8] {
        self.request.head.method
    }

    /// `REQUEST_PROTOCOL`: `HTTP/1.1`, `HTTP/2.0`.
    #[must_use]
    pub fn request_protocol(&self) -> &'static [u8] {
        self.request.head.version.as_bytes()
    }

    /// `REQUEST_URI_RAW`: the target as received.
    #[must_use]
    pub fn request_uri_raw(&self) -> &'a [u8] {
        self.request.head.target
    }

    /// `REQUEST_URI`: path and query, percent-decoded once as a whole.
    #[must_use]
    pub fn request_uri(&self) -> &'a [u8] {
        self.target().uri
    }

    /// `REQUEST_FILENAME`: the path, percent-decoded once, not normalised.
    #[must_use]
    pub fn request_filename(&self) -> &'a [u8] {
        self.target().path
    }

    /// `PATH_INFO`: the same as `REQUEST_FILENAME` in v3.
    #[must_use]
    pub fn path_info(&self) -> &'a [u8] {
        self.target().path
    }

    /// `REQUEST_BASENAME`: the text after the path's last slash or backslash.
    #[must_use]
    pub fn request_basename(&self) -> &'a [u8] {
        self.target().basename
    }

    /// `QUERY_STRING`: as received.
    #[must_use]
    pub fn query_string(&self) -> &'a [u8] {
        self.target().query
    }

    /// `REQUEST_HEADERS`
    #[must_use]
    pub fn request_headers(&self) -> &'a [Pair<'a>] {
        self.headers.get_or_init(|| pairs(self.arena, self.request.head.headers))
    }

    /// `REQUEST_COOKIES`: not decoded, but with the values within quotes and JSON, which ModSecurity does not show.
    #[must_use]
    pub fn request_cookies(&self) -> &'a [Pair<'a>] {
        self.cookies.get_or_init(|| {
            let headers = self.request.header_values(b"cookie", const { header_hash(b"cookie") });
            let (cookies, mut found) = cookie::parse(self.arena, headers);
            let cookies = crate::cookie::with_inner_values(self.arena, cookies, false, &mut found);
            self.request.flag(found);
            cookies
        })
    }

    /// `ARGS_GET`. `ARGS` is this and [`Self::args_body`].
    #[must_use]
    pub fn args_get(&self) -> &'a [Pair<'a>] {
        self.query.get_or_init(|| {
            let query = self.query_string();
            if self.is_usual_form() && query == self.request.head.query {
                return self.within_limit(self.request.arguments(), 0);
            }
            let mut found = Anomalies::empty();
            let (separator, most) = (self.limits.separator, self.limits.arguments);
            let pairs = form::parse_with(self.arena, query, separator, most, Extent::Whole, &mut found);
            self.request.flag(found);
            pairs
        })
    }

    /// `URLENCODED_ERROR`: whether an argument of query or form had a `%` without two digits.
    #[must_use]
    pub fn urlencoded_error(&self) -> &'static [u8] {
        let _ = (self.args_get(), self.args_body());
        if self.anomalies().contains(Anomalies::INVALID_PERCENT) { b"1" } else { b"0" }
    }

    /// `REMOTE_ADDR` and `REMOTE_HOST`: the client's address as text.
    #[must_use]
    pub fn remote_addr(&self) -> &'a [u8] {
        self.remote_addr
            .get_or_init(|| bumpalo::format!(in self.arena, "{}", self.request.head.client).into_bump_str().as_bytes())
    }

    /// `REMOTE_PORT`, decimal.
    #[must_use]
    pub fn remote_port(&self) -> &'a [u8] {
        number(self.arena, self.request.head.peer_port.into())
    }

    /// `SERVER_ADDR`: the server's address as text.
    #[must_use]
    pub fn server_addr(&self) -> &'a [u8] {
        bumpalo::format!(in self.arena, "{}", self.request.head.server).into_bump_str().as_bytes()
    }

    /// `SERVER_PORT`, decimal.
    #[must_use]
    pub fn server_port(&self) -> &'a [u8] {
        number(self.arena, self.request.head.server_port.into())
    }

    /// `SERVER_NAME`: the `Host` header as sent, up to its first colon.
    #[must_use]
    pub fn server_name(&self) -> &'a [u8] {
        up_to(b':', self.request.header_values(b"host", const { header_hash(b"host") }).last())
    }

    /// `AUTH_TYPE`: the `Authorization` header up to its first space.
    #[must_use]
    pub fn auth_type(&self) -> &'a [u8] {
        up_to(b' ', self.authorization())
    }

    /// `REMOTE_USER`: the user of basic authentication. `None` without one: the variable then does not exist.
    #[must_use]
    pub fn remote_user(&self) -> Option<&'a [u8]> {
        let credentials = basic_credentials(self.arena, self.authorization()?.strip_prefix(b"Basic ")?)?;
        memchr::memchr(b':', credentials).map(|colon| &credentials[..colon])
    }

    fn authorization(&self) -> Option<&'a [u8]> {
        self.request.header_values(b"authorization", const { header_hash(b"authorization") }).last()
    }
}

/// The part of `value` before `end`.
fn up_to(end: u8, value: Option<&[u8]>) -> &[u8] {
    let value = value.unwrap_or_default();
    &value[..memchr::memchr(end, value).unwrap_or(value.len())]
}

/// Base64 (RFC 4648), decoded as v3 does: only groups of four, the remainder is dropped. `None` if it is malformed.
fn basic_credentials<'a>(arena: &'a Bump, text: &[u8]) -> Option<&'a [u8]> {
    let padding = &text[memchr::memchr(b'=', text).unwrap_or(text.len())..];
    if padding.len() > 2 || padding.iter().any(|byte| *byte != b'=') {
        return None;
    }
    let mut out = Vec::with_capacity_in(text.len() / 4 * 3, arena);
    let (mut bits, mut count) = (0u32, 0);
    for byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => 0,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 1;
        if count % 4 == 0 {
            out.extend_from_slice_copy(&bits.to_be_bytes()[1..]);
        }
    }
    let in_last_group = if count % 4 == 0 { padding.len() } else { padding.len().saturating_sub(count % 4) };
    out.truncate(out.len().saturating_sub(in_last_group));
    Some(out.into_bump_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_basic_credentials() {
        let cases: [(&str, Option<&[u8]>); 9] = [
            ("", Some(b"")),
            ("dTpw", Some(b"u:p")),
            ("dTo=", Some(b"u:")),
            ("dQ==", Some(b"u")),
            ("dTpw=", Some(b"u:p")),
            ("dTp", Some(b"")),
            (" dTpw", None),
            ("dTo===", None),
            ("dT=w", None),
        ];
        let arena = Bump::new();
        for (text, expected) in cases {
            assert_eq!(basic_credentials(&arena, text.as_bytes()), expected, "{text}");
        }
    }
}
