//! Requests of every kind that a site sees, about half of them with an attack somewhere.
//!
//! Purely random bytes would test only parsers, and the regression cases alone only what their
//! authors thought of. So requests are built as browsers and clients build them, and values in
//! any place of them are exchanged for attacks, as found or mutated.

use super::escape::{escape, json_string, xml_text};
use super::mutate::mutate;
use super::request::Request;
use super::seeds;
use super::words::{AGENTS, NAMES, PATHS, WORDS};
use weir_measure::random::Random;

/// Share of the requests that carry an attack, in per cent.
const ATTACKS: usize = 55;
/// Share of the requests that are whole ones, varied, in per cent.
const SEEDED: usize = 15;
/// Share of the attacks that are mutated.
const MUTATED: usize = 60;
const BOUNDARY: &str = "----WebKitFormBoundary7MA4YWxkTrZu0gW";

/// A generator of requests.
pub struct Generator {
    random: Random,
    payloads: Vec<Vec<u8>>,
    seeds: Vec<Request>,
    attack: bool,
}

impl Generator {
    /// Begins with a seed, the attacks to choose from, of which there must be one, and whole
    /// requests to vary, if there are any.
    #[must_use]
    pub fn new(seed: u64, payloads: Vec<Vec<u8>>, seeds: Vec<Request>) -> Self {
        assert!(!payloads.is_empty(), "our own payloads are always there");
        Self { random: Random::new(seed), payloads, seeds, attack: false }
    }

    /// The next request.
    pub fn request(&mut self) -> Request {
        if !self.seeds.is_empty() && self.random.chance(SEEDED) {
            return seeds::varied(&self.seeds, &mut self.random);
        }
        self.attack = self.random.chance(ATTACKS);
        let mut request = self.head();
        type Kind = fn(&mut Generator, &mut Request);
        const KINDS: [(usize, Kind); 7] = [
            (34, |_, _| {}),
            (26, Generator::form),
            (14, Generator::json),
            (12, Generator::multipart),
            (6, Generator::xml),
            (3, Generator::opaque),
            (5, Generator::odd),
        ];
        let mut left = self.random.below(100);
        for (share, kind) in KINDS {
            if left < share {
                kind(self, &mut request);
                break;
            }
            left -= share;
        }
        if !request.body.is_empty() && !request.headers.iter().any(|(name, _)| name == "Transfer-Encoding") {
            request.set("Content-Length", request.body.len().to_string().into_bytes());
        }
        request
    }

    fn head(&mut self) -> Request {
        let mut target = self.random.pick(PATHS).as_bytes().to_vec();
        if self.attack && self.random.chance(6) {
            target.push(b'/');
            target.extend(self.url_value());
        }
        if self.random.chance(70) {
            target.push(b'?');
            target.extend(self.pairs());
        }
        target.retain(|&byte| byte > b' ' && byte != 0x7F);
        let mut request =
            Request { method: "GET".into(), target, version: "1.1".into(), headers: Vec::new(), body: Vec::new() };
        request.set("Host", b"www.example.com".to_vec());
        let agent = self.header_value(AGENTS, 5);
        request.set("User-Agent", agent);
        request.set("Accept", b"text/html,application/xhtml+xml;q=0.9,*/*;q=0.8".to_vec());
        request.set("Accept-Language", b"en-GB,en;q=0.8,de;q=0.5".to_vec());
        request.set("Accept-Encoding", b"gzip, deflate, br".to_vec());
        if self.random.chance(60) {
            let cookie = self.cookie();
            request.set("Cookie", cookie);
        }
        if self.random.chance(40) {
            let referer =
                self.header_value(&["https://www.example.com/", "https://www.google.com/search?q=garden+chair"], 6);
            request.set("Referer", referer);
        }
        if self.random.chance(15) {
            let value = self.header_value(&["XMLHttpRequest", "1", "203.0.113.7"], 25);
            let name =
                *self.random.pick(&["X-Requested-With", "X-Forwarded-For", "X-Custom", "Origin", "If-None-Match"]);
            request.set(name, value);
        }
        request
    }

    /// A word, or an attack in one of a few cases if this request carries one.
    fn value(&mut self, attack_percent: usize) -> Vec<u8> {
        if !(self.attack && self.random.chance(attack_percent)) {
            return self.random.pick(WORDS).as_bytes().to_vec();
        }
        let payload = self.random.pick(&self.payloads);
        if self.random.chance(MUTATED) { mutate(payload, &mut self.random) } else { payload.clone() }
    }

    /// The same for a URL: usually escaped, at times as it is.
    fn url_value(&mut self) -> Vec<u8> {
        let value = self.value(30);
        if self.random.chance(12) {
            return value.into_iter().filter(|&byte| byte > b' ' && byte != b'&' && byte != b'#').collect();
        }
        escape(&value)
    }

    fn header_value(&mut self, usual: &[&str], attack_percent: usize) -> Vec<u8> {
        let mut value = if self.attack && self.random.chance(attack_percent) {
            self.value(100)
        } else {
            self.random.pick(usual).as_bytes().to_vec()
        };
        value.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
        value.trim_ascii().to_vec()
    }

    fn pairs(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        for index in 0..=self.random.below(6) {
            if index > 0 {
                out.push(b'&');
            }
            if self.attack && self.random.chance(4) {
                out.extend(self.url_value());
            } else {
                out.extend(escape(self.random.pick(NAMES).as_bytes()));
            }
            if !self.random.chance(3) {
                out.push(b'=');
                out.extend(self.url_value());
            }
        }
        out
    }

    fn cookie(&mut self) -> Vec<u8> {
        let mut out = b"sid=0123456789abcdef".to_vec();
        for _ in 0..self.random.below(4) {
            out.extend_from_slice(b"; ");
            out.extend_from_slice(self.random.pick(&["theme", "_ga", "cart", "consent", "pref"]).as_bytes());
            out.push(b'=');
            let value = if self.random.chance(50) { self.url_value() } else { self.value(20) };
            out.extend(value.into_iter().filter(|byte| !matches!(byte, b'\r' | b'\n' | 0 | b';')));
        }
        out
    }

    fn post(&mut self, request: &mut Request, content_type: &str, body: Vec<u8>) {
        request.method = (*if self.random.chance(8) { self.random.pick(&["PUT", "PATCH"]) } else { &"POST" }).into();
        request.set("Content-Type", content_type.as_bytes().to_vec());
        request.body = body;
    }

    fn form(&mut self, request: &mut Request) {
        let body = self.pairs();
        let kind = *self.random.pick(&[
            "application/x-www-form-urlencoded",
            "application/x-www-form-urlencoded",
            "application/x-www-form-urlencoded; charset=UTF-8",
        ]);
        self.post(request, kind, body);
    }

    fn json(&mut self, request: &mut Request) {
        let mut body = self.json_value(3);
        if self.random.chance(5) {
            body.truncate(self.random.below(body.len() + 1));
        }
        let kind = *self.random.pick(&["application/json", "application/json; charset=utf-8", "application/json"]);
        self.post(request, kind, body);
    }

    fn json_value(&mut self, depth: usize) -> Vec<u8> {
        if depth == 0 || self.random.chance(30) {
            return match self.random.below(5) {
                0 => self.random.below(100_000).to_string().into_bytes(),
                1 => b"true".to_vec(),
                2 => b"null".to_vec(),
                _ => json_string(&self.value(35)),
            };
        }
        let is_map = self.random.chance(70);
        let mut out = vec![if is_map { b'{' } else { b'[' }];
        for index in 0..self.random.below(5) {
            if index > 0 {
                out.push(b',');
            }
            if is_map {
                let key = if self.attack && self.random.chance(3) {
                    self.value(100)
                } else {
                    self.random.pick(NAMES).as_bytes().to_vec()
                };
                out.extend(json_string(&key));
                out.push(b':');
            }
            out.extend(self.json_value(depth - 1));
        }
        out.push(if is_map { b'}' } else { b']' });
        out
    }

    fn multipart(&mut self, request: &mut Request) {
        let mut body = Vec::new();
        for index in 0..=self.random.below(4) {
            body.extend_from_slice(format!("--{BOUNDARY}\r\n").as_bytes());
            let mut value = self.value(30);
            if self.random.chance(35) {
                let mut name =
                    if self.attack && self.random.chance(15) { self.value(100) } else { b"photo.jpg".to_vec() };
                name.retain(|byte| !matches!(byte, b'\r' | b'\n' | b'"' | 0));
                body.extend_from_slice(
                    format!("Content-Disposition: form-data; name=\"file{index}\"; filename=\"").as_bytes(),
                );
                body.extend(name);
                body.extend_from_slice(b"\"\r\nContent-Type: image/jpeg\r\n\r\n");
                value.extend((0..self.random.below(400)).map(|_| u8::try_from(self.random.below(256)).unwrap_or(0)));
            } else {
                let name = *self.random.pick(NAMES);
                body.extend_from_slice(format!("Content-Disposition: form-data; name=\"{name}\"\r\n\r\n").as_bytes());
            }
            body.extend(value);
            body.extend_from_slice(b"\r\n");
        }
        if !self.random.chance(4) {
            body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
        }
        self.post(request, &format!("multipart/form-data; boundary={BOUNDARY}"), body);
    }

    fn xml(&mut self, request: &mut Request) {
        let mut body = b"<?xml version=\"1.0\"?><order>".to_vec();
        for _ in 0..=self.random.below(4) {
            let (text, attribute) = (xml_text(&self.value(35)), xml_text(&self.value(20)));
            body.extend([b"<item note=\"", attribute.as_slice(), b"\">", &text, b"</item>"].concat());
        }
        body.extend_from_slice(if self.random.chance(4) { b"</ordre>" } else { b"</order>" });
        let kind = *self.random.pick(&["text/xml", "application/xml", "application/soap+xml"]);
        self.post(request, kind, body);
    }

    fn opaque(&mut self, request: &mut Request) {
        let body = self.value(60);
        let kind = *self.random.pick(&["text/plain", "application/octet-stream", "application/x-amf", "text/html"]);
        self.post(request, kind, body);
    }

    /// Protocol oddities: what rules of file 920 look for.
    fn odd(&mut self, request: &mut Request) {
        match self.random.below(9) {
            0 => {
                request.method = (*self.random.pick(&["TRACE", "PROPFIND", "OPTIONS", "HEAD", "DELETE", "JEFF"])).into()
            }
            1 => request.headers.retain(|(name, _)| name != "Host"),
            2 => request.set("Host", b"192.0.2.1:8080".to_vec()),
            3 => request.headers.retain(|(name, _)| name != "Accept" && name != "User-Agent"),
            4 => request.set("Range", b"bytes=1-2,3-4,5-6,7-8,9-10,11-12".to_vec()),
            5 => request.set("Content-Type", self.random.pick(WORDS).as_bytes().to_vec()),
            6 => request.version = "1.0".into(),
            7 => request.set("Transfer-Encoding", b"chunked".to_vec()),
            _ => {
                request.set("Connection", b"keep-alive, close".to_vec());
                request.set("Content-Encoding", b"gzip".to_vec());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_requests_of_every_kind() {
        let payloads = super::super::payloads::collect(&[]);
        let series = |seed| {
            let mut generator = Generator::new(seed, payloads.clone(), Vec::new());
            (0..2000).map(|_| generator.request()).collect::<Vec<_>>()
        };
        let all = series(7);
        assert_eq!(all, series(7));
        for kind in ["urlencoded", "json", "multipart", "xml", "text/plain"] {
            let of = |request: &Request| {
                request
                    .headers
                    .iter()
                    .any(|(name, value)| name == "Content-Type" && String::from_utf8_lossy(value).contains(kind))
            };
            assert!(all.iter().filter(|request| of(request)).count() > 5, "{kind}");
        }
        for request in &all {
            assert!(request.target.iter().all(|&byte| byte > b' '), "{}", request.shown());
            assert!(
                request.headers.iter().all(|(_, value)| !value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)))
            );
        }
    }
}
