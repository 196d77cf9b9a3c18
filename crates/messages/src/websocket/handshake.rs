//! The request that opens a connection (RFC 6455, section 4.2), as the values of its fields.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest as _, Sha1};

/// The subprotocol that Weir speaks ([`frame`](crate::frame)).
pub const SUBPROTOCOL: &str = "weir.v1";

/// The only version of the protocol that was standardised.
const VERSION: &[u8] = b"13";
/// Makes the answer to a key one that no other protocol gives (section 1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Fields of a GET request, each with the values of all its lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handshake<'a> {
    /// `Upgrade`
    pub upgrade: &'a [&'a [u8]],
    /// `Connection`
    pub connection: &'a [&'a [u8]],
    /// `Sec-WebSocket-Version`
    pub version: &'a [&'a [u8]],
    /// `Sec-WebSocket-Key`
    pub key: &'a [&'a [u8]],
    /// `Sec-WebSocket-Protocol`
    pub protocols: &'a [&'a [u8]],
}

/// What the answer, 101, says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// `Sec-WebSocket-Accept`: Base64.
    pub accept: [u8; 28],
    /// `Sec-WebSocket-Protocol`: [`SUBPROTOCOL`] if the client offered it.
    pub subprotocol: Option<&'static str>,
}

/// Why a request does not open a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// Another `Upgrade`.
    #[error("the field Upgrade does not say websocket")]
    Upgrade,
    /// Another `Connection`.
    #[error("the field Connection does not say Upgrade")]
    Connection,
    /// Another version.
    #[error("the field Sec-WebSocket-Version is not 13")]
    Version,
    /// A key that is not one.
    #[error("the field Sec-WebSocket-Key is not Base64 of 16 bytes, or is there twice")]
    Key,
}

impl HandshakeError {
    /// The status to answer with. 426 goes with `Sec-WebSocket-Version: 13`.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::Version => 426,
            Self::Upgrade | Self::Connection | Self::Key => 400,
        }
    }
}

impl Handshake<'_> {
    /// Checks the fields.
    ///
    /// # Errors
    ///
    /// If one is missing or says something else.
    pub fn check(&self) -> Result<Accepted, HandshakeError> {
        if !items(self.upgrade).any(|item| item.eq_ignore_ascii_case(b"websocket")) {
            return Err(HandshakeError::Upgrade);
        }
        if !items(self.connection).any(|item| item.eq_ignore_ascii_case(b"upgrade")) {
            return Err(HandshakeError::Connection);
        }
        if !matches!(self.version, [version] if version.trim_ascii() == VERSION) {
            return Err(HandshakeError::Version);
        }
        let [key] = self.key else { return Err(HandshakeError::Key) };
        let key = key.trim_ascii();
        // The decoder asks for room for whole groups.
        let mut nonce = [0; 18];
        if key.len() != 24 || STANDARD.decode_slice(key, &mut nonce) != Ok(16) {
            return Err(HandshakeError::Key);
        }
        // Subprotocols are compared with their case (section 4.1).
        let is_offered = items(self.protocols).any(|item| item == SUBPROTOCOL.as_bytes());
        Ok(Accepted { accept: accept_key(key), subprotocol: is_offered.then_some(SUBPROTOCOL) })
    }
}

/// The answer to a key, as the client sent it.
#[must_use]
pub fn accept_key(key: &[u8]) -> [u8; 28] {
    let hash = Sha1::new().chain_update(key).chain_update(GUID).finalize();
    let mut accept = [0; 28];
    let written = STANDARD.encode_slice(hash, &mut accept);
    debug_assert_eq!(written, Ok(accept.len()), "20 bytes are 28 of Base64");
    accept
}

/// The items of comma-separated lists.
fn items<'a>(lines: &'a [&'a [u8]]) -> impl Iterator<Item = &'a [u8]> {
    lines.iter().flat_map(|line| line.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Handshake<'_> = Handshake {
        upgrade: &[b"websocket"],
        connection: &[b"Upgrade"],
        version: &[b"13"],
        key: &[b"dGhlIHNhbXBsZSBub25jZQ=="],
        protocols: &[],
    };

    #[test]
    fn the_example_of_the_standard_is_accepted() {
        let accepted = GOOD.check().unwrap();
        assert_eq!(&accepted.accept, b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(accepted.subprotocol, None);
    }

    #[test]
    fn lists_and_case_are_read_as_http_says() {
        let request = Handshake {
            upgrade: &[b"h2c, WebSocket"],
            connection: &[b"keep-alive", b"x,  upgrade"],
            protocols: &[b"chat, superchat", b"weir.v1"],
            ..GOOD
        };
        assert_eq!(request.check().unwrap().subprotocol, Some(SUBPROTOCOL));
        let request = Handshake { protocols: &[b"Weir.v1, weir.v10"], ..GOOD };
        assert_eq!(request.check().unwrap().subprotocol, None);
    }

    #[test]
    fn other_requests_are_refused() {
        for (request, error) in [
            (Handshake { upgrade: &[], ..GOOD }, HandshakeError::Upgrade),
            (Handshake { upgrade: &[b"websockets"], ..GOOD }, HandshakeError::Upgrade),
            (Handshake { connection: &[b"keep-alive"], ..GOOD }, HandshakeError::Connection),
            (Handshake { version: &[b"8"], ..GOOD }, HandshakeError::Version),
            (Handshake { version: &[b"13", b"8"], ..GOOD }, HandshakeError::Version),
            (Handshake { version: &[], ..GOOD }, HandshakeError::Version),
            (Handshake { key: &[], ..GOOD }, HandshakeError::Key),
            (Handshake { key: &[GOOD.key[0], GOOD.key[0]], ..GOOD }, HandshakeError::Key),
            (Handshake { key: &[b"dGhlIHNhbXBsZSBub25j"], ..GOOD }, HandshakeError::Key),
            (Handshake { key: &[b"dGhlIHNhbXBsZSBub25jZTEy"], ..GOOD }, HandshakeError::Key),
            (Handshake { key: &[b"dGhlIHNhbXBsZSBub25jZR=="], ..GOOD }, HandshakeError::Key),
            (Handshake { key: &[b"dGhlIHNhbXBsZSBub25jZ!=="], ..GOOD }, HandshakeError::Key),
        ] {
            assert_eq!(request.check(), Err(error), "{request:?}");
        }
    }
}
