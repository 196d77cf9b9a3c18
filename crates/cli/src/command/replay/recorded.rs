//! A recorded request, whatever it was recorded in.

use std::net::IpAddr;

use weir_http::Version;

/// A request, and what is known to be missing from it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Recorded {
    /// `GET`.
    pub method: Vec<u8>,
    /// Path and query as sent; scheme and authority have been taken off.
    pub target: Vec<u8>,
    /// Protocol version.
    pub version: Version,
    /// Host of the target or header, with its port if it has one.
    pub host: Vec<u8>,
    /// Names and values in the order of the record.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The body, decoded from chunks.
    pub body: Vec<u8>,
    /// Who sent it, if that is known.
    pub client: Option<IpAddr>,
    /// What the record lacks or what had to be made up, for people.
    pub missing: Vec<String>,
    /// Rules that the log has for it.
    pub logged: Option<Vec<String>>,
    /// Where it was found: a line, an entry, a request id.
    pub place: String,
}

impl Recorded {
    /// A request without headers and body.
    pub fn new(method: &[u8], target: &[u8], version: Version, place: String) -> Self {
        let (host, target) = split(target);
        Self {
            method: method.to_vec(),
            target: target.to_vec(),
            version,
            host: host.to_vec(),
            headers: Vec::new(),
            body: Vec::new(),
            client: None,
            missing: Vec::new(),
            logged: None,
            place,
        }
    }

    /// The first header field of that name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let of_name = |(known, _): &&(Vec<u8>, Vec<u8>)| known.eq_ignore_ascii_case(name.as_bytes());
        self.headers.iter().find(of_name).map(|(_, value)| value.as_slice())
    }

    /// Adds a header field.
    pub fn push(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        self.headers.push((name.as_bytes().to_vec(), value.into()));
    }

    /// Takes the host from the header field, unless the target has named it.
    pub fn settle_host(&mut self) {
        if self.host.is_empty() {
            self.host = self.header("host").unwrap_or_default().to_vec();
        }
    }
}

/// Authority and rest of a target in absolute form; other targets have no authority.
fn split(target: &[u8]) -> (&[u8], &[u8]) {
    let scheme = [&b"http://"[..], b"https://"]
        .into_iter()
        .find(|scheme| target.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme)));
    let Some(scheme) = scheme else { return (b"", target) };
    let rest = &target[scheme.len()..];
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(rest.len());
    (&rest[..end], if end < rest.len() { &rest[end..] } else { b"/" })
}

/// The version that a record names; `None` for words that are none.
pub(super) fn version(text: &[u8]) -> Option<Version> {
    Some(match text.to_ascii_lowercase().as_slice() {
        b"http/0.9" => Version::Http09,
        b"http/1.0" => Version::Http10,
        b"http/1.1" => Version::Http11,
        b"http/2" | b"http/2.0" | b"h2" => Version::Http2,
        b"http/3" | b"http/3.0" | b"h3" => Version::Http3,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_target_gives_its_host() {
        for (target, host, rest) in [
            ("/a?b", "", "/a?b"),
            ("http://x.example:81/a", "x.example:81", "/a"),
            ("HTTPS://x", "x", "/"),
            ("http://x?q", "x", "?q"),
            ("*", "", "*"),
        ] {
            assert_eq!(split(target.as_bytes()), (host.as_bytes(), rest.as_bytes()), "{target}");
        }
    }
}
