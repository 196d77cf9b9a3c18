//! An HTTP response, as tests examine it.

use serde_json::Value;

/// A response.
#[derive(Clone, Debug)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Header fields in the order received.
    pub headers: Vec<(String, String)>,
    /// The whole body, without transfer coding.
    pub body: Vec<u8>,
}

impl Response {
    /// Parses a status line and header fields; of several in a row (as in `curl -i` output), the last ones.
    ///
    /// # Panics
    /// If the text is not an HTTP response.
    #[must_use]
    pub(crate) fn parse_head(head: &[u8]) -> Self {
        let text = String::from_utf8_lossy(head);
        let mut lines = text.split("\r\n");
        let status_line = lines.next().unwrap_or_default();
        let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("not a status line: {status_line:?}"));
        let fields = lines.filter_map(|line| line.split_once(':'));
        let headers = fields.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect();
        Self { status, headers, body: Vec::new() }
    }

    /// The first header field with this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON, as returned by the echoing origins.
    ///
    /// # Panics
    /// If the body is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {} {:?}", self.status, self.text()))
    }

    /// A request header field as the echoing origin received it; the first if there are several.
    ///
    /// # Panics
    /// If an echoing origin did not make this response.
    #[must_use]
    pub fn received(&self, name: &str) -> Option<String> {
        let json = self.json();
        let headers = json["headers"].as_array().expect("the echo origin answers");
        let found = headers.iter().find(|pair| pair[0].as_str().is_some_and(|have| have.eq_ignore_ascii_case(name)));
        found.and_then(|pair| pair[1].as_str().map(str::to_owned))
    }
}
