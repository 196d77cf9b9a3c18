//! Requests of an access log, for replay: the combined format, or JSON objects, one on each line.
//!
//! Logs hold no bodies, so a `POST` is replayed with an empty one: rules over bodies look cheaper
//! than they are, and `docs/ablate.md` says so. What goes over the wire is checked, not copied: a
//! log holds what attackers sent, and a line break in it must not make a second request.

use std::path::Path;

use serde_json::{Map, Value};

use weir_measure::error::MeasureError;
use weir_policy::counted;

/// Most requests that are kept; a longer log is replayed from its beginning.
pub const MAX_REQUESTS: usize = 100_000;
/// Longest log that is read, in bytes.
const MAX_BYTES: u64 = 256 << 20;
/// Longest target or field that is sent; nginx refuses longer ones with its own defaults.
const MAX_FIELD: usize = 8_000;
/// Methods that are replayed. `HEAD` is not: its answers say a length and have no body.
const METHODS: [&str; 6] = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];
/// The host of requests whose line names none.
const HOST: &str = "www.example.com";

/// Keys that JSON logs use, in the order of preference.
const METHOD_KEYS: &[&str] = &["method", "request_method", "verb"];
const TARGET_KEYS: &[&str] = &["uri", "request_uri", "target", "url", "path"];
const ARGUMENT_KEYS: &[&str] = &["args", "query", "query_string"];
const HOST_KEYS: &[&str] = &["host", "http_host"];
const AGENT_KEYS: &[&str] = &["user_agent", "http_user_agent", "agent"];
const REFERER_KEYS: &[&str] = &["referer", "http_referer", "referrer"];
const COOKIE_KEYS: &[&str] = &["cookie", "http_cookie"];
const CLIENT_KEYS: &[&str] = &["client", "remote_addr", "client_ip"];

/// The requests of a log.
#[derive(Debug)]
pub struct Log {
    /// Requests as they go over the wire.
    pub requests: Vec<Vec<u8>>,
    /// Lines without a request that can be sent.
    pub skipped: usize,
}

/// One request of a log.
#[derive(Debug, Default, PartialEq)]
struct Logged {
    method: String,
    target: String,
    host: String,
    agent: String,
    referer: String,
    cookie: String,
    client: String,
}

/// Reads a log.
pub fn read(path: &Path) -> Result<Log, MeasureError> {
    let length = std::fs::metadata(path).map_err(MeasureError::file(path))?.len();
    if length > MAX_BYTES {
        let most = MAX_BYTES >> 20;
        return Err(MeasureError::Usage(format!(
            "{}: longer than {most} MiB; 100,000 lines (`head -n 100000`) are enough",
            path.display()
        )));
    }
    let bytes = std::fs::read(path).map_err(MeasureError::file(path))?;
    let log = parse(&String::from_utf8_lossy(&bytes));
    if log.requests.is_empty() {
        let lines = counted(log.skipped as usize, "line");
        return Err(MeasureError::Usage(format!(
            "{}: no request in {lines}: expected the combined format, or JSON objects with `method` and `uri`",
            path.display()
        )));
    }
    Ok(log)
}

/// Finds the requests in a log's text.
#[must_use]
pub fn parse(text: &str) -> Log {
    let mut log = Log { requests: Vec::new(), skipped: 0 };
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if log.requests.len() == MAX_REQUESTS {
            break;
        }
        match logged(line).as_ref().and_then(Logged::bytes) {
            Some(bytes) => log.requests.push(bytes),
            None => log.skipped += 1,
        }
    }
    log
}

fn logged(line: &str) -> Option<Logged> {
    if line.trim_start().starts_with('{') { of_object(&serde_json::from_str(line).ok()?) } else { of_combined(line) }
}

fn of_object(object: &Map<String, Value>) -> Option<Logged> {
    let text = |keys: &[&str]| {
        let value = keys.iter().find_map(|key| object.get(*key)?.as_str().filter(|text| !text.is_empty()));
        value.unwrap_or_default().to_owned()
    };
    let mut target = text(TARGET_KEYS);
    let arguments = text(ARGUMENT_KEYS);
    if !arguments.is_empty() && !target.contains('?') {
        target = format!("{target}?{arguments}");
    }
    Some(Logged {
        method: text(METHOD_KEYS),
        target,
        host: text(HOST_KEYS),
        agent: text(AGENT_KEYS),
        referer: text(REFERER_KEYS),
        cookie: text(COOKIE_KEYS),
        client: text(CLIENT_KEYS),
    })
}

/// `ADDRESS - USER [TIME] "METHOD TARGET PROTOCOL" STATUS BYTES "REFERER" "AGENT"`
fn of_combined(line: &str) -> Option<Logged> {
    let client = line.split(' ').next()?.to_owned();
    let mut quoted = quoted(line).into_iter();
    let request = quoted.next()?;
    let mut words = request.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let dash = |text: String| if text == "-" { String::new() } else { text };
    let referer = quoted.next().map(dash).unwrap_or_default();
    let agent = quoted.next().map(dash).unwrap_or_default();
    Some(Logged { method, target, client, referer, agent, ..Logged::default() })
}

/// The texts between quotes, with nginx's escapes (`\xXX`) and Apache's (`\"`) undone.
fn quoted(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut characters = line.chars();
    while characters.any(|character| character == '"') {
        let mut text = String::new();
        while let Some(character) = characters.next().filter(|character| *character != '"') {
            match (character, character == '\\') {
                (_, true) => text.extend(escaped(&mut characters)),
                (character, _) => text.push(character),
            }
        }
        found.push(text);
    }
    found
}

fn escaped(characters: &mut std::str::Chars<'_>) -> Option<char> {
    match characters.next()? {
        'x' => {
            let digits: String = characters.by_ref().take(2).collect();
            u8::from_str_radix(&digits, 16).ok().filter(u8::is_ascii).map(char::from)
        }
        other => Some(other),
    }
}

impl Logged {
    /// The bytes on the wire; `None` if it cannot be sent as one request.
    fn bytes(&self) -> Option<Vec<u8>> {
        let sendable = |text: &str| text.len() <= MAX_FIELD && text.bytes().all(|byte| byte > b' ' && byte != 0x7f);
        if !METHODS.contains(&self.method.as_str()) || !self.target.starts_with('/') || !sendable(&self.target) {
            return None;
        }
        let mut text = format!("{} {} HTTP/1.1\r\nHost: ", self.method, self.target);
        let host = if self.host.is_empty() || !sendable(&self.host) { HOST } else { &self.host };
        text += host;
        let fields = [
            ("User-Agent", &self.agent),
            ("Referer", &self.referer),
            ("Cookie", &self.cookie),
            ("X-Forwarded-For", &self.client),
        ];
        for (name, value) in fields {
            if !value.is_empty() && value.len() <= MAX_FIELD && !value.contains(char::is_control) {
                text += &format!("\r\n{name}: {value}");
            }
        }
        if matches!(self.method.as_str(), "POST" | "PUT" | "PATCH") {
            text += "\r\nContent-Length: 0";
        }
        text += "\r\n\r\n";
        Some(text.into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn first(line: &str) -> Option<String> {
        parse(line).requests.first().map(|bytes| String::from_utf8(bytes.clone()).unwrap())
    }

    #[test]
    fn lines_of_both_kinds_become_requests() {
        let combined =
            r#"1.2.3.4 - bob [22/Nov/2026:06:53:54 +0000] "GET /a?b=\x22c HTTP/1.1" 200 12 "https://x/" "Agent \"7\"""#;
        let want = "GET /a?b=\"c HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: Agent \"7\"\r\nReferer: https://x/\r\n\
                    X-Forwarded-For: 1.2.3.4\r\n\r\n";
        assert_eq!(first(combined).as_deref(), Some(want));
        let json = r#"{"method":"POST","uri":"/p","args":"x=1","host":"shop.example","user_agent":"A"}"#;
        let want = "POST /p?x=1 HTTP/1.1\r\nHost: shop.example\r\nUser-Agent: A\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(first(json).as_deref(), Some(want));
    }

    #[test]
    fn what_cannot_be_sent_is_skipped_and_counted() {
        let log = parse(
            "rubbish\n\n1.1.1.1 - - [t] \"\" 400 0\n{\"method\":\"HEAD\",\"uri\":\"/\"}\n{\"method\":\n\
             {\"method\":\"GET\",\"uri\":\"/a\\r\\nX: y\"}\n1.1.1.1 - - [t] \"GET / HTTP/1.0\" 200 1",
        );
        assert_eq!((log.requests.len(), log.skipped), (1, 5));
    }

    proptest! {
        #[test]
        fn any_line_gives_at_most_one_whole_request(line in "\\PC*", method in "GET|POST", target in "/\\PC*", value in any::<String>()) {
            let object = serde_json::json!({"method": method, "uri": target, "host": value, "cookie": value}).to_string();
            let combined = format!("{value} - - [t] \"{method} {target} HTTP/1.1\" 200 1 \"{value}\" \"{value}\"");
            for text in [line, object, combined.lines().next().unwrap_or_default().to_owned()] {
                for bytes in parse(&text).requests {
                    let ends = bytes.windows(4).filter(|window| window == b"\r\n\r\n").count();
                    prop_assert_eq!(ends, 1);
                    prop_assert!(bytes.ends_with(b"\r\n\r\n"));
                }
            }
        }
    }
}
