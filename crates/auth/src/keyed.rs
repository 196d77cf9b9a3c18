//! Ways in which a shared secret enters a digest.
//!
//! HMAC (RFC 2104) is the one to choose. The others are older than it, or written without it in mind, and are here because
//! platforms in use have them: the secret after the text, before it, around it, or both in an HMAC and after the text.

use hmac::Mac as _;
use md5::Md5;

use crate::digest::{Digest, Hash, Hasher, Mac, MacHash};

/// Where the secret goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecretPlace {
    /// It is the key of an HMAC.
    Hmac,
    /// After the text.
    After,
    /// Before the text.
    Before,
    /// Before and after the text.
    Around,
    /// After the text, and the key of an HMAC.
    AfterAndHmac,
    /// Nowhere: whoever can compute the digest can sign.
    None,
}

impl SecretPlace {
    /// All of them with their names as options.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("hmac", Self::Hmac),
        ("after", Self::After),
        ("before", Self::Before),
        ("around", Self::Around),
        ("after_and_hmac", Self::AfterAndHmac),
        ("none", Self::None),
    ];

    const fn is_before(self) -> bool {
        matches!(self, Self::Before | Self::Around)
    }

    const fn is_after(self) -> bool {
        matches!(self, Self::After | Self::Around | Self::AfterAndHmac)
    }

    const fn is_key(self) -> bool {
        matches!(self, Self::Hmac | Self::AfterAndHmac)
    }
}

/// A hash function and the secret's place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed {
    /// The hash function.
    pub hash: Hash,
    /// Where the secret goes.
    pub place: SecretPlace,
    /// What stands between the text and a secret after it, as `&key=`.
    pub label: String,
}

/// A digest with a secret, over text that arrives in parts.
pub struct Code<'k> {
    keyed: &'k Keyed,
    secret: &'k [u8],
    state: State,
}

enum State {
    Hash(Hasher),
    Mac(Mac),
    /// `ring` has no HMAC-MD5.
    MacMd5(Box<hmac::Hmac<Md5>>),
}

impl Keyed {
    /// Begins.
    #[must_use]
    pub fn begin<'k>(&'k self, secret: &'k [u8]) -> Code<'k> {
        let mac = |hash: MacHash| State::Mac(hash.begin(secret));
        let state = match self.hash {
            hash if !self.place.is_key() => State::Hash(hash.begin()),
            Hash::Md5 => {
                State::MacMd5(Box::new(hmac::Hmac::new_from_slice(secret).expect("HMAC takes keys of any length")))
            }
            Hash::Sha1 => mac(MacHash::Sha1),
            Hash::Sha256 => mac(MacHash::Sha256),
            Hash::Sha384 => mac(MacHash::Sha384),
            Hash::Sha512 => mac(MacHash::Sha512),
        };
        let mut code = Code { keyed: self, secret, state };
        if self.place.is_before() {
            code.update(secret);
        }
        code
    }
}

impl Code<'_> {
    /// Takes the next bytes of the text.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.state {
            State::Hash(hasher) => hasher.update(bytes),
            State::Mac(mac) => mac.update(bytes),
            State::MacMd5(mac) => mac.update(bytes),
        }
    }

    /// The code of the whole text.
    #[must_use]
    pub fn finish(mut self) -> Digest {
        if self.keyed.place.is_after() {
            self.update(self.keyed.label.as_bytes());
            self.update(self.secret);
        }
        match self.state {
            State::Hash(hasher) => hasher.finish(),
            State::Mac(mac) => mac.finish(),
            State::MacMd5(mac) => Digest::of(&mac.finalize().into_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::hex;

    fn code(hash: Hash, place: SecretPlace, label: &str, secret: &[u8], text: &[u8]) -> String {
        let keyed = Keyed { hash, place, label: label.into() };
        let mut code = keyed.begin(secret);
        text.chunks(3).for_each(|part| code.update(part));
        hex(code.finish().as_ref())
    }

    #[test]
    fn hmac_is_that_of_the_rfcs() {
        // RFC 2202, sections 2 and 3, case 2; RFC 4231, section 4.3.
        let (key, text) = (b"Jefe", b"what do ya want for nothing?");
        let cases = [
            (Hash::Md5, "750c783e6ab0b503eaa86e310a5db738"),
            (Hash::Sha1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
            (Hash::Sha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        ];
        for (hash, right) in cases {
            assert_eq!(code(hash, SecretPlace::Hmac, "", key, text), right);
        }
    }

    #[test]
    fn the_secret_stands_where_its_place_says() {
        let cases = [
            (SecretPlace::None, "text"),
            (SecretPlace::After, "text&key=S"),
            (SecretPlace::Before, "Stext"),
            (SecretPlace::Around, "Stext&key=S"),
        ];
        for (place, right) in cases {
            let right = hex(Hash::Md5.of(right.as_bytes()).as_ref());
            assert_eq!(code(Hash::Md5, place, "&key=", b"S", b"text"), right, "{place:?}");
        }
        let right = hex(MacHash::Sha512.of(b"S", b"text&key=S").as_ref());
        assert_eq!(code(Hash::Sha512, SecretPlace::AfterAndHmac, "&key=", b"S", b"text"), right);
    }
}
