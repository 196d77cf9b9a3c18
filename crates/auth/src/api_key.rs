//! API keys: the key alone proves who sent a request.
//!
//! A credential's id is the SHA-256 of its key. The look-up never compares keys, so its duration does not help anyone
//! guess one, and neither a state file nor a log can give a key away. A salted or slow hash would need a user name to
//! find the credential by; instead, keys of at least [`MIN_BYTES`] random bytes cannot be guessed from their hashes.

use crate::digest::{Digest, Hash};
use crate::place::{self, Place};
use crate::{CredentialKind, Failure, Identity, Keys, Reason, Request};

/// The shortest key in bytes: 16 random characters of Base64 are 96 bits.
pub const MIN_BYTES: usize = 16;
/// The longest key in bytes. Vendors' keys have up to about 200.
pub const MAX_BYTES: usize = 512;

/// Options for API keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Where the key may be. Default: the fields `apikey` and `x-api-key`.
    pub places: Vec<Place>,
}

impl Default for ApiKey {
    fn default() -> Self {
        Self { places: ["apikey", "x-api-key"].map(|name| Place::Header(name.to_owned())).to_vec() }
    }
}

impl ApiKey {
    /// Finds the consumer whose key is in a request.
    ///
    /// # Errors
    /// [`Reason::Missing`], [`Reason::Duplicated`], [`Reason::TooLarge`], or [`Reason::UnknownKey`].
    pub fn verify(&self, request: &Request<'_>, keys: &dyn Keys) -> Result<Identity, Failure> {
        let key = place::only(&self.places, request)?;
        if key.len() > MAX_BYTES {
            let detail = format!("a key of {} bytes; at most {MAX_BYTES} are read", key.len());
            return Err(Failure::new(Reason::TooLarge, detail));
        }
        let found = keys.find(CredentialKind::ApiKey, credential_id(&key).as_ref());
        let found = found.ok_or_else(|| Failure::new(Reason::UnknownKey, "no consumer has this key"))?;
        Ok(Identity::of(found))
    }
}

/// The id of the credential of a key: its SHA-256, 32 bytes.
#[must_use]
pub fn credential_id(key: &[u8]) -> Digest {
    Hash::Sha256.of(key)
}

/// Checks a key before it is given to a consumer.
///
/// # Errors
/// A sentence about its length, or about a character that not every place can carry. It does not repeat the key.
pub fn check(key: &[u8]) -> Result<(), String> {
    if !(MIN_BYTES..=MAX_BYTES).contains(&key.len()) {
        let length = key.len();
        return Err(format!("an API key of {length} bytes; expected {MIN_BYTES} to {MAX_BYTES}, made at random"));
    }
    if key.iter().any(|byte| !byte.is_ascii_graphic() || b";,\"\\".contains(byte)) {
        return Err("an API key consists of visible ASCII characters without ; , \" and \\".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_http::Header;

    use super::*;
    use crate::encoding::hex;
    use crate::{Consumer, Consumers, Credential};

    const KEY: &str = "Zm9vYmFyYmF6cXV4MDEyMw+/==";

    fn consumers() -> Consumers {
        let credential = |kind, id: &[u8]| Credential { kind, id: id.to_vec(), key: None };
        let mut consumers = Consumers::default();
        let credentials = vec![
            credential(CredentialKind::Signature, b"other"),
            credential(CredentialKind::ApiKey, credential_id(KEY.as_bytes()).as_ref()),
        ];
        consumers.put(Consumer { id: "shop".to_owned(), groups: Vec::new(), credentials });
        consumers
    }

    fn verified(target: &str, headers: &[(&str, &[u8])]) -> Result<(String, usize), Reason> {
        let headers: Vec<Header<'_>> =
            headers.iter().map(|(name, value)| Header::new(name.as_bytes(), value)).collect();
        let mut api_key = ApiKey::default();
        api_key.places.push(Place::Query("key".to_owned()));
        let request = Request {
            method: b"GET",
            is_tls: true,
            client_certificate: None,
            authority: b"a.example",
            target: target.as_bytes(),
            headers: &headers,
        };
        let identity = api_key.verify(&request, &consumers()).map_err(|failure| failure.reason)?;
        Ok((identity.consumer.id.clone(), identity.credential.expect("it has one")))
    }

    #[test]
    fn a_key_is_found_by_its_hash() {
        // FIPS 180-4 examples: SHA-256 of "abc".
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(credential_id(b"abc").as_ref()), abc);
        let found = Ok(("shop".to_owned(), 1));
        assert_eq!(verified("/", &[("ApiKey", KEY.as_bytes())]), found);
        assert_eq!(verified("/", &[("X-API-Key", KEY.as_bytes())]), found);
        assert_eq!(verified("/?key=Zm9vYmFyYmF6cXV4MDEyMw%2b%2F%3D%3D", &[]), found);
    }

    #[test]
    fn refuses() {
        let key = KEY.as_bytes();
        let long = vec![b'a'; MAX_BYTES + 1];
        let hash = credential_id(key);
        type Case<'a> = (&'a str, &'a [(&'a str, &'a [u8])], Reason);
        let cases: [Case<'_>; 10] = [
            ("/", &[], Reason::Missing),
            ("/", &[("apikey", b"")], Reason::UnknownKey),
            ("/", &[("apikey", &key[1..])], Reason::UnknownKey),
            ("/", &[("apikey", b"\xff\0")], Reason::UnknownKey),
            ("/", &[("apikey", hash.as_ref())], Reason::UnknownKey),
            ("/", &[("apikey", &long)], Reason::TooLarge),
            ("/", &[("apikey", key), ("apikey", key)], Reason::Duplicated),
            ("/", &[("apikey", key), ("x-api-key", key)], Reason::Duplicated),
            ("/?key=1", &[("apikey", key)], Reason::Duplicated),
            ("/", &[("authorization", key)], Reason::Missing),
        ];
        for (target, headers, reason) in cases {
            assert_eq!(verified(target, headers), Err(reason), "{target} {headers:?}");
        }
    }

    #[test]
    fn keys_are_long_and_printable() {
        assert_eq!(check(KEY.as_bytes()), Ok(()));
        assert_eq!(check(&[b'a'; MAX_BYTES]), Ok(()));
        for key in [&b"short"[..], &[b'a'; 15], &[b'a'; MAX_BYTES + 1], b"with a space in it", b"0123456789abcde\xff"] {
            assert!(!check(key).unwrap_err().contains("short"));
        }
    }

    proptest! {
        #[test]
        fn any_changed_byte_is_another_key(at in 0..KEY.len(), change in 1..=255u8) {
            let mut key = KEY.as_bytes().to_vec();
            key[at] ^= change;
            prop_assert_eq!(verified("/", &[("apikey", &key)]), Err(Reason::UnknownKey));
        }
    }
}
