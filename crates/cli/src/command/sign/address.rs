//! The URL of a request, cut as it will be sent: nothing in it may change after it was signed.

use crate::Failure;

/// A URL.
pub(super) struct Address {
    /// Whether it is `https`.
    pub is_tls: bool,
    /// Host and, unless it is the default one, port: what curl sends in `Host`.
    pub authority: String,
    /// Path and query.
    pub target: String,
    /// Host and port to connect to.
    to: String,
    /// Whether `Host` is not that of the URL.
    pub has_other_host: bool,
}

impl Address {
    /// Reads an absolute URL; what is after `#` is not sent.
    pub fn of(url: &str) -> Result<Self, Failure> {
        let bad = |why: &str| {
            Failure::new(format!("`{url}` is not a URL that can be signed: {why}"))
                .hint("expected http://HOST/PATH or https://HOST/PATH")
        };
        let (scheme, rest) = url.split_once("://").ok_or_else(|| bad("it has no scheme"))?;
        let is_tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(bad("its scheme is neither http nor https")),
        };
        if rest.contains(|c: char| !c.is_ascii_graphic()) {
            return Err(bad("it has white space or characters that are not ASCII, which must be written as %XX"));
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let (to, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if to.is_empty() || to.contains('@') {
            return Err(bad(if to.is_empty() { "it has no host" } else { "it has a user name" }));
        }
        let authority = to.strip_suffix(if is_tls { ":443" } else { ":80" }).unwrap_or(to).to_owned();
        let slash = if target.starts_with('/') { "" } else { "/" };
        Ok(Self { is_tls, authority, target: format!("{slash}{target}"), to: to.to_owned(), has_other_host: false })
    }

    /// Sends another `Host`.
    pub fn name_host(&mut self, host: String) {
        (self.authority, self.has_other_host) = (host, true);
    }

    /// The whole URL.
    pub fn url(&self) -> String {
        format!("{}://{}{}", if self.is_tls { "https" } else { "http" }, self.to, self.target)
    }
}
