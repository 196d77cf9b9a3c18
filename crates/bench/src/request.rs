//! A request sent by hand, to see whether a variant does its work before it is timed.

use weir_measure::error::MeasureError;
use weir_measure::http::{Address, Client};

/// A request as a browser would send it, with the parts that checks vary.
#[derive(Clone, Debug)]
pub struct Request {
    /// Request target as it goes over the wire.
    pub target: String,
    /// User-Agent header.
    pub agent: String,
    /// Cookie header.
    pub cookie: String,
    /// Referer header.
    pub referer: String,
    /// X-Forwarded-For header: the client's address.
    pub client: String,
    /// Body, urlencoded.
    pub body: String,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            target: "/search?q=garden&page=2".into(),
            agent: "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0".into(),
            cookie: "sid=0123456789abcdef; theme=light".into(),
            referer: "https://www.example.com/".into(),
            client: "20.30.40.50".into(),
            body: "name=Ada+Lovelace&city=London".into(),
        }
    }
}

impl Request {
    /// The bytes on the wire.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        format!(
            "POST {} HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: {}\r\nCookie: {}\r\nReferer: {}\r\n\
             X-Forwarded-For: {}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{}",
            self.target,
            self.agent,
            self.cookie,
            self.referer,
            self.client,
            self.body.len(),
            self.body
        )
        .into_bytes()
    }

    /// Sends it and returns the status of the answer.
    pub fn status(&self, port: u16) -> Result<u16, MeasureError> {
        Client::new(Address::local(port)).exchange(&self.bytes()).map(|answer| answer.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_complete_and_its_length_right() {
        let text = String::from_utf8(Request::default().bytes()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /search?q=garden&page=2 HTTP/1.1\r\n"));
        assert!(head.contains(&format!("Content-Length: {}", body.len())));
    }
}
