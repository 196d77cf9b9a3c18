//! Requests that are dear for an engine of rules: many values, long values, and values on which a backtracking
//! expression or a tokenizer has to begin again and again.
//!
//! Every value has a number in it that never comes twice, so nothing can be remembered from an earlier request.

use weir_measure::http::encode;
use weir_measure::random::Random;

/// A hostile request.
pub struct Hostile {
    /// Its name in the results.
    pub name: &'static str,
    /// The request with a number in each value.
    make: fn(u64) -> Message,
}

/// The header fields that differ, and the body.
struct Message {
    fields: String,
    body: String,
}

/// Bytes of a single long value.
const LONG: usize = 128 * 1024;
/// Bytes of a header field: nginx takes lines up to 8 kB.
const HEADER: usize = 7_900;

/// The table.
pub const REQUESTS: &[Hostile] = &[
    hostile("form-quotes-128k", |n| {
        let field = |i: usize| format!("f{i}={n}.{i}+{}", "'a=b'\"".repeat(640 / 6));
        Message::form((0..190).map(field).collect::<Vec<_>>().join("&"))
    }),
    hostile("form-prose-1m", |n| prose(n, 1_000_000)),
    hostile("form-fields-4200", |n| form(4_200, |i| format!("{n}{} {i}", OPENERS[i % OPENERS.len()]))),
    hostile("json-10000", |n| {
        let leaf = |i: usize| format!("\"k{i}\":\"Bilderrahmen {n}.{i}, 5\\\" x 7\\\" (schwarz)\"");
        let items: Vec<String> =
            (0..1_000).map(|i| (i * 10..i * 10 + 10).map(leaf).collect::<Vec<_>>().join(",")).collect();
        Message::new("application/json", format!("{{\"items\":[{{{}}}]}}", items.join("},{")))
    }),
    hostile("xml-500k", |n| {
        let text = "oak &lt;chair&gt; \"for two\" ".repeat(4);
        let node = |i: usize| format!("<item id=\"{n}-{i}\" name=\"{i} o'clock\"><text>{n}.{i} {text}</text></item>");
        Message::new("text/xml", format!("<order>{}</order>", (0..3_300).map(node).collect::<String>()))
    }),
    hostile("header-quotes-8k", |n| {
        let quotes = format!("{n}{}", "'\"".repeat(HEADER / 2 - 20));
        Message { fields: format!("X-Search: {quotes}\r\nCookie: a={quotes}\r\n"), body: String::new() }
    }),
    hostile("value-entities", |n| value(n, "&#x61;")),
    hostile("value-percent", |n| raw(n, "%25%36%31", LONG / 9)),
    hostile("value-comments", |n| value(n, "/*")),
    hostile("value-backslashes", |n| value(n, "\\")),
    hostile("value-base64", |n| value(n, "PHNjcmlwdD5hbGVydCgx")),
    hostile("value-links", |n| value(n, "<a href=")),
    hostile("value-sql", |n| value(n, "1 or 1=1 union select ")),
    hostile("value-having", |n| value(n, "having a=b ")),
];

/// Words that make many rules look closer.
const OPENERS: &[&str] = &[
    " select",
    " union",
    " order by",
    " exec",
    "<script",
    " or 1",
    "../",
    "; cat",
    "$(",
    "http://",
    "{{",
    "<?php",
    " and sleep(",
    "'--",
    "javascript:",
    "|ls",
];
const WORDS: &[&str] = &[
    "the", "of", "and", "order", "garden", "chair", "we", "it's", "select", "from", "table", "delivery", "when", "not",
    "isn't", "between", "like", "Friday", "a", "in", "where", "please", "or", "drop", "update", "system", "time", "by",
];
const SYLLABLES: &[&str] = &["ba", "den", "ri", "tol", "ma", "ness", "ver", "ing", "ca", "per", "son", "le"];
/// Different words in the prose.
const VOCABULARY: usize = 2_500;

const fn hostile(name: &'static str, make: fn(u64) -> Message) -> Hostile {
    Hostile { name, make }
}

impl Hostile {
    /// The bytes on the wire; `number` must be another each time.
    #[must_use]
    pub fn bytes(&self, number: u64) -> Vec<u8> {
        let Message { fields, body } = (self.make)(number);
        format!(
            "POST /submit HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n\
             Accept: */*\r\n{fields}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }
}

impl Message {
    fn new(content_type: &str, body: String) -> Self {
        Self { fields: format!("Content-Type: {content_type}\r\n"), body }
    }

    fn form(body: String) -> Self {
        Self::new("application/x-www-form-urlencoded", body)
    }
}

fn form(fields: usize, value: impl Fn(usize) -> String) -> Message {
    Message::form((0..fields).map(|i| format!("f{i}={}", encode(&value(i)))).collect::<Vec<_>>().join("&"))
}

/// One field whose decoded value consists of `piece` again and again.
fn value(number: u64, piece: &str) -> Message {
    raw(number, &encode(piece), LONG / piece.len())
}

/// The same of a piece that is encoded already.
fn raw(number: u64, piece: &str, times: usize) -> Message {
    Message::form(format!("q={number}+{}", piece.repeat(times)))
}

/// English with punctuation from a vocabulary of [`VOCABULARY`] words, in fields of about 14 kB.
fn prose(number: u64, bytes: usize) -> Message {
    let mut random = Random::new(number);
    let vocabulary: Vec<String> = (0..VOCABULARY)
        .map(|i| match WORDS.get(i) {
            Some(word) => (*word).to_owned(),
            None => (0..2 + i % 3).map(|_| *random.pick(SYLLABLES)).collect(),
        })
        .collect();
    let mut body = format!("f0={number}");
    for word in 1.. {
        if body.len() > bytes {
            break;
        }
        if word % VOCABULARY == 0 {
            body.push_str(&format!("&f{word}={number}"));
        }
        let common = random.chance(50);
        let chosen = if common { random.below(WORDS.len()) } else { random.below(VOCABULARY) };
        body.push('+');
        body.push_str(&encode(&vocabulary[chosen]));
        body.push_str(match word % 13 {
            5 => "%2C",
            9 => ".",
            12 => "+%28or+%22so%22%29%3B",
            _ => "",
        });
    }
    Message::form(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_whole_and_never_the_same() {
        for hostile in REQUESTS {
            let text = String::from_utf8(hostile.bytes(7)).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").expect(hostile.name);
            assert!(head.contains(&format!("Content-Length: {}", body.len())), "{}", hostile.name);
            assert!(text.len() > 2 * HEADER && text.len() < 2 << 20, "{}: {}", hostile.name, text.len());
            assert_ne!(hostile.bytes(8), hostile.bytes(7), "{}", hostile.name);
        }
    }
}
