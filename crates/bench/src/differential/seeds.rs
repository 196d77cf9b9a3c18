//! CRS's regression cases as requests to begin with: whole ones, with their odd methods, headers
//! and bodies, which a generator of ordinary requests would never send.

use super::mutate::mutate;
use super::request::Request;
use crate::conformance::case::Case;
use weir_measure::random::Random;

/// Longer bodies make the test slow and nothing else.
const MAX_BODY: usize = 8000;
/// Share that is sent as it is, in per cent.
const UNCHANGED: usize = 30;

/// The cases that are requests which a parser would accept.
#[must_use]
pub fn collect(cases: &[Case]) -> Vec<Request> {
    cases.iter().flat_map(|case| &case.stages).filter_map(|stage| parse(&stage.request)).collect()
}

/// One of them, usually with a piece of its target, a header or its body mutated.
#[must_use]
pub fn varied(seeds: &[Request], random: &mut Random) -> Request {
    let mut request = random.pick(seeds).clone();
    if random.chance(UNCHANGED) {
        return request;
    }
    let headers = request.headers.len();
    match random.below(3) {
        0 if !request.body.is_empty() => {
            request.body = piece_mutated(&request.body, random);
            request.set("Content-Length", request.body.len().to_string().into_bytes());
        }
        1 if headers > 0 => {
            let (_, value) = &mut request.headers[random.below(headers)];
            *value = piece_mutated(value, random);
            value.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
            *value = value.trim_ascii().to_vec();
        }
        _ => {
            request.target = piece_mutated(&request.target, random);
            request.target.retain(|&byte| byte > b' ' && byte != 0x7F && byte != b'#');
            if !request.target.starts_with(b"/") {
                request.target.insert(0, b'/');
            }
        }
    }
    request
}

fn piece_mutated(value: &[u8], random: &mut Random) -> Vec<u8> {
    let from = random.below(value.len() + 1);
    let to = from + random.below(value.len() - from + 1);
    [&value[..from], &mutate(&value[from..to], random), &value[to..]].concat()
}

/// A request from its bytes; `None` if it is none that both engines would get from nginx.
fn parse(bytes: &[u8]) -> Option<Request> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let body = &bytes[end + 4..];
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?.strip_prefix("HTTP/")?);
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| (0x21..0x7F).contains(&byte));
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    let fits = is_method && target.starts_with('/') && plain(target) && matches!(version, "1.0" | "1.1");
    if !fits || words.next().is_some() || body.len() > MAX_BODY {
        return None;
    }
    let mut headers = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').filter(|(name, _)| plain(name))?;
        if value.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return None;
        }
        headers.push((name.to_owned(), value.trim().as_bytes().to_vec()));
    }
    Some(Request {
        method: method.to_owned(),
        target: target.as_bytes().to_vec(),
        version: version.to_owned(),
        headers,
        body: body.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_requests_are_read_and_broken_ones_left_out() {
        let request = parse(b"POST /a?b HTTP/1.0\r\nHost: x:1\r\nA:  b \r\n\r\nbody").unwrap();
        assert_eq!(request.shown(), "POST /a?b HTTP/1.0\nHost: x:1\nA: b\n\nbody");
        for broken in [
            "",
            "GET / HTTP/1.1\r\n",
            "GET / a HTTP/1.1\r\n\r\n",
            "|GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nx\r\n\r\n",
        ] {
            assert!(parse(broken.as_bytes()).is_none(), "{broken}");
        }
    }

    #[test]
    fn variations_stay_requests() {
        let seeds = [parse(b"POST /a?b=c HTTP/1.1\r\nHost: x\r\nA: b c\r\n\r\nd=e&f=g").unwrap()];
        let mut random = Random::new(3);
        let all: Vec<Request> = (0..500).map(|_| varied(&seeds, &mut random)).collect();
        assert!(all.iter().filter(|request| **request != seeds[0]).count() > 150);
        for request in &all {
            assert!(request.target.starts_with(b"/") && request.target.iter().all(|&byte| byte > b' '));
            assert!(request.headers.iter().all(|(_, value)| !value.contains(&b'\n')), "{}", request.shown());
        }
    }
}
