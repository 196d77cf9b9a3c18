//! Signed requests with bodies that no other request has.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::client::{APP, Client};
use weir_auth::Unsigned;
use weir_measure::error::MeasureError;
use weir_measure::random::Random;
use weir_measure::site::Site;
use weir_measure::wrk;

/// Requests of a turn. A fast row sends them several times in a turn; an engine that remembered as many bodies would
/// pay for it with memory.
const COUNT: usize = 20_000;
/// Least length of a body in bytes.
const BODY_BYTES: usize = 1_000;
/// The host.
const AUTHORITY: &str = "www.example.com";
/// Names of products.
const WORDS: [&str; 8] =
    ["Blue widget", "Garden chair", "Oak table", "Lamp", "蓝色小部件", "花园椅子", "橡木桌", "台灯"];
/// The first Chinese character of the tokens, and how many there are (U+4E00 to U+9FA5).
const CJK: (u32, usize) = (0x4E00, 20_902);

/// A request whose parts can still be changed.
#[derive(Clone, Debug)]
pub struct SignedRequest {
    /// The method.
    pub method: &'static str,
    /// The target.
    pub target: String,
    /// Header fields without `Host` and `Content-Length`.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// Makes requests of a client.
#[derive(Debug)]
pub struct Maker {
    client: &'static Client,
    random: Random,
}

impl Maker {
    /// A maker whose requests no other has made.
    #[must_use]
    pub fn new(client: &'static Client) -> Self {
        Self { client, random: Random::new(since_epoch().as_nanos() as u64) }
    }

    /// Makes one.
    pub fn make(&mut self) -> Result<SignedRequest, MeasureError> {
        let Self { client, random } = self;
        let target = format!("/s{}/orders?page={}", 1 + random.below(client.selectors), random.below(1000));
        let mut headers: Vec<(String, String)> = [
            ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0"),
            ("accept", "application/json"),
            ("content-type", "application/json"),
            ("x-app-id", APP),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let body = body(random);
        let unsigned = Unsigned {
            method: "POST",
            is_tls: false,
            authority: AUTHORITY,
            target: &target,
            headers: &headers,
            body: body.as_bytes(),
            now_ms: since_epoch().as_millis() as u64,
            random: std::array::from_fn(|_| random.below(256) as u8),
        };
        let signed = (client.sign)(&unsigned);
        let signed =
            signed.map_err(|why| MeasureError::wrong(client.name, format!("a request cannot be signed: {why}")))?;
        headers.retain(|(name, _)| !signed.iter().any(|(added, _)| added.eq_ignore_ascii_case(name)));
        headers.extend(signed);
        Ok(SignedRequest { method: "POST", target, headers, body })
    }
}

impl SignedRequest {
    /// The bytes on the wire.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let Self { method, target, headers, body } = self;
        let fields: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let length = body.len();
        format!("{method} {target} HTTP/1.1\r\nHost: {AUTHORITY}\r\n{fields}Content-Length: {length}\r\n\r\n{body}")
            .into()
    }

    /// Changes a character of what is signed.
    pub fn tamper(&mut self, client: &Client) {
        let signed = match self.headers.iter_mut().find(|(name, _)| name == "authorization") {
            Some((_, token)) if !client.covers_body => token,
            Some(_) | None => &mut self.body,
        };
        let middle = signed.char_indices().map(|(at, _)| at).filter(|at| *at > signed.len() / 2);
        let at = middle.into_iter().find(|at| signed.as_bytes()[*at].is_ascii_alphanumeric());
        let at = at.expect("tokens and bodies have letters in their second half");
        let other = if signed.as_bytes()[at] == b'A' { "B" } else { "A" };
        signed.replace_range(at..=at, other);
    }
}

/// Writes the requests of a turn.
pub fn write(site: &Site, client: &'static Client) -> Result<(), MeasureError> {
    let mut maker = Maker::new(client);
    let mut all = Vec::new();
    for _ in 0..COUNT {
        let request = maker.make()?.bytes();
        all.extend_from_slice(format!("{}\n", request.len()).as_bytes());
        all.extend_from_slice(&request);
    }
    let directory = site.directory_of(wrk::REQUESTS)?;
    write_file(&directory.join(client.name), &all)
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), MeasureError> {
    std::fs::write(path, bytes).map_err(MeasureError::file(path))
}

/// An order as JSON.
fn body(random: &mut Random) -> String {
    let mut body = format!(r#"{{"order":"{:010x}","items":["#, random.below(1 << 40));
    while body.len() < BODY_BYTES {
        let word = random.pick(&WORDS);
        let note: String = (0..12).filter_map(|_| char::from_u32(CJK.0 + random.below(CJK.1) as u32)).collect();
        let [sku, size, amount] = [(); 3].map(|()| random.below(1 << 40));
        let _ = write!(body, r#"{{"sku":"{sku:010x}","name":"{word} {size}","note":"{note}","amount":{amount}.50}},"#);
    }
    body.pop();
    body + "]}"
}

fn since_epoch() -> std::time::Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::client::{JWT, SORTED_TOKENS};
    use super::*;

    #[test]
    fn bodies_are_json_of_a_kilobyte_and_never_the_same() {
        let mut random = Random::new(1);
        let (first, second) = (body(&mut random), body(&mut random));
        serde_json::from_str::<serde_json::Value>(&first).unwrap();
        assert!((BODY_BYTES..BODY_BYTES + 200).contains(&first.len()), "{}", first.len());
        assert_ne!(first, second);
    }

    #[test]
    fn tampering_changes_the_body_or_the_token_and_no_length() {
        for client in [&SORTED_TOKENS, &JWT] {
            let request = Maker::new(client).make().unwrap();
            let mut tampered = request.clone();
            tampered.tamper(client);
            assert_eq!(tampered.bytes().len(), request.bytes().len());
            assert_eq!(tampered.body != request.body, client.covers_body);
            assert_eq!(tampered.headers != request.headers, !client.covers_body);
        }
    }
}
