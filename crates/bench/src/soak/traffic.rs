//! What a public site receives: browsers, API clients, uploads, attacks, and rubbish.
//!
//! One table: each kind has a weight, the statuses that are right for it, and how its bytes are
//! made from a number. Kinds are drawn from a seeded generator, so that a failing soak can be
//! repeated.

use crate::check;
use crate::hostile::requests::REQUESTS;
use crate::request::Request;
use crate::rules::RULES;
use weir_measure::addresses::LISTED;
use weir_measure::http::encode;

/// The way in which a request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Whole; the answer is waited for.
    Whole,
    /// Whole; the server may answer or just close.
    Broken,
    /// A part of it, and then the client hangs up.
    Abandoned,
}

/// A kind of request.
pub struct RequestKind {
    /// Its name in reports.
    pub name: &'static str,
    /// How many of [`total_weight`] requests are of this kind.
    pub weight: u32,
    /// Statuses that are right; 0 stands for no answer.
    pub right: &'static [u16],
    /// The way in which it is sent.
    pub delivery: Delivery,
    /// Its bytes for a random number.
    pub bytes: fn(u64) -> Vec<u8>,
}

const PASSED: &[u16] = &[200];
const BLOCKED: &[u16] = &[403];
/// Some hostile requests hold an attack. None may go unanswered.
const HANDLED: &[u16] = &[200, 403];
/// nginx refuses, or a rule about anomalies blocks, or the connection is closed.
const REFUSED: &[u16] = &[400, 403, 405, 414, 431, 494, 501, 505, 0];

/// The table.
pub const KINDS: &[RequestKind] = &[
    kind("get", 20, PASSED, |n| get(&format!("/products/{}?page={}", n % 1000, n % 40))),
    kind("form", 25, PASSED, |n| form_of(n, 60)),
    kind("form of 10 kB", 5, PASSED, |n| form_of(n, 10_000)),
    kind("form of 100 kB", 1, PASSED, |n| form_of(n, 100_000)),
    kind("form past the body limit", 1, PASSED, |n| form_of(n, 300_000)),
    kind("json", 6, PASSED, |n| post("application/json", &json(n))),
    kind("multipart", 5, PASSED, multipart),
    kind("xml", 2, PASSED, |n| {
        post("text/xml", format!("<order id=\"{n}\"><item>oak chair</item></order>").as_bytes())
    }),
    kind("chunked", 3, PASSED, chunked),
    kind("http/1.0", 2, PASSED, |n| {
        format!("GET /old/{n} HTTP/1.0\r\nHost: www.example.com\r\nUser-Agent: {AGENT}\r\n\r\n").into()
    }),
    kind("attack", 15, BLOCKED, attack),
    kind("hostile", 1, HANDLED, |n| REQUESTS[n as usize % REQUESTS.len()].bytes(n)),
    kind("listed address", 2, BLOCKED, |_| Request { client: LISTED.to_string(), ..Request::default() }.bytes()),
    kind("large header", 3, PASSED, |n| with_header("X-Large", &"a".repeat(4_000 + n as usize % 3_000))),
    kind("many headers", 1, PASSED, many_headers),
    kind("many arguments", 1, PASSED, many_arguments),
    kind("invalid UTF-8", 3, PASSED, |n| get(&format!("/search?q=%ff%fe%c3%28{n}&%80=%80"))),
    kind("bad percent", 1, PASSED, |n| get(&format!("/search?q=%zz%{n}%&a=%u0041"))),
    RequestKind {
        name: "header too large",
        weight: 1,
        right: REFUSED,
        delivery: Delivery::Broken,
        bytes: |_| with_header("X-Huge", &"a".repeat(40_000)),
    },
    RequestKind { name: "rubbish", weight: 1, right: REFUSED, delivery: Delivery::Broken, bytes: rubbish },
    RequestKind {
        name: "NUL in header",
        weight: 1,
        right: REFUSED,
        delivery: Delivery::Broken,
        bytes: |_| with_header("X-Nul", "a\0b"),
    },
    RequestKind { name: "abandoned body", weight: 2, right: &[0], delivery: Delivery::Abandoned, bytes: abandoned },
];

const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0";

const fn kind(name: &'static str, weight: u32, right: &'static [u16], bytes: fn(u64) -> Vec<u8>) -> RequestKind {
    RequestKind { name, weight, right, delivery: Delivery::Whole, bytes }
}

/// Sum of all weights.
#[must_use]
pub fn total_weight() -> u32 {
    KINDS.iter().map(|kind| kind.weight).sum()
}

/// The kind for a random number.
#[must_use]
pub fn draw(random: u64) -> &'static RequestKind {
    let mut place = u32::try_from(random % u64::from(total_weight())).unwrap_or(0);
    for kind in KINDS {
        if place < kind.weight {
            return kind;
        }
        place -= kind.weight;
    }
    unreachable!("the place is below the sum of the weights")
}

fn message(line: &str, fields: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "{line} HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: {AGENT}\r\nAccept: */*\r\n\
         Cookie: sid=0123456789abcdef; theme=light\r\nX-Forwarded-For: 20.30.40.50\r\n{fields}\r\n"
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

fn get(target: &str) -> Vec<u8> {
    message(&format!("GET {target}"), "", b"")
}

fn with_header(name: &str, value: &str) -> Vec<u8> {
    message("GET /header", &format!("{name}: {value}\r\n"), b"")
}

fn post(content_type: &str, body: &[u8]) -> Vec<u8> {
    message("POST /submit?a=1", &format!("Content-Type: {content_type}\r\nContent-Length: {}\r\n", body.len()), body)
}

fn form_of(number: u64, size: usize) -> Vec<u8> {
    let mut body = format!("name=Ada+Lovelace&city=London&order={number}");
    let mut field = 0;
    while body.len() < size {
        field += 1;
        body.push_str(&format!("&field{field}=some+words+about+garden+chairs+{number}"));
    }
    post("application/x-www-form-urlencoded", body.as_bytes())
}

fn json(number: u64) -> Vec<u8> {
    let items: Vec<String> =
        (0..number % 50).map(|item| format!("{{\"id\":{item},\"name\":\"chair {item}\"}}")).collect();
    format!("{{\"order\":{number},\"items\":[{}]}}", items.join(",")).into_bytes()
}

fn multipart(number: u64) -> Vec<u8> {
    let file = "picture".repeat(1 + number as usize % 2_000);
    let body = format!(
        "--edge\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nGarden {number}\r\n\
         --edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n{file}\r\n--edge--\r\n"
    );
    post("multipart/form-data; boundary=edge", body.as_bytes())
}

fn chunked(number: u64) -> Vec<u8> {
    let piece = format!("note={}", "a".repeat(1 + number as usize % 3_000));
    let body = format!("{:x}\r\n{piece}\r\n6\r\n&b=two\r\n0\r\n\r\n", piece.len());
    message(
        "POST /chunked",
        "Content-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n",
        body.as_bytes(),
    )
}

fn attack(number: u64) -> Vec<u8> {
    let rule = &RULES[number as usize % RULES.len()];
    let text = String::from_utf8_lossy(&check::attack(rule.subject, rule.attack).bytes()).into_owned();
    // Attackers keep their connections too.
    text.replacen("Connection: close\r\n", "", 1).into_bytes()
}

fn many_headers(_: u64) -> Vec<u8> {
    let fields: String = (0..150).map(|index| format!("X-Field-{index}: value {index}\r\n")).collect();
    message("GET /headers", &fields, b"")
}

fn many_arguments(number: u64) -> Vec<u8> {
    let arguments: Vec<String> = (0..500).map(|index| format!("a{index}={}", (number + index) % 97)).collect();
    get(&format!("/search?{}", arguments.join("&")))
}

fn rubbish(number: u64) -> Vec<u8> {
    let starts: [&[u8]; 5] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: a\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
    ];
    starts[number as usize % starts.len()].to_vec()
}

fn abandoned(number: u64) -> Vec<u8> {
    let value = encode(&"half a form ".repeat(20));
    message(
        "POST /abandoned",
        &format!("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n", 5_000 + number % 50_000),
        value.as_bytes(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_drawn_as_often_as_its_weight_says() {
        let total = u64::from(total_weight());
        for kind in KINDS {
            let drawn = (0..total).filter(|&number| draw(number).name == kind.name).count();
            assert_eq!(drawn, kind.weight as usize, "{}", kind.name);
        }
    }

    #[test]
    fn whole_requests_are_well_formed() {
        for kind in KINDS.iter().filter(|kind| kind.delivery == Delivery::Whole) {
            let bytes = (kind.bytes)(12_345);
            let text = String::from_utf8_lossy(&bytes);
            let (head, body) = text.split_once("\r\n\r\n").expect(kind.name);
            if let Some(length) = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")) {
                assert_eq!(length.parse::<usize>().unwrap(), body.len(), "{}", kind.name);
            }
        }
    }
}
