//! The places in a request that can hold a token or key.
//!
//! All configured places are searched, and a second credential is refused: an upstream that reads credentials too might
//! use the other one.

use std::borrow::Cow;
use std::fmt;

use weir_http::header_hash;

use crate::encoding::from_percent;
use crate::{Failure, Reason, Request};

/// A place that can hold a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The `Authorization` field with the scheme `Bearer` (RFC 6750, section 2.1). Other schemes are ignored.
    Bearer,
    /// The whole value of the header field with this lower-case name.
    Header(String),
    /// The query parameter with this name. Names and values are decoded as in forms.
    Query(String),
    /// The cookie with this name. Cookies are not decoded.
    Cookie(String),
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bearer => out.write_str("`Authorization: Bearer`"),
            Self::Header(name) => write!(out, "the field `{name}`"),
            Self::Query(name) => write!(out, "the query parameter `{name}`"),
            Self::Cookie(name) => write!(out, "the cookie `{name}`"),
        }
    }
}

impl Place {
    /// Calls `visit` with each value found here, in order.
    fn each<'a>(&self, request: &Request<'a>, mut visit: impl FnMut(Cow<'a, [u8]>)) -> Result<(), Failure> {
        match self {
            Self::Bearer => {
                if let Some(value) = authorization(request, "bearer")? {
                    visit(Cow::Borrowed(value));
                }
            }
            Self::Header(name) => {
                let (name, hash) = (name.as_bytes(), header_hash(name.as_bytes()));
                let fields = request.headers.iter().filter(|field| field.is(name, hash));
                fields.for_each(|field| visit(Cow::Borrowed(field.value)));
            }
            Self::Query(name) => {
                for pair in request.query().unwrap_or_default().split(|byte| *byte == b'&') {
                    let (found, value) = pair.split_at(memchr::memchr(b'=', pair).unwrap_or(pair.len()));
                    if *from_percent(found, true).bytes == *name.as_bytes() {
                        visit(from_percent(value.get(1..).unwrap_or_default(), true).bytes);
                    }
                }
            }
            Self::Cookie(name) => {
                let hash = const { header_hash(b"cookie") };
                let fields = request.headers.iter().filter(|field| field.is(b"cookie", hash));
                for pair in fields.flat_map(|field| field.value.split(|byte| *byte == b';')) {
                    let (found, value) = pair.split_at(memchr::memchr(b'=', pair).unwrap_or(pair.len()));
                    if found.trim_ascii() == name.as_bytes() {
                        visit(Cow::Borrowed(value.get(1..).unwrap_or_default().trim_ascii()));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The only credential in any of the places.
///
/// # Errors
/// [`Reason::Missing`] if there is none, [`Reason::Duplicated`] if there are several.
pub fn only<'a>(places: &[Place], request: &Request<'a>) -> Result<Cow<'a, [u8]>, Failure> {
    let mut found: Option<(&Place, Cow<'a, [u8]>)> = None;
    let mut second: Option<&Place> = None;
    for place in places {
        place.each(request, |value| match &found {
            None => found = Some((place, value)),
            Some(_) => second = Some(place),
        })?;
    }
    match (found, second) {
        (Some((first, _)), Some(second)) => {
            Err(Failure::new(Reason::Duplicated, format!("credentials in {first}, and again in {second}")))
        }
        (Some((_, value)), None) => Ok(value),
        (None, _) => {
            let places: Vec<String> = places.iter().map(Place::to_string).collect();
            Err(Failure::new(Reason::Missing, format!("no credentials in {}", places.join(", "))))
        }
    }
}

/// The credentials in the `Authorization` field (RFC 9110, section 11.4) if it has this scheme, in lower case.
///
/// # Errors
/// [`Reason::Duplicated`] if there are several fields, whatever their schemes.
pub(crate) fn authorization<'a>(request: &Request<'a>, scheme: &str) -> Result<Option<&'a [u8]>, Failure> {
    let Some(value) = request.only("authorization")? else { return Ok(None) };
    let (found, rest) = value.split_at(memchr::memchr(b' ', value).unwrap_or(value.len()));
    Ok(found.eq_ignore_ascii_case(scheme.as_bytes()).then(|| rest.trim_ascii()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_http::Header;

    use super::*;

    fn found(places: &[Place], target: &str, headers: &[(&str, &str)]) -> Result<String, Failure> {
        let headers: Vec<Header<'_>> =
            headers.iter().map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes())).collect();
        let request = Request {
            method: b"GET",
            is_tls: true,
            client_certificate: None,
            authority: b"a.example",
            target: target.as_bytes(),
            headers: &headers,
        };
        only(places, &request).map(|value| String::from_utf8_lossy(&value).into_owned())
    }

    /// Target, header fields, what is expected.
    type Case<'a, T> = (&'a str, &'a [(&'a str, &'a str)], T);

    fn places() -> [Place; 4] {
        let name = || "key".to_owned();
        [Place::Bearer, Place::Header(name()), Place::Query(name()), Place::Cookie(name())]
    }

    #[test]
    fn finds_the_credential_wherever_it_is() {
        let cases: [Case<'_, &str>; 13] = [
            ("/", &[("Authorization", "Bearer abc")], "abc"),
            ("/", &[("authorization", "bEARER   abc")], "abc"),
            ("/", &[("authorization", "Bearer")], ""),
            ("/", &[("KEY", "Bearer abc")], "Bearer abc"),
            ("/?key=abc", &[], "abc"),
            ("/?a=1&key=a%62c+%2b%2&b=2", &[], "abc +%2"),
            ("/?k%65y=abc", &[], "abc"),
            ("/?key", &[], ""),
            ("/?key=a?b=c", &[], "a?b=c"),
            ("/", &[("Cookie", "a=1; key=abc; b=2")], "abc"),
            ("/", &[("Cookie", "a=1"), ("cookie", "key=ab%63=")], "ab%63="),
            ("/?KEY=1&keys=2", &[("Cookie", "Key=1;key=x"), ("Authorization", "Basic abc")], "x"),
            ("/", &[("Authorization", "Digest"), ("key", "")], ""),
        ];
        for (target, headers, expected) in cases {
            assert_eq!(found(&places(), target, headers).as_deref(), Ok(expected), "{target} {headers:?}");
        }
    }

    #[test]
    fn refuses_none_and_two() {
        let cases: [Case<'_, Reason>; 9] = [
            ("/key", &[("keys", "1"), ("cookie", "key2=1")], Reason::Missing),
            ("/", &[("Authorization", "Basic abc")], Reason::Missing),
            ("/", &[("Authorization", "Bearer a"), ("Authorization", "Basic b")], Reason::Duplicated),
            ("/", &[("key", "a"), ("Key", "a")], Reason::Duplicated),
            ("/?key=a&key=a", &[], Reason::Duplicated),
            ("/?key=a&%6bey", &[], Reason::Duplicated),
            ("/", &[("Cookie", "key=a; key=b")], Reason::Duplicated),
            ("/", &[("Cookie", "key=a"), ("Cookie", "key=b")], Reason::Duplicated),
            ("/?key=a", &[("Authorization", "Bearer a")], Reason::Duplicated),
        ];
        for (target, headers, reason) in cases {
            assert_eq!(found(&places(), target, headers).unwrap_err().reason, reason, "{target} {headers:?}");
        }
        let missing = found(&places()[..2], "/", &[]).unwrap_err();
        assert_eq!(missing.to_string(), "missing: no credentials in `Authorization: Bearer`, the field `key`");
    }

    proptest! {
        #[test]
        fn takes_any_bytes(target in "[/?&=%+key0-9a-f]{0,40}", cookie in "[=; key%]{0,20}", other: Vec<u8>) {
            let headers = [("cookie", cookie.as_str())];
            let _ = found(&places(), &target, &headers);
            prop_assert!(from_percent(&other, true).bytes.len() <= other.len());
        }
    }
}
