//! Requests and responses that meet the rules' vocabulary.

use std::net::IpAddr;

use weir_http::{Head, Header, Tls, Version};

use super::expression::{ADDRESSES, NAMES};
use super::source::Source;

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// One request and its response, owned.
#[derive(Debug)]
pub struct Message {
    method: &'static str,
    path: Vec<u8>,
    query: Vec<u8>,
    target: Vec<u8>,
    fields: Fields,
    response: Fields,
    client: IpAddr,
    peer: IpAddr,
    tls: bool,
    received_ms: u64,
    /// Status of the response.
    pub status: u16,
    /// Body of the request.
    pub body: Vec<u8>,
}

impl Message {
    /// A message that arrives at `received_ms`.
    pub fn generate(source: &mut Source<'_>, received_ms: u64) -> Self {
        let path =
            [b"/".as_slice(), &source.text(), source.pick(&[b"".as_slice(), b"/x.PhP", b"/.a", b"/b."])].concat();
        let query = pairs(source, b'&');
        let target = if query.is_empty() { path.clone() } else { [path.as_slice(), b"?", &query].concat() };
        let mut fields = fields(source);
        if source.below(2) == 1 {
            fields.push((b"Cookie".to_vec(), pairs(source, b';')));
        }
        let (content_type, body) = body(source);
        fields.push((b"Content-Type".to_vec(), content_type.to_vec()));
        let address = |source: &mut Source<'_>| source.pick(ADDRESSES).parse().expect("the table holds addresses");
        Self {
            method: source.pick(&["GET", "POST", "a"]),
            path,
            query,
            target,
            fields,
            response: self::fields(source),
            client: address(source),
            peer: address(source),
            tls: source.below(2) == 1,
            received_ms,
            status: source.copy(&[200, 404, 500]),
            body,
        }
    }

    /// The request's header fields.
    pub fn headers(&self) -> Vec<Header<'_>> {
        borrow(&self.fields)
    }

    /// The response's header fields.
    pub fn response_headers(&self) -> Vec<Header<'_>> {
        borrow(&self.response)
    }

    /// The head, with the given headers.
    pub fn head<'a>(&'a self, headers: &'a [Header<'a>]) -> Head<'a> {
        Head {
            method: self.method.as_bytes(),
            target: &self.target,
            path: &self.path,
            query: &self.query,
            version: Version::Http11,
            host: b"example.com",
            headers,
            peer: self.peer,
            peer_port: 42,
            client: self.client,
            server: ADDRESSES[0].parse().expect("the table holds addresses"),
            server_port: 443,
            tls: self.tls.then_some(Tls {
                version: b"TLSv1.3",
                cipher: b"a",
                server_name: b"example.com",
                client_certificate: None,
            }),
            received_ms: self.received_ms,
        }
    }
}

fn borrow(fields: &Fields) -> Vec<Header<'_>> {
    fields.iter().map(|(name, value)| Header::new(name, value)).collect()
}

fn fields(source: &mut Source<'_>) -> Fields {
    source.several(4, |source| {
        let mut name = source.pick(NAMES).to_vec();
        if source.below(2) == 0 {
            name.make_ascii_uppercase();
        }
        (name, source.text())
    })
}

fn pairs(source: &mut Source<'_>, separator: u8) -> Vec<u8> {
    let pair = |source: &mut Source<'_>| [source.pick(NAMES), b"=", source.text().as_slice()].concat();
    source.several(4, pair).join(&separator)
}

fn body(source: &mut Source<'_>) -> (&'static [u8], Vec<u8>) {
    match source.below(6) {
        0 => (b"", Vec::new()),
        1 => (b"text/plain", source.text()),
        2 => (b"application/x-www-form-urlencoded; charset=a", pairs(source, b'&')),
        3 => {
            let text = String::from_utf8_lossy(&source.text()).replace(['"', '\\'], "");
            (b"Application/JSON", format!(r#"{{"a":"{text}","items":[{},true,null]}}"#, source.below(99)).into_bytes())
        }
        4 => {
            let (name, text) = (source.pick(NAMES).to_vec(), source.text());
            let head = [b"--B\r\nContent-Disposition: form-data; name=\"".as_slice(), &name].concat();
            let kind: &[u8] = source.pick(&[b"\"".as_slice(), b"\"; filename=\"a.php\"\r\nContent-Type: text/plain"]);
            (b"multipart/form-data; boundary=B", [&head, kind, b"\r\n\r\n", &text, b"\r\n--B--\r\n"].concat())
        }
        _ => {
            let text = source.text();
            (b"text/xml", [b"<a b='x'>".as_slice(), &text, b"</a>"].concat())
        }
    }
}
