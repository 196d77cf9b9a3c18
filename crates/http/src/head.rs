//! The properties of a request that are known once its header has been read.

use std::net::IpAddr;

use crate::{Anomalies, Header, header_hash, uri};

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

/// Properties of the TLS session, as reported by the TLS library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tls<'a> {
    /// `TLSv1.3`
    pub version: &'a [u8],
    /// Cipher suite name.
    pub cipher: &'a [u8],
    /// Server name indication; empty if the client sent none.
    pub server_name: &'a [u8],
    /// The client's certificate in DER, if the handshake has verified one.
    pub client_certificate: Option<&'a [u8]>,
}

/// The request line, header fields and connection of one request. All slices are borrowed from the
/// parser of the request and live as long as the request.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The method, such as `GET`; a client may send any bytes.
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
    /// Port of the other end of the connection.
    pub peer_port: u16,
    /// Address of the client: `peer`, or the address stated by a trusted proxy (see `client_address`).
    pub client: IpAddr,
    /// Address of the server on this connection.
    pub server: IpAddr,
    /// Port of the server on this connection.
    pub server_port: u16,
    /// TLS session, if the connection is encrypted.
    pub tls: Option<Tls<'a>>,
    /// When the request's first byte was read, milliseconds since the Unix epoch.
    pub received_ms: u64,
}

impl Head<'_> {
    /// [`Anomalies::INVALID_HOST`] if a `Host` field names another host.
    #[inline]
    #[must_use]
    pub fn host_anomalies(&self) -> Anomalies {
        let mut fields = self.headers.iter().filter(|field| field.is(b"host", const { header_hash(b"host") }));
        let is_same = |field: &Header<'_>| {
            field.value == self.host || uri::host_name(field.value).eq_ignore_ascii_case(self.host)
        };
        if fields.all(is_same) { Anomalies::empty() } else { Anomalies::INVALID_HOST }
    }
}
