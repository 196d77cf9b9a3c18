//! The signature base (RFC 9421, section 2.5): the text that is signed.
//!
//! One line per component, and the signature's parameters at the end. Verifier and signer build it with the same code.
//! Each value is checked to be printable ASCII, so that no value can pretend to be another line.

use std::cell::OnceCell;
use std::fmt::Write as _;

use weir_http::{Header, header_hash};

use super::component::{Component, Part, echo};
use super::query::Query;
use super::structured::parser::{dictionary, item, list};
use super::structured::{Dictionary, Item, write_dictionary, write_list};
use crate::encoding::base64;
use crate::{Failure, Reason, Request};

/// The longest signature base, and the most bytes of fields that are parsed for it. A component may repeat a field in
/// another form (`bs`, `sf`, members by `key`), so that the base can be longer than the message's head.
pub const MAX_BASE_BYTES: usize = 64 * 1024;

/// Fields whose values are structured, for `sf`: those of RFC 9421, 9440, 9211, 9209, 9218, 9530 and client hints.
const STRUCTURED: [(&str, Shape); 13] = [
    ("accept-signature", Shape::Dictionary),
    ("cache-status", Shape::List),
    ("client-cert", Shape::Item),
    ("client-cert-chain", Shape::List),
    ("content-digest", Shape::Dictionary),
    ("priority", Shape::Dictionary),
    ("proxy-status", Shape::List),
    ("repr-digest", Shape::Dictionary),
    ("sec-ch-ua", Shape::List),
    ("signature", Shape::Dictionary),
    ("signature-input", Shape::Dictionary),
    ("want-content-digest", Shape::Dictionary),
    ("want-repr-digest", Shape::Dictionary),
];

/// The type of a structured field.
#[derive(Clone, Copy)]
enum Shape {
    Item,
    List,
    Dictionary,
}

/// The head of a response.
#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    /// The status code, 100 to 599.
    pub status: u16,
    /// All header fields in order. Values have no surrounding white space.
    pub headers: &'a [Header<'a>],
}

/// A message of which a signature base is made: a request, or a response with its request.
#[derive(Debug)]
pub struct Message<'m> {
    request: &'m Request<'m>,
    response: Option<Response<'m>>,
    query: OnceCell<Query>,
}

impl<'m> Message<'m> {
    /// A request, or the response to it.
    #[must_use]
    pub fn new(request: &'m Request<'m>, response: Option<Response<'m>>) -> Self {
        Self { request, response, query: OnceCell::new() }
    }

    fn headers(&self, of_request: bool) -> &'m [Header<'m>] {
        let own = self.response.filter(|_| !of_request);
        own.map_or(self.request.headers, |response| response.headers)
    }

    /// The values of a field by its lower-case name.
    pub fn values<'s>(&'s self, name: &'s str, of_request: bool) -> impl Iterator<Item = &'m [u8]> + use<'m, 's> {
        let hash = header_hash(name.as_bytes());
        self.headers(of_request)
            .iter()
            .filter(move |header| header.is(name.as_bytes(), hash))
            .map(|header| header.value)
    }

    /// The lines of a field as one value; `None` if it is absent.
    #[must_use]
    pub fn combined(&self, name: &str, of_request: bool) -> Option<Vec<u8>> {
        let mut values = self.values(name, of_request);
        let mut combined = values.next()?.to_vec();
        for value in values {
            combined.extend_from_slice(b", ");
            combined.extend_from_slice(value);
        }
        Some(combined)
    }

    /// Whether there is such a part to be signed: a query, or a field. The other parts are always there.
    #[must_use]
    pub fn has(&self, name: &str, of_request: bool) -> bool {
        match name {
            "@query" => self.request.query().is_some(),
            name => name.starts_with('@') || self.values(name, of_request).next().is_some(),
        }
    }

    /// The signature base over these components; `parameters` is the inner list of the signature as it is serialized.
    ///
    /// # Errors
    /// Components that the message does not have, or whose values cannot be signed.
    pub fn base(&self, components: &[Component<'_>], parameters: &str) -> Result<String, Failure> {
        let (mut base, mut parsed, mut value) = (String::new(), 0, String::new());
        for component in components {
            value.clear();
            self.value(component, &mut value, &mut parsed)?;
            if base.len() + value.len() + parsed > MAX_BASE_BYTES {
                let detail = format!("the signature base is longer than {MAX_BASE_BYTES} bytes");
                return Err(Failure::new(Reason::TooLarge, detail));
            }
            let _ = writeln!(base, "{}: {value}", component.item);
        }
        let _ = write!(base, "\"@signature-params\": {parameters}");
        Ok(base)
    }

    fn value(&self, component: &Component<'_>, out: &mut String, parsed: &mut usize) -> Result<(), Failure> {
        let fail = |reason, what: &str| Err(fault(component, reason, what));
        let request = self.request;
        match (component.of_request, self.response) {
            (true, None) => return fail(Reason::Malformed, "`req` is for responses"),
            (true, Some(_)) if component.part == Part::Status => {
                return fail(Reason::Malformed, "a request has no status");
            }
            (false, Some(_)) if !matches!(component.part, Part::Status | Part::Field) => {
                return fail(Reason::Malformed, "a response needs `req` for it");
            }
            (true | false, Some(_)) | (false, None) => {}
        }
        let scheme = if request.is_tls { "https" } else { "http" };
        match component.part {
            Part::Method => push(out, component, request.method),
            Part::Scheme => push(out, component, scheme.as_bytes()),
            Part::Authority => self.authority(out, component),
            Part::RequestTarget => push(out, component, request.target),
            Part::TargetUri | Part::Path | Part::Query | Part::QueryParam if !request.target.starts_with(b"/") => {
                fail(Reason::Unsupported, "the request's target is not a path")
            }
            Part::TargetUri => {
                out.push_str(scheme);
                out.push_str("://");
                self.authority(out, component)?;
                push(out, component, request.target)
            }
            Part::Path => push(out, component, request.path()),
            Part::Query => {
                out.push('?');
                push(out, component, request.query().unwrap_or_default())
            }
            Part::QueryParam => {
                let query = self.query.get_or_init(|| Query::parse(request.query().unwrap_or_default()));
                let mut values = query.values(component.parameter.unwrap_or_default());
                match (values.next(), values.next()) {
                    (Some(Some(value)), None) => push(out, component, value.as_bytes()),
                    (Some(None), None) => fail(Reason::Malformed, "the query parameter is not UTF-8"),
                    (Some(_), Some(_)) => fail(Reason::Duplicated, "the query has the parameter several times"),
                    (None, _) => fail(Reason::Mismatch, "the query does not have the parameter"),
                }
            }
            Part::Status => match self.response {
                Some(response) if (100..=599).contains(&response.status) => {
                    let _ = write!(out, "{}", response.status);
                    Ok(())
                }
                Some(_) | None => fail(Reason::Malformed, "the message has no status"),
            },
            Part::Field => self.field(component, out, parsed),
        }
    }

    /// The host in lower case, without the scheme's default port (RFC 9421, section 2.2.3).
    fn authority(&self, out: &mut String, component: &Component<'_>) -> Result<(), Failure> {
        let authority = self.request.authority;
        let port: &[u8] = if self.request.is_tls { b":443" } else { b":80" };
        let authority = authority.strip_suffix(port).unwrap_or(authority);
        if authority.is_empty() {
            return Err(fault(component, Reason::Malformed, "the request names no host"));
        }
        let start = out.len();
        push(out, component, authority)?;
        out[start..].make_ascii_lowercase();
        Ok(())
    }

    fn field(&self, component: &Component<'_>, out: &mut String, parsed: &mut usize) -> Result<(), Failure> {
        let absent = |what: &str| fault(component, Reason::Mismatch, what);
        let (name, of_request) = (component.name, component.of_request);
        if component.wrapped {
            for value in self.values(name, of_request) {
                let _ = write!(out, "{}:{}:", if out.is_empty() { "" } else { ", " }, base64(value));
            }
            return if out.is_empty() { Err(absent("it is signed, but absent")) } else { Ok(()) };
        }
        let combined = self.combined(name, of_request).ok_or_else(|| absent("it is signed, but absent"))?;
        if !component.structured && component.key.is_none() {
            return push(out, component, &combined);
        }
        *parsed += combined.len();
        if *parsed > MAX_BASE_BYTES {
            return Err(fault(component, Reason::TooLarge, "too much to parse for `sf` and `key`"));
        }
        let wrong = |fault: super::structured::parser::Fault| fault.of(echo(name));
        if let Some(key) = component.key {
            let members = dictionary(&combined).map_err(wrong)?;
            let member = members.iter().find(|member| member.0 == key);
            let (_, member) = member.ok_or_else(|| absent("the member is signed, but absent"))?;
            let _ = write!(out, "{member}");
            return Ok(());
        }
        let Some((_, shape)) = STRUCTURED.iter().find(|row| row.0 == name) else {
            return Err(fault(component, Reason::Unsupported, "not known as a structured field, which `sf` needs"));
        };
        match shape {
            Shape::Item => {
                let item: Item<'_> = item(&combined).map_err(wrong)?;
                let _ = write!(out, "{item}");
            }
            Shape::List => write_list(out, &list(&combined).map_err(wrong)?),
            Shape::Dictionary => {
                let members: Dictionary<'_> = dictionary(&combined).map_err(wrong)?;
                write_dictionary(out, &members);
            }
        }
        Ok(())
    }
}

fn fault(component: &Component<'_>, reason: Reason, what: &str) -> Failure {
    Failure::new(reason, format!("component `{}`: {what}", echo(component.name)))
}

/// Adds a value that is printable ASCII. White space is only allowed inside fields, as spaces and tabs.
fn push(out: &mut String, component: &Component<'_>, value: &[u8]) -> Result<(), Failure> {
    match std::str::from_utf8(value) {
        Ok(text) if text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) => {
            out.push_str(text);
            Ok(())
        }
        Ok(_) | Err(_) => Err(fault(component, Reason::Malformed, "its value is not printable ASCII; `bs` may help")),
    }
}

#[cfg(test)]
mod tests;
