//! Raw HTTP/1 requests, one or several in a file, as `curl --trace`, a proxy or a person wrote them.
//!
//! Files go through editors and chats, so lines may end in CRLF or LF, and a body's length may
//! have changed on the way: what can be read is read, and what is odd becomes a note.

use super::recorded::{Recorded, version};

/// Header fields of one request.
const MAX_HEADERS: usize = 1000;

/// Reads one request after the other.
pub(super) struct Requests {
    bytes: Vec<u8>,
    at: usize,
    /// A position and the number of its line, from which others are counted.
    counted: (usize, usize),
    failed: bool,
}

impl Requests {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, at: 0, counted: (0, 1), failed: false }
    }

    /// The number of the line at a position not before the last one asked for.
    fn line_number(&mut self, at: usize) -> usize {
        let (from, line) = self.counted;
        let more = self.bytes[from.min(at)..at].iter().filter(|byte| **byte == b'\n').count();
        self.counted = (at, line + more);
        line + more
    }

    /// The line at the position, without its end, and where the next one begins.
    fn line(&self, at: usize) -> Option<(&[u8], usize)> {
        let rest = self.bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let (length, next) = match rest.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end, at + end + 1),
            None => (rest.len(), self.bytes.len()),
        };
        let line = &rest[..length];
        Some((line.strip_suffix(b"\r").unwrap_or(line), next))
    }

    fn request(&mut self) -> Option<Result<Recorded, String>> {
        while matches!(self.bytes.get(self.at), Some(b'\r' | b'\n')) {
            self.at += 1;
        }
        let begin = self.at;
        let (line, next) = self.line(begin)?;
        let line = line.to_vec();
        let place = format!("line {}", self.line_number(begin));
        let Some(mut request) = request_line(&line, &place) else {
            let shown = super::super::rules::said::text(&line, 60);
            return Some(Err(format!("{place}: expected a request line such as `GET / HTTP/1.1`, found `{shown}`")));
        };
        self.at = next;
        if let Err(error) = self.headers(&mut request) {
            return Some(Err(error));
        }
        self.body(&mut request);
        request.settle_host();
        Some(Ok(request))
    }

    fn headers(&mut self, request: &mut Recorded) -> Result<(), String> {
        while let Some((line, next)) = self.line(self.at) {
            let here = self.at;
            if line.is_empty() {
                self.at = next;
                return Ok(());
            }
            let line = line.to_vec();
            if line[0] == b' ' || line[0] == b'\t' {
                // Folded (RFC 9112, 5.2): nginx refuses it from clients, older tools write it.
                if let Some((_, value)) = request.headers.last_mut() {
                    value.push(b' ');
                    value.extend_from_slice(line.trim_ascii());
                }
            } else if let Some(colon) = line.iter().position(|byte| *byte == b':') {
                let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
                request.headers.push((name.to_vec(), value.to_vec()));
            } else {
                let shown = super::super::rules::said::text(&line, 60);
                return Err(format!("line {}: expected `Name: value`, found `{shown}`", self.line_number(here)));
            }
            if request.headers.len() > MAX_HEADERS {
                return Err(format!("line {}: more than {MAX_HEADERS} header fields", self.line_number(here)));
            }
            self.at = next;
        }
        Ok(())
    }

    fn body(&mut self, request: &mut Recorded) {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let chunked = request
            .header("transfer-encoding")
            .is_some_and(|value| value.trim_ascii().to_ascii_lowercase().ends_with(b"chunked"));
        let length = request.header("content-length").and_then(|value| std::str::from_utf8(value).ok()?.parse().ok());
        let length: Option<usize> = length;
        let (body, used, note) = match (chunked, length) {
            (true, _) => match dechunk(rest) {
                Some((body, used)) => (body, used, None),
                None => (rest.to_vec(), rest.len(), Some("the chunks cannot be read: all that follows is the body")),
            },
            (false, Some(length)) if length <= rest.len() => (rest[..length].to_vec(), length, None),
            (false, Some(_)) => (rest.to_vec(), rest.len(), Some("the body is shorter than Content-Length says")),
            (false, None) => {
                let text = rest.trim_ascii_start();
                let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
                if text.is_empty() || request_line(first.trim_ascii_end(), "").is_some() {
                    (Vec::new(), 0, None)
                } else {
                    let body = rest.strip_suffix(b"\n").unwrap_or(rest);
                    let body = body.strip_suffix(b"\r").unwrap_or(body);
                    let note = "there is no Content-Length: the rest of the file is the body";
                    (body.to_vec(), rest.len(), Some(note))
                }
            }
        };
        self.at += used;
        request.body = body;
        request.missing.extend(note.map(str::to_owned));
    }
}

impl Iterator for Requests {
    type Item = Result<Recorded, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let request = self.request()?;
        self.failed = request.is_err();
        Some(request)
    }
}

/// `GET / HTTP/1.1`, or HTTP/0.9's `GET /`.
fn request_line(line: &[u8], place: &str) -> Option<Recorded> {
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let (method, target) = (words.next()?, words.next()?);
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let last = words.next_back();
    let version = match last {
        Some(text) => version(text)?,
        None if method == b"GET" && target.starts_with(b"/") => weir_http::Version::Http09,
        None => return None,
    };
    if !method.iter().all(is_token) {
        return None;
    }
    // A target with spaces, as some attacks have it: nginx takes all but the last word for it.
    let begin =
        line.len() - line[line.iter().position(|byte| *byte != b' ')? + method.len()..].trim_ascii_start().len();
    let end = last.map_or(line.len(), |text| line.len() - text.len());
    let target = line.get(begin..end)?.trim_ascii_end();
    Some(Recorded::new(method, target, version, place.to_owned()))
}

/// A body from its chunks (RFC 9112, 7.1), and how many bytes they took.
fn dechunk(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut body = Vec::new();
    let mut at = 0;
    loop {
        let end = at + bytes.get(at..)?.iter().position(|byte| *byte == b'\n')?;
        let line = std::str::from_utf8(&bytes[at..end]).ok()?;
        let size = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
        at = end + 1;
        if size == 0 {
            break;
        }
        body.extend_from_slice(bytes.get(at..at.checked_add(size)?)?);
        at += size;
        at += usize::from(bytes.get(at) == Some(&b'\r'));
        at += usize::from(bytes.get(at) == Some(&b'\n'));
    }
    // Trailer fields, up to an empty line.
    loop {
        let rest = bytes.get(at..)?;
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { return Some((body, bytes.len())) };
        at += end + 1;
        if rest[..end].trim_ascii().is_empty() {
            return Some((body, at));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Vec<Recorded> {
        Requests::new(text.as_bytes().to_vec()).map(|request| request.expect("reads")).collect()
    }

    #[test]
    fn requests_come_one_after_the_other_with_any_line_end() {
        let text = "GET /a?b HTTP/1.1\nHost: X.example:80\n\nPOST /p HTTP/1.0\r\nContent-Length: 3\r\n\r\na=b\r\n\r\n\
                    POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nab\r\n1\r\nc\r\n0\r\n\r\nGET /last\n";
        let have: Vec<(String, String, String)> = read(text)
            .into_iter()
            .map(|request| {
                let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("is text");
                (text(request.target), text(request.host), text(request.body))
            })
            .collect();
        let want = [("/a?b", "X.example:80", ""), ("/p", "", "a=b"), ("/c", "", "abc"), ("/last", "", "")];
        assert_eq!(have, want.map(|(target, host, body)| (target.into(), host.into(), body.into())));
    }

    #[test]
    fn what_is_odd_about_a_body_is_said() {
        for (text, body, note) in [
            ("POST / HTTP/1.1\n\nx=1\n", "x=1", "no Content-Length"),
            ("POST / HTTP/1.1\nContent-Length: 9\n\nx=1", "x=1", "shorter than"),
            ("POST / HTTP/1.1\nTransfer-Encoding: chunked\n\nzz", "zz", "cannot be read"),
        ] {
            let requests = read(text);
            assert_eq!((requests.len(), requests[0].body.as_slice()), (1, body.as_bytes()), "{text}");
            assert!(requests[0].missing[0].contains(note), "{:?}", requests[0].missing);
        }
    }

    #[test]
    fn what_is_no_request_is_named_with_its_line() {
        for (text, want) in [
            ("\n\nhello\n", "line 3: expected a request line"),
            ("GET / HTTP/1.1\nbad\n\n", "line 2: expected `Name: value`"),
            ("GET / HTTP/1.9\n", "line 1: expected a request line"),
        ] {
            let error = Requests::new(text.as_bytes().to_vec()).next().expect("something").expect_err("fails");
            assert!(error.starts_with(want), "{error}");
        }
    }

    #[test]
    fn spaces_in_a_target_stay() {
        assert_eq!(read("GET /a b?c d HTTP/1.1\n\n")[0].target, b"/a b?c d");
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(Requests::new(bytes).count() < 400);
        }

        #[test]
        fn a_body_with_its_length_comes_back(body in proptest::collection::vec(any::<u8>(), 0..100)) {
            let mut text = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
            text.extend_from_slice(&body);
            text.extend_from_slice(b"\r\nGET /next HTTP/1.1\r\n\r\n");
            let requests: Vec<_> = Requests::new(text).map(|request| request.expect("reads")).collect();
            prop_assert_eq!(&requests[0].body, &body);
            prop_assert_eq!(requests[1].target.as_slice(), b"/next");
        }
    }
}
