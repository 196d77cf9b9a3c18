//! A request as arguments of curl, and these as a shell takes them.

use super::address::Address;

/// A body.
pub(super) enum Data {
    /// A text.
    Text(String),
    /// The content of a file.
    File(String),
}

/// A request.
pub(super) struct Curl {
    pub method: String,
    pub address: Address,
    pub headers: Vec<(String, String)>,
    pub data: Option<Data>,
    pub is_signed_in_url: bool,
}

impl Curl {
    /// The arguments. What curl would change on its own, dots in paths and brackets, it is told to leave.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        let mut add = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
        let usual = if self.data.is_some() { "POST" } else { "GET" };
        match self.method.as_str() {
            "HEAD" if self.data.is_none() => add(&["--head"]),
            method if method == usual => {}
            method => add(&["-X", method]),
        }
        let url = self.address.url();
        if self.address.target.contains("/.") {
            add(&["--path-as-is"]);
        }
        if url.contains(['[', ']', '{', '}']) {
            add(&["--globoff"]);
        }
        if self.address.has_other_host {
            add(&["-H", &format!("Host: {}", self.address.authority)]);
        }
        for (name, value) in &self.headers {
            // Without a value, curl would take `NAME:` for a field to leave out.
            add(&["-H", &if value.is_empty() { format!("{name};") } else { format!("{name}: {value}") }]);
        }
        match &self.data {
            Some(Data::Text(text)) => add(&["--data-raw", text]),
            Some(Data::File(path)) => add(&["--data-binary", &format!("@{path}")]),
            None => {}
        }
        add(&[&url]);
        arguments
    }
}

/// A word for POSIX shells.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
