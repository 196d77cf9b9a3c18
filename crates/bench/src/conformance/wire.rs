//! A stage's input as the bytes that CRS's own test driver sends.
//!
//! CRS 3.3.4 was tested with `ftw` 1.3 (Python), and the cases rely on what it adds by itself:
//! `ruleset.py` and `http.py` of that version are the source of every rule of [`Driver::Ftw`]. Two
//! things are ours. Content-Length counts bytes, where `ftw` counts characters (no case has a body in
//! which they differ). And a `charset` of the content type re-encodes nothing (no case with
//! another charset than UTF-8 has a body that it would change).
//!
//! CRS 4 is tested with `go-ftw` 2: `ftwhttp/request.go` is the source of [`Driver::GoFtw`]. Of its
//! templates, cases use `{{ "text" | repeat N }}` alone.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::yaml::Yaml;

const FORM: &str = "application/x-www-form-urlencoded";

/// The driver that the cases are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// `ftw`, of CRS 3.
    Ftw,
    /// `go-ftw`, of CRS 4.
    GoFtw,
}

/// The bytes of the request on the wire. The error says what cannot be sent.
pub fn bytes(input: &Yaml, driver: Driver) -> Result<Vec<u8>, String> {
    match (input.text("encoded_request"), input.text("raw_request")) {
        (Some(_), Some(_)) => Err("both encoded_request and raw_request".into()),
        (Some(encoded), None) => decoded(encoded).ok_or_else(|| "encoded_request is not base64".into()),
        (None, Some(raw)) => Ok(raw.as_bytes().to_vec()),
        (None, None) => Ok(assembled(input, driver)),
    }
}

fn assembled(input: &Yaml, driver: Driver) -> Vec<u8> {
    let mut headers: Vec<(&str, String)> = Vec::new();
    for (name, value) in input.get("headers").map_or(&[][..], Yaml::pairs) {
        let Yaml::Text(value) = value else { continue };
        // A name that is there twice is one key of Python's, which keeps its first place and its
        // last value.
        match headers.iter_mut().find(|(own, _)| own == name) {
            Some((_, own)) if driver == Driver::Ftw => own.clone_from(value),
            _ => headers.push((name, value.clone())),
        }
    }
    let mut data = match input.get("data") {
        Some(Yaml::Text(text)) => text.clone(),
        Some(list) => list.items().iter().filter_map(scalar).collect::<Vec<_>>().join("\r\n"),
        None => String::new(),
    };
    let method = input.text("method").unwrap_or("GET");
    match driver {
        Driver::Ftw if input.is_true("stop_magic") || input.is_true("no_autocomplete_headers") || data.is_empty() => {}
        Driver::Ftw => complete(&mut headers, &mut data),
        Driver::GoFtw => {
            data = expanded(&data);
            let completes = input.text("autocomplete_headers") != Some("false");
            complete_as_go_ftw(&mut headers, &mut data, method, completes);
        }
    }
    let mut text =
        format!("{method} {} {}\r\n", input.text("uri").unwrap_or("/"), input.text("version").unwrap_or("HTTP/1.1"),);
    for (name, value) in &headers {
        text.extend([name, ": ", value, "\r\n"]);
    }
    text.extend(["\r\n", &data]);
    text.into_bytes()
}

/// What `ftw` calls magic: a content type, a form encoded as one, and the length. It looks for
/// names exactly as written here.
fn complete<'n>(headers: &mut Vec<(&'n str, String)>, data: &mut String) {
    let named = |headers: &[(&str, String)], name: &str| headers.iter().position(|(own, _)| *own == name);
    let content_type: &'n str = "Content-Type";
    let place = named(headers, content_type).unwrap_or_else(|| {
        headers.push((content_type, FORM.into()));
        headers.len() - 1
    });
    if headers[place].1 == FORM && !has_escape(data) {
        let encoded = encoded_form(data);
        if !encoded.is_empty() {
            *data = encoded;
        }
    }
    if named(headers, "Content-Length").is_none() {
        headers.push(("Content-Length", data.len().to_string()));
    }
}

/// What `go-ftw` adds. It compares names and media types without regard to case.
fn complete_as_go_ftw(headers: &mut Vec<(&str, String)>, data: &mut String, method: &str, completes: bool) {
    let values = |headers: &[(&str, String)], name: &str| -> Vec<String> {
        headers.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, it)| it.to_lowercase()).collect()
    };
    if completes && !data.is_empty() {
        if values(headers, "Content-Type").is_empty() {
            headers.push(("Content-Type", FORM.into()));
        }
        if values(headers, "Content-Type").iter().any(|it| it == FORM) && !data.contains(['%', '+']) {
            let pairs = data.strip_suffix('&').unwrap_or(data).split('&').map(|it| match it.split_once('=') {
                Some((name, value)) => format!("{}={}", quote_plus(name), quote_plus(value)),
                None => quote_plus(it),
            });
            *data = pairs.collect::<Vec<_>>().join("&");
        }
    }
    if values(headers, "Content-Type").iter().any(|it| it.contains("multipart/form-data;")) {
        *data = data.replace('\n', "\r\n");
    }
    if completes {
        if values(headers, "Connection").is_empty() {
            headers.push(("Connection", "close".into()));
        }
        let has_body = !data.is_empty() || ["POST", "PUT", "PATCH", "DELETE"].iter().any(|it| method.contains(it));
        if has_body && values(headers, "Content-Length").is_empty() {
            headers.push(("Content-Length", data.len().to_string()));
        }
    }
}

/// Text with `{{ "text" | repeat N }}` expanded.
fn expanded(data: &str) -> String {
    let parts = data.split_once("{{").and_then(|(before, rest)| Some((before, rest.split_once("}}")?)));
    let Some((before, (template, after))) = parts else { return data.to_owned() };
    let repeated = template.split_once('|').and_then(|(text, call)| {
        let count: usize = call.trim().strip_prefix("repeat ")?.trim().parse().ok()?;
        Some(text.trim().trim_matches('"').repeat(count))
    });
    repeated.map_or_else(|| data.to_owned(), |text| [before, &text, after].concat())
}

/// Whether `urllib.parse.unquote` would change it.
fn has_escape(data: &str) -> bool {
    data.as_bytes().windows(3).any(|bytes| bytes[0] == b'%' && bytes[1..].iter().all(u8::is_ascii_hexdigit))
}

/// `urlencode(parse_qsl(data))` of Python's `urllib.parse` for data without escapes: pairs with
/// an empty value, or without `=`, are dropped.
fn encoded_form(data: &str) -> String {
    let pairs = data.split('&').filter_map(|pair| pair.split_once('=')).filter(|(_, value)| !value.is_empty());
    let coded: Vec<String> = pairs.map(|(name, value)| format!("{}={}", quote_plus(name), quote_plus(value))).collect();
    coded.join("&")
}

/// Python's `quote_plus`, of text in which `+` stands for a space already.
fn quote_plus(text: &str) -> String {
    weir_measure::http::encode(&text.replace('+', " ")).replace("%20", "+")
}

fn scalar(item: &Yaml) -> Option<&str> {
    if let Yaml::Text(text) = item { Some(text) } else { None }
}

/// Decodes standard base64 (RFC 4648, section 4); white space and padding are skipped.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let digits: String = text.chars().filter(|c| !c.is_ascii_whitespace() && *c != '=').collect();
    STANDARD_NO_PAD.decode(digits).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_by(driver: Driver, input: &str) -> String {
        String::from_utf8(bytes(&Yaml::parse(input).unwrap(), driver).unwrap()).unwrap()
    }

    fn sent(input: &str) -> String {
        sent_by(Driver::Ftw, input)
    }

    #[test]
    fn the_drivers_defaults_are_added() {
        assert_eq!(sent("{dest_addr: 127.0.0.1}"), "GET / HTTP/1.1\r\n\r\n");
        assert_eq!(sent("{method: HEAD, uri: /a b, version: ''}"), "HEAD /a b \r\n\r\n");
        assert_eq!(
            sent("{headers: {B: '1', A: '2'}, data: x=y}"),
            "GET / HTTP/1.1\r\nB: 1\r\nA: 2\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: 3\r\n\r\nx=y"
        );
    }

    #[test]
    fn a_form_is_encoded_unless_it_is_already_or_magic_is_off() {
        for (data, expected) in [
            ("a=b c&d=<e>", "a=b+c&d=%3Ce%3E"),
            ("a=1+2", "a=1+2"),
            ("a=%20x y", "a=%20x y"),
            ("a=%zz", "a=%25zz"),
            ("a=&b=c", "b=c"),
            ("no pair", "no pair"),
            ("a=b=c", "a=b%3Dc"),
        ] {
            let text = sent(&format!("{{data: '{data}'}}"));
            assert!(text.ends_with(&format!("Content-Length: {}\r\n\r\n{expected}", expected.len())), "{text}");
        }
        assert!(sent("{data: 'a=b c', stop_magic: true}").ends_with("HTTP/1.1\r\n\r\na=b c"));
        assert!(sent("{headers: {Content-Type: text/xml}, data: 'a=b c'}").ends_with("\r\n\r\na=b c"));
        assert!(sent("{headers: {Content-Length: '9'}, data: 'a=b'}").contains("Content-Length: 9\r\nContent-Type"));
    }

    #[test]
    fn lists_are_lines_and_raw_requests_go_as_they_are() {
        assert!(sent("{headers: {Content-Type: x}, data: [a, b, '']}").ends_with("\r\n\r\na\r\nb\r\n"));
        assert_eq!(sent("{raw_request: \"GET /\\r\\n\"}"), "GET /\r\n");
        assert_eq!(sent("{encoded_request: R0VUIC8NCg==}"), "GET /\r\n");
        assert!(bytes(&Yaml::parse("{encoded_request: '!'}").unwrap(), Driver::Ftw).is_err());
    }

    #[test]
    fn what_go_ftw_adds() {
        let sent = |input: &str| sent_by(Driver::GoFtw, input);
        assert_eq!(sent("{headers: {A: '1'}}"), "GET / HTTP/1.1\r\nA: 1\r\nConnection: close\r\n\r\n");
        assert!(sent("{method: POST}").contains("\r\nContent-Length: 0\r\n"));
        for (data, expected) in
            [("a=b c&d=<e>&f", "a=b+c&d=%3Ce%3E&f"), ("a=1+2 3", "a=1+2 3"), ("a=b=c", "a=b%3Dc"), ("a=%zz ", "a=%zz ")]
        {
            let text = sent(&format!("{{data: '{data}'}}"));
            assert!(text.ends_with(&format!("Content-Length: {}\r\n\r\n{expected}", expected.len())), "{text}");
        }
        assert!(sent("{data: 'a=b c', autocomplete_headers: false}").ends_with("HTTP/1.1\r\n\r\na=b c"));
        let kind = "headers: {content-type: multipart/form-data; boundary=b}";
        assert!(sent(&format!("{{{kind}, data: \"--b\\nx\"}}")).ends_with("\r\n\r\n--b\r\nx"));
        assert!(sent("{headers: {Content-Type: x}, data: 'a{{ \"1\" | repeat 3 }}b'}").ends_with("\r\n\r\na111b"));
    }
}
