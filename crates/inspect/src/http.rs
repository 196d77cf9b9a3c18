//! HTTP/1.1 as far as an inspector is asked in it: one request is written, one response is read.
//!
//! Heads are parsed by `httparse`. A response is bounded: one past a bound is too large; one of another version, or with a
//! framing that two parsers could see differently (RFC 9112, section 6.3), is unreadable.

use crate::{Failure, OwnedField};

/// Most bytes of a response's head.
pub const MAX_HEAD_BYTES: usize = 16 << 10;
/// Most header fields of a response.
const MAX_FIELDS: usize = 64;
/// Most bytes of a response's body; it is held in memory, and may be the answer to the client.
pub const MAX_BODY_BYTES: usize = 256 << 10;
/// Most interim responses (1xx) before the response.
const MAX_INTERIM: usize = 4;

/// Fields that belong to one connection, or frame one message: they are not copied from one to the other.
const OF_CONNECTION: [&str; 11] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
    "expect",
    "http2-settings",
];

/// Whether a field stays with its connection.
#[must_use]
pub fn is_of_connection(name: &[u8]) -> bool {
    OF_CONNECTION.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

/// A request that is being written at the end of a buffer.
pub struct Request<'b>(&'b mut Vec<u8>);

impl<'b> Request<'b> {
    /// Writes the request line. What would end it early is percent-encoded: not every nginx refuses a space in a target.
    pub fn begin(buffer: &'b mut Vec<u8>, method: &[u8], target: &[&[u8]]) -> Self {
        buffer.extend_from_slice(method);
        buffer.push(b' ');
        for byte in target.iter().copied().flatten() {
            match byte {
                0..=b' ' | 0x7f => buffer.extend_from_slice(format!("%{byte:02X}").as_bytes()),
                byte => buffer.push(*byte),
            }
        }
        buffer.extend_from_slice(b" HTTP/1.1\r\n");
        Self(buffer)
    }

    /// Writes a field. One whose name is not a token is left out: a service may refuse the whole request for it.
    pub fn field(&mut self, name: &[u8], parts: &[&[u8]]) -> &mut Self {
        if name.is_empty() || !name.iter().all(is_of_token) {
            return self;
        }
        self.0.extend_from_slice(name);
        self.0.extend_from_slice(b": ");
        parts.iter().for_each(|part| clean(self.0, part));
        self.0.extend_from_slice(b"\r\n");
        self
    }

    /// Ends the head, and writes the body.
    pub fn end(self, body: &[u8]) {
        if !body.is_empty() {
            self.0.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        self.0.extend_from_slice(b"\r\n");
        self.0.extend_from_slice(body);
    }
}

/// Whether a byte may be in the name of a field.
fn is_of_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}

/// Appends bytes without control characters. nginx lets some of them through in the values of fields, and a service that
/// does not would fail for whoever sends one.
fn clean(buffer: &mut Vec<u8>, bytes: &[u8]) {
    let is_bad = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(is_bad) {
        buffer.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
    }
    buffer.extend_from_slice(rest);
}

/// A response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// Status.
    pub status: u16,
    /// Header fields.
    pub headers: Vec<OwnedField>,
    /// Body, decoded from chunks.
    pub body: Vec<u8>,
    /// Whether the connection may be used again.
    pub keeps_alive: bool,
}

impl Response {
    /// The first field of a name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
        found.map(|(_, value)| &value[..])
    }
}

/// Whether a written request is a `HEAD`, whose response has no body whatever its fields say.
#[must_use]
pub fn is_head(request: &[u8]) -> bool {
    request.starts_with(b"HEAD ")
}

/// Reads a response from all bytes that have come since the request; `None` if more have to come.
///
/// # Errors
/// If it cannot be read, or the connection ended too early.
pub fn read(bytes: &[u8], is_head: bool, is_end: bool) -> Result<Option<Response>, Failure> {
    let mut rest = bytes;
    for _ in 0..=MAX_INTERIM {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut head = httparse::Response::new(&mut fields);
        let length = match head.parse(&rest[..rest.len().min(MAX_HEAD_BYTES)]) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if rest.len() >= MAX_HEAD_BYTES => return Err(Failure::TooLarge),
            Ok(httparse::Status::Partial) => return unfinished(is_end),
            Err(httparse::Error::TooManyHeaders) => return Err(Failure::TooLarge),
            Err(_) => return Err(Failure::Unreadable),
        };
        let status = head.code.unwrap_or_default();
        rest = &rest[length..];
        match status {
            101 => return Err(Failure::Unreadable), // nobody asked for it
            100..=199 => continue,
            200..=599 => {}
            _ => return Err(Failure::Unreadable),
        }
        let headers = head.headers.iter().map(|field| (field.name.as_bytes().to_vec(), field.value.to_vec())).collect();
        let is_old = head.version == Some(0);
        let response = Response { status, headers, body: Vec::new(), keeps_alive: false };
        return read_body(response, rest, is_old, is_head, is_end);
    }
    Err(Failure::Unreadable)
}

fn unfinished(is_end: bool) -> Result<Option<Response>, Failure> {
    if is_end { Err(Failure::Unreachable) } else { Ok(None) }
}

fn read_body(
    mut response: Response,
    rest: &[u8],
    is_old: bool,
    is_head: bool,
    is_end: bool,
) -> Result<Option<Response>, Failure> {
    let has = |name: &str, token: &str| {
        let of_name = response.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
        let tokens = of_name.flat_map(|(_, value)| value.split(|byte| *byte == b','));
        tokens.map(<[u8]>::trim_ascii).any(|found| found.eq_ignore_ascii_case(token.as_bytes()))
    };
    let keeps_alive = !has("connection", "close") && (!is_old || has("connection", "keep-alive"));
    let is_chunked = has("transfer-encoding", "chunked");
    let lengths: Vec<&[u8]> = response
        .headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case(b"content-length"))
        .map(|(_, value)| &value[..])
        .collect();
    let used = match (is_chunked, &lengths[..]) {
        _ if is_head || matches!(response.status, 204 | 304) => 0,
        (true, []) => match chunks(rest, &mut response.body)? {
            Some(used) => used,
            None => return unfinished(is_end),
        },
        (false, [length]) => {
            let length = std::str::from_utf8(length).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            let length: usize = length.and_then(|text| text.parse().ok()).ok_or(Failure::Unreadable)?;
            if length > MAX_BODY_BYTES {
                return Err(Failure::TooLarge);
            }
            let Some(body) = rest.get(..length) else { return unfinished(is_end) };
            response.body = body.to_vec();
            length
        }
        (false, []) if response.header("transfer-encoding").is_none() => {
            if rest.len() > MAX_BODY_BYTES {
                return Err(Failure::TooLarge);
            }
            if !is_end {
                return Ok(None);
            }
            response.body = rest.to_vec();
            return Ok(Some(response));
        }
        _ => return Err(Failure::Unreadable), // two framings
    };
    // Bytes after the response belong to no question.
    response.keeps_alive = keeps_alive && used == rest.len() && !is_end;
    Ok(Some(response))
}

/// Decodes chunks up to the last one; returns how long they are together, if they are all there.
fn chunks(bytes: &[u8], body: &mut Vec<u8>) -> Result<Option<usize>, Failure> {
    let mut at = 0;
    loop {
        let (head, size) = match httparse::parse_chunk_size(&bytes[at..]) {
            Ok(httparse::Status::Complete(found)) => found,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(Failure::Unreadable),
        };
        at += head;
        if size == 0 {
            // Trailer fields are passed over.
            let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
            return match httparse::parse_headers(&bytes[at..], &mut fields) {
                Ok(httparse::Status::Complete((length, _))) => Ok(Some(at + length)),
                Ok(httparse::Status::Partial) if bytes.len() - at > MAX_HEAD_BYTES => Err(Failure::TooLarge),
                Ok(httparse::Status::Partial) => Ok(None),
                Err(_) => Err(Failure::Unreadable),
            };
        }
        let size = usize::try_from(size).ok().filter(|size| body.len() + size <= MAX_BODY_BYTES);
        let size = size.ok_or(Failure::TooLarge)?;
        let Some(chunk) = bytes.get(at..at + size + 2) else { return Ok(None) };
        let Some(chunk) = chunk.strip_suffix(b"\r\n") else { return Err(Failure::Unreadable) };
        body.extend_from_slice(chunk);
        at += size + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &[(&str, u16, &str, bool)] = &[
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", true),
        ("HTTP/1.1 204 No Content\r\n\r\n", 204, "", true),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", 302, "", true),
        (
            "HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n4;x=y\r\n you\r\n0\r\nA: b\r\n\r\n",
            403,
            "hi you",
            true,
        ),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 200, "", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "", false),
        ("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n", 200, "", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nrubbish", 200, "", false),
    ];

    #[test]
    fn what_a_service_would_refuse_is_not_written() {
        let mut buffer = Vec::new();
        let mut request = Request::begin(&mut buffer, b"GET", &[b"/a\r\nb"]);
        request.field(b"X-A", &[b"1\x01\x7f\t2", b"\r\n3\0"]).field(b"X(B)", &[b"1"]).field(b"", &[b"1"]);
        request.end(b"");
        assert_eq!(String::from_utf8(buffer).unwrap(), "GET /a%0D%0Ab HTTP/1.1\r\nX-A: 1\t23\r\n\r\n");
    }

    #[test]
    fn responses_are_read_and_half_of_one_waits() {
        for (text, status, body, keeps_alive) in GOOD {
            let bytes = text.as_bytes();
            let read_whole = read(bytes, false, false).unwrap().unwrap();
            assert_eq!((read_whole.status, read_whole.keeps_alive), (*status, *keeps_alive), "{text}");
            assert_eq!(read_whole.body, body.as_bytes(), "{text}");
            if text.ends_with("rubbish") {
                continue;
            }
            for cut in 0..bytes.len() {
                assert_eq!(read(&bytes[..cut], false, false), Ok(None), "{text} cut at {cut}");
                assert_eq!(read(&bytes[..cut], false, true), Err(Failure::Unreachable), "{text} cut at {cut}");
            }
        }
    }

    #[test]
    fn without_a_length_the_end_is_the_end() {
        let text = b"HTTP/1.1 401 No\r\n\r\nwho are you";
        assert_eq!(read(text, false, false), Ok(None));
        let response = read(text, false, true).unwrap().unwrap();
        assert_eq!((response.status, &response.body[..], response.keeps_alive), (401, &b"who are you"[..], false));
    }

    #[test]
    fn the_response_to_head_has_no_body() {
        assert!(is_head(b"HEAD / HTTP/1.1\r\n") && !is_head(b"HEADER / HTTP/1.1\r\n"));
        for fields in ["", "Content-Length: 73\r\n", "Transfer-Encoding: chunked\r\n"] {
            let text = format!("HTTP/1.1 403 No\r\n{fields}\r\n");
            let response = read(text.as_bytes(), true, false).unwrap().unwrap();
            assert_eq!((response.status, response.body.is_empty(), response.keeps_alive), (403, true, true), "{text}");
        }
    }

    #[test]
    fn bad_ones_are_unreadable_and_long_ones_too_large() {
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(MAX_FIELDS + 1));
        let long = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(MAX_HEAD_BYTES));
        let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(MAX_INTERIM + 1);
        for text in [
            "rubbish",
            "HTTP/1.1 101 Switching Protocols\r\n\r\n",
            "HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi!",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nhi",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi!!",
            &interim,
        ] {
            assert_eq!(read(text.as_bytes(), false, false), Err(Failure::Unreadable), "{text}");
        }
        for text in [
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n",
            &many,
            &long,
        ] {
            assert_eq!(read(text.as_bytes(), false, false), Err(Failure::TooLarge), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), good in 0..GOOD.len(), at in any::<prop::sample::Index>()) {
            let _ = read(&bytes, false, true);
            let mut changed = GOOD[good].0.as_bytes().to_vec();
            let at = at.index(changed.len());
            changed.splice(at..at, bytes);
            let _ = (read(&changed, false, false), read(&changed, true, true));
        }
    }
}
