//! What is known of a request once its header has been read.

use std::net::IpAddr;

use crate::Header;

/// Protocol version of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/0.9, which nginx still accepts for a bare `GET`.
    Http09,
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    Http11,
    /// HTTP/2
    Http2,
    /// HTTP/3
    Http3,
}

impl Version {
    /// As in `$server_protocol`: `HTTP/1.1`, `HTTP/2.0`.
    #[must_use]
    pub const fn as_bytes(self) -> &'static [u8] {
        match self {
            Self::Http09 => b"HTTP/0.9",
            Self::Http10 => b"HTTP/1.0",
            Self::Http11 => b"HTTP/1.1",
            Self::Http2 => b"HTTP/2.0",
            Self::Http3 => b"HTTP/3.0",
        }
    }
}

/// Facts of the TLS session, as the TLS library reports them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tls<'a> {
    /// `TLSv1.3`
    pub version: &'a [u8],
    /// Cipher suite name.
    pub cipher: &'a [u8],
    /// Server name indication; empty if the client sent none.
    pub server_name: &'a [u8],
}

/// The request line, header fields and connection of one request. All slices are borrowed from
/// whoever parsed the request and live as long as it does.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// `GET`; any bytes a client may send as a method.
    pub method: &'a [u8],
    /// Request target exactly as received: path, `?`, query.
    pub target: &'a [u8],
    /// Path, percent-decoded and normalised (`..` and `//` resolved) as nginx routes it.
    pub path: &'a [u8],
    /// Query string as received, without the `?`; empty if there is none.
    pub query: &'a [u8],
    /// Protocol version.
    pub version: Version,
    /// Host name without port, lower case; empty if the client sent none.
    pub host: &'a [u8],
    /// All header fields in the order received.
    pub headers: &'a [Header<'a>],
    /// Address of the other end of the connection.
    pub peer: IpAddr,
    /// Its port.
    pub peer_port: u16,
    /// Address of the client: `peer`, or what a trusted proxy says (see `client_address`).
    pub client: IpAddr,
    /// Our own address on this connection.
    pub server: IpAddr,
    /// Our own port.
    pub server_port: u16,
    /// TLS facts, if the connection is encrypted.
    pub tls: Option<Tls<'a>>,
    /// When the request's first byte was read, milliseconds since the Unix epoch.
    pub received_ms: u64,
}
