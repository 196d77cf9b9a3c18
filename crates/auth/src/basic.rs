//! The user name and password in `Authorization: Basic` (RFC 7617), in UTF-8.
//!
//! Texts are compared byte by byte, without Unicode normalisation: clients differ in it, and a gateway that normalised
//! would accept passwords that the upstream refuses.

use std::fmt;
use std::str;

use zeroize::Zeroizing;

use crate::encoding::from_base64;
use crate::place::authorization;
use crate::{Failure, Reason, Request};

/// The longest user name in bytes.
pub const MAX_USER_BYTES: usize = 255;
/// The longest password in bytes. A kind of hash may have a lower limit.
pub const MAX_PASSWORD_BYTES: usize = 1024;
/// The longest Base64 text of both and the colon.
const MAX_TEXT_BYTES: usize = (MAX_USER_BYTES + 1 + MAX_PASSWORD_BYTES).div_ceil(3) * 4;

/// A user name and a password, wiped when dropped.
#[derive(Clone)]
pub struct Basic {
    text: Zeroizing<Vec<u8>>,
    colon: usize,
}

impl Basic {
    /// The credentials of a request.
    ///
    /// # Errors
    /// [`Reason::Missing`], [`Reason::Duplicated`], [`Reason::TooLarge`], or [`Reason::Malformed`], which includes text
    /// that is not UTF-8 and control characters.
    pub fn of(request: &Request<'_>) -> Result<Self, Failure> {
        let text = authorization(request, "basic")?
            .ok_or_else(|| Failure::new(Reason::Missing, "no credentials in `Authorization: Basic`"))?;
        if text.len() > MAX_TEXT_BYTES {
            let detail = format!("credentials of {} bytes; at most {MAX_TEXT_BYTES} are read", text.len());
            return Err(Failure::new(Reason::TooLarge, detail));
        }
        let malformed = |detail| Failure::new(Reason::Malformed, detail);
        let text = from_base64(text).ok_or_else(|| malformed("`Authorization: Basic` is not padded Base64"))?;
        let text = Zeroizing::new(text);
        let shown = str::from_utf8(&text).map_err(|_| malformed("user name or password is not UTF-8"))?;
        if shown.chars().any(char::is_control) {
            return Err(malformed("user name or password contains a control character"));
        }
        let colon = memchr::memchr(b':', &text)
            .ok_or_else(|| malformed("user name and password are not separated by a colon"))?;
        if colon > MAX_USER_BYTES || text.len() - colon - 1 > MAX_PASSWORD_BYTES {
            return Err(Failure::new(
                Reason::TooLarge,
                "the user name has more than 255 bytes, or the password more than 1024",
            ));
        }
        Ok(Self { text, colon })
    }

    /// The user name: UTF-8, possibly empty.
    #[must_use]
    pub fn user(&self) -> &[u8] {
        &self.text[..self.colon]
    }

    /// The password: UTF-8, possibly empty.
    #[must_use]
    pub fn password(&self) -> &[u8] {
        &self.text[self.colon + 1..]
    }
}

impl fmt::Debug for Basic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Basic(***)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_http::Header;

    use super::*;
    use crate::encoding::base64;

    fn read(fields: &[&[u8]]) -> Result<(Vec<u8>, Vec<u8>), Reason> {
        let headers: Vec<Header<'_>> = fields.iter().map(|value| Header::new(b"Authorization", value)).collect();
        let request = Request {
            method: b"GET",
            is_tls: true,
            client_certificate: None,
            authority: b"a.example",
            target: b"/",
            headers: &headers,
        };
        let basic = Basic::of(&request).map_err(|failure| failure.reason)?;
        Ok((basic.user().to_vec(), basic.password().to_vec()))
    }

    fn encoded(text: &[u8]) -> Vec<u8> {
        format!("Basic {}", base64(text)).into_bytes()
    }

    #[test]
    fn reads_the_examples_of_the_rfc() {
        let owned = |user: &str, password: &str| Ok((user.as_bytes().to_vec(), password.as_bytes().to_vec()));
        // RFC 7617, sections 2 and 2.1.
        assert_eq!(read(&[b"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="]), owned("Aladdin", "open sesame"));
        assert_eq!(read(&[b"basic  dGVzdDoxMjPCow=="]), owned("test", "123\u{a3}"));
        assert_eq!(read(&[&encoded(b"a:b:c")]), owned("a", "b:c"));
        assert_eq!(read(&[&encoded(b":")]), owned("", ""));
        let longest = format!("{}:{}", "u".repeat(MAX_USER_BYTES), "p".repeat(MAX_PASSWORD_BYTES));
        assert!(read(&[&encoded(longest.as_bytes())]).is_ok());
    }

    #[test]
    fn refuses() {
        let long_user = encoded(&[&[b'u'; MAX_USER_BYTES + 1][..], b":"].concat());
        let long_password = encoded(&[&b":"[..], &[b'p'; MAX_PASSWORD_BYTES + 1]].concat());
        let huge = encoded(&[b'p'; 9000]);
        let good = encoded(b"a:b");
        let cases: [(&[&[u8]], Reason); 14] = [
            (&[], Reason::Missing),
            (&[b"Bearer abc"], Reason::Missing),
            (&[&good, &good], Reason::Duplicated),
            (&[b"Basic"], Reason::Malformed),
            (&[b"Basic YTpiYw"], Reason::Malformed),
            (&[b"Basic YTp_"], Reason::Malformed),
            (&[b"Basic YTp\xff"], Reason::Malformed),
            (&[&encoded(b"ab")], Reason::Malformed),
            (&[&encoded(b"a:\xff")], Reason::Malformed),
            (&[&encoded(b"a:b\0")], Reason::Malformed),
            (&[&encoded(b"a\n:b")], Reason::Malformed),
            (&[&long_user], Reason::TooLarge),
            (&[&long_password], Reason::TooLarge),
            (&[&huge], Reason::TooLarge),
        ];
        for (fields, reason) in cases {
            assert_eq!(read(fields), Err(reason), "{fields:?}");
        }
    }

    proptest! {
        #[test]
        fn takes_any_bytes(value: Vec<u8>, text: Vec<u8>) {
            let _ = read(&[&value]);
            if let Ok((user, password)) = read(&[&encoded(&text)]) {
                prop_assert_eq!([&user[..], b":", &password].concat(), text);
            }
        }
    }
}
