//! Private keys in what is captured: only the key of a certificate may have one, and files of certificates are PEM.
//!
//! An error never quotes a content: a client names the path, and may not be allowed to see the file.

use std::io;

use memchr::memmem;
use weir_policy::table::form;

use super::Purpose;

/// How every private key begins in PEM, whatever its kind.
const BEGIN: &[u8] = b"-----BEGIN ";
const PRIVATE_KEY: &[u8] = b"PRIVATE KEY-----";
/// Longest kind of a key between the two, such as `ENCRYPTED `.
const MAX_KIND: usize = 24;
/// Base64 that must follow. A list may well have the first line of a key among its texts.
const MIN_BASE64: usize = 40;
/// What belongs together, at the end of one piece and the beginning of the next.
const OVERLAP: usize = 256;

/// Looks at a content while it is read.
pub(super) struct Pem {
    purpose: Purpose,
    /// Of data the end of what was read, otherwise all of it.
    text: Vec<u8>,
}

impl Pem {
    pub fn new(purpose: Purpose) -> Self {
        Self { purpose, text: Vec::new() }
    }

    /// The next piece.
    ///
    /// # Errors
    /// If it has a private key in it, and may not.
    pub fn read(&mut self, piece: &[u8]) -> io::Result<()> {
        self.text.extend_from_slice(piece);
        if self.purpose == Purpose::Data {
            no_private_key(&self.text)?;
            self.text.drain(..self.text.len().saturating_sub(OVERLAP));
        }
        Ok(())
    }

    /// The end of the content.
    ///
    /// # Errors
    /// If it is not what it was read for.
    pub fn end(self) -> io::Result<()> {
        match self.purpose {
            Purpose::Data => return Ok(()),
            Purpose::Secret => return no_private_key(&self.text),
            Purpose::Chain | Purpose::Key => {}
        }
        if self.purpose == Purpose::Chain {
            no_private_key(&self.text)?;
        }
        let is_pem = std::str::from_utf8(&self.text).is_ok_and(|text| (form::PEM.check)(text).is_ok());
        if is_pem {
            Ok(())
        } else {
            Err(io::Error::other("it is not PEM: a text with a line that begins with -----BEGIN"))
        }
    }
}

fn no_private_key(text: &[u8]) -> io::Result<()> {
    let is_key = |at: usize| {
        let before = &text[at.saturating_sub(MAX_KIND + BEGIN.len())..at];
        let mut after = &text[at + PRIVATE_KEY.len()..];
        // Line breaks may be written as in JSON.
        while let Some(rest) =
            [&b"\r"[..], b"\n", b"\\r", b"\\n", b" ", b"\t"].iter().find_map(|s| after.strip_prefix(*s))
        {
            after = rest;
        }
        let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
        let length = after.iter().take_while(|byte| base64(byte)).count();
        memmem::find(before, BEGIN).is_some() && (length >= MIN_BASE64 || after.starts_with(b"Proc-Type:"))
    };
    if memmem::find_iter(text, PRIVATE_KEY).any(is_key) {
        return Err(io::Error::other("it has a private key in it, which only the `key` of a certificate may name"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(purpose: Purpose, text: &str, piece: usize) -> io::Result<()> {
        let mut pem = Pem::new(purpose);
        text.as_bytes().chunks(piece).try_for_each(|piece| pem.read(piece))?;
        pem.end()
    }

    #[test]
    fn a_private_key_is_found_in_whatever_pieces_it_comes() {
        let key =
            format!("-----BEGIN RSA PRIVATE KEY-----\r\n{}\r\n-----END RSA PRIVATE KEY-----\n", "MIIE".repeat(16));
        let certificate = key.replace("RSA PRIVATE KEY", "CERTIFICATE");
        let words = "-----BEGIN RSA PRIVATE KEY-----\n-----BEGIN PRIVATE KEY-----\nAKIAIOSFODNN7EXAMPLE\n";
        for piece in [1, 7, 64, 1 << 20] {
            let is_good = |purpose, text: &str| result(purpose, text, piece).is_ok();
            for bad in [key.clone(), format!("{}\n{key}", "x\n".repeat(500)), key.replace("\r\n", "\\n")] {
                assert!(!is_good(Purpose::Data, &bad), "{piece}: {bad}");
            }
            let both = format!("{certificate}{key}");
            assert!(is_good(Purpose::Data, words) && is_good(Purpose::Data, &certificate), "{piece}");
            assert!(is_good(Purpose::Chain, &certificate) && !is_good(Purpose::Chain, &both), "{piece}");
            assert!(is_good(Purpose::Key, &both) && !is_good(Purpose::Key, "secret: 1"), "{piece}");
        }
        let said = result(Purpose::Key, "secret: 1", 64).expect_err("it is not PEM").to_string();
        assert!(!said.contains("secret"), "{said}");
    }
}
