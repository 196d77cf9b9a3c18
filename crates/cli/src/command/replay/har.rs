//! HAR files, as browsers export them (HTTP Archive 1.2).

use serde::Deserialize;

use super::recorded::{Recorded, version};

/// Most requests of one file.
const MAX_ENTRIES: usize = 100_000;

#[derive(Deserialize)]
struct Archive {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Exchange>,
}

#[derive(Deserialize)]
struct Exchange {
    request: Request,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    #[serde(default)]
    http_version: String,
    #[serde(default)]
    headers: Vec<NamedValue>,
    post_data: Option<PostData>,
    #[serde(default)]
    body_size: i64,
}

#[derive(Deserialize)]
struct NamedValue {
    name: String,
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
struct PostData {
    text: Option<String>,
    #[serde(default)]
    params: Vec<NamedValue>,
    #[serde(default)]
    encoding: String,
}

/// The requests of a file, in its order.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Recorded>, String> {
    let archive: Archive = serde_json::from_slice(bytes).map_err(|error| format!("not a HAR file: {error}"))?;
    if archive.log.entries.len() > MAX_ENTRIES {
        return Err(format!("more than {MAX_ENTRIES} requests in one HAR file"));
    }
    Ok(archive.log.entries.into_iter().enumerate().map(|(number, entry)| request(number, entry.request)).collect())
}

fn request(number: usize, request: Request) -> Recorded {
    let version = version(request.http_version.as_bytes()).unwrap_or(weir_http::Version::Http11);
    let url = request.url.split('#').next().unwrap_or_default();
    let place = format!("entry {}", number + 1);
    let mut recorded = Recorded::new(request.method.as_bytes(), url.as_bytes(), version, place);
    for NamedValue { name, value } in &request.headers {
        // HTTP/2's pseudo fields are the request line and the host.
        if !name.starts_with(':') {
            recorded.push(name, value.as_bytes());
        }
    }
    if recorded.header("host").is_none() && !recorded.host.is_empty() {
        let host = recorded.host.clone();
        recorded.push("Host", host);
    }
    recorded.settle_host();
    if let Some(data) = request.post_data {
        body(&mut recorded, data);
    }
    if request.body_size > 0 && (recorded.body.len() as i64) < request.body_size {
        let (have, of) = (recorded.body.len(), request.body_size);
        recorded.missing.push(format!("the file has {have} of the body's {of} bytes"));
    }
    recorded
}

fn body(recorded: &mut Recorded, data: PostData) {
    match data.text {
        Some(_) if data.encoding.eq_ignore_ascii_case("base64") => {
            recorded.missing.push("the body is not text: it is left out".to_owned());
        }
        Some(text) => recorded.body = text.into_bytes(),
        None => {
            let pairs: Vec<String> =
                data.params.iter().map(|pair| format!("{}={}", encode(&pair.name), encode(&pair.value))).collect();
            recorded.body = pairs.join("&").into_bytes();
        }
    }
}

/// As forms are encoded.
pub(super) fn encode(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b' ' => "+".to_owned(),
        byte if byte.is_ascii_alphanumeric() || b"-._*".contains(&byte) => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_with_headers_and_bodies() {
        let text = r#"{"log": {"version": "1.2", "entries": [
            {"request": {"method": "POST", "url": "https://x.example/a?b=c#d", "httpVersion": "h2",
              "headers": [{"name": ":path", "value": "/a"}, {"name": "accept", "value": "*/*"}],
              "postData": {"mimeType": "x", "text": "a=1"}, "bodySize": 9}},
            {"request": {"method": "POST", "url": "http://y/", "headers": [],
              "postData": {"params": [{"name": "a b", "value": "c&d"}]}}}]}}"#;
        let requests = read(text.as_bytes()).expect("reads");
        let first = &requests[0];
        assert_eq!((first.target.as_slice(), first.host.as_slice()), (&b"/a?b=c"[..], &b"x.example"[..]));
        assert_eq!(first.headers.len(), 2, "{:?}", first.headers);
        assert_eq!(first.missing, ["the file has 3 of the body's 9 bytes"]);
        assert_eq!(requests[1].body, b"a+b=c%26d");
        assert!(read(b"{}").is_err());
    }
}
