//! The address of control and the credentials for it.

use std::fmt;
use std::path::PathBuf;

/// The address of control.
#[derive(Clone, PartialEq, Eq)]
pub enum Target {
    /// Behind a Unix socket.
    Socket(PathBuf),
    /// Behind TCP.
    Tcp {
        /// Name or address, without brackets.
        host: String,
        /// The port.
        port: u16,
        /// Whether TLS is spoken, with the system's authorities or those in `SSL_CERT_FILE`.
        tls: bool,
        /// The token.
        token: Option<String>,
    },
}

impl Target {
    /// From `http://HOST:PORT` or `https://HOST[:PORT]`.
    ///
    /// # Errors
    /// What is wrong with the URL.
    pub fn url(url: &str, token: Option<String>) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").ok_or("there is no scheme; http or https was expected")?;
        let tls = match scheme {
            "http" => false,
            "https" => true,
            other => return Err(format!("`{other}` is neither http nor https")),
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.is_empty() || authority.contains(['/', '?', '#', '@']) {
            return Err("a scheme, a host and a port were expected, such as http://127.0.0.1:8090".to_owned());
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| format!("`{port}` is not a port"))?)
            }
            _ => (authority, if tls { 443 } else { 80 }),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self::Tcp { host, port, tls, token })
    }

    /// For the `Host` header.
    pub(super) fn host(&self) -> &str {
        match self {
            Self::Socket(_) => "control",
            Self::Tcp { host, .. } => host,
        }
    }

    pub(super) fn token(&self) -> Option<&str> {
        match self {
            Self::Socket(_) => None,
            Self::Tcp { token, .. } => token.as_deref(),
        }
    }
}

/// Without the token.
impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => write!(out, "{}", path.display()),
            Self::Tcp { host, port, tls, .. } => {
                let scheme = if *tls { "https" } else { "http" };
                if host.contains(':') {
                    write!(out, "{scheme}://[{host}]:{port}")
                } else {
                    write!(out, "{scheme}://{host}:{port}")
                }
            }
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self}")
    }
}

/// Percent-encodes a value of a query.
#[must_use]
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(byte.into());
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read() {
        for (url, shown) in [
            ("http://127.0.0.1:8090", Some("http://127.0.0.1:8090")),
            ("https://weir.example/", Some("https://weir.example:443")),
            ("http://[::1]:80", Some("http://[::1]:80")),
            ("https://[::1]", Some("https://[::1]:443")),
            ("ftp://x", None),
            ("http://a:b", None),
            ("http://u@h", None),
            ("x", None),
        ] {
            assert_eq!(Target::url(url, None).ok().map(|target| target.to_string()).as_deref(), shown, "{url}");
        }
    }
}
