//! `Content-Digest` (RFC 9530): the field through which a signature covers the body.
//!
//! Every digest in the field that is known here must match, so that nobody picks the one that suits them; unknown ones
//! are ignored as long as one is known.

use super::component::Component;
use super::structured::parser::dictionary;
use super::structured::{Bare, Item, Member};
use crate::digest::{Hash, Hasher};
use crate::encoding::base64;
use crate::secret::equal;
use crate::{Failure, Reason};

/// Its name.
pub const CONTENT_DIGEST: &str = "content-digest";

/// The algorithms with the length of their digests in bytes. The others of the registry of RFC 9530, section 7.2, are
/// insecure.
const ALGORITHMS: [(&str, Hash, usize); 2] = [("sha-256", Hash::Sha256, 32), ("sha-512", Hash::Sha512, 64)];

/// The digests that a body must have, while it arrives.
pub struct BodyDigests {
    expected: Vec<(Hasher, Vec<u8>)>,
    is_empty: bool,
}

impl BodyDigests {
    /// The digests that the field states, if the components cover it; without them the body must be empty.
    ///
    /// # Errors
    /// A field that is not one, or without a known digest that is covered.
    pub fn of(components: &[Component<'_>], field: Option<&[u8]>) -> Result<Self, Failure> {
        let covering = || components.iter().filter(|covered| covered.name == CONTENT_DIGEST && !covered.of_request);
        let is_covered = |name: &str| covering().any(|covered| covered.key.is_none_or(|key| key == name));
        let mut expected = Vec::new();
        if covering().next().is_none() {
            return Ok(Self { expected, is_empty: true });
        }
        let members = dictionary(field.unwrap_or_default()).map_err(|fault| fault.of(CONTENT_DIGEST))?;
        let mut is_bound = false;
        for (name, member) in &members {
            let Some((_, hash, length)) = ALGORITHMS.iter().find(|row| row.0 == *name) else { continue };
            match member {
                Member::Item(Item { value: Bare::Bytes(bytes), .. }) if bytes.len() == *length => {
                    expected.push((hash.begin(), bytes.clone()));
                }
                Member::Item(_) | Member::List(..) => {
                    let detail = format!("`{CONTENT_DIGEST}`: `{name}` is not a byte sequence of {length} bytes");
                    return Err(Failure::new(Reason::Malformed, detail));
                }
            }
            is_bound |= is_covered(name);
        }
        if !is_bound {
            let detail = format!("`{CONTENT_DIGEST}` has no signed digest that is known: expected sha-256 or sha-512");
            return Err(Failure::new(Reason::Unsupported, detail));
        }
        Ok(Self { expected, is_empty: true })
    }

    /// Takes the next bytes of the body.
    pub fn absorb(&mut self, bytes: &[u8]) {
        self.is_empty &= bytes.is_empty();
        self.expected.iter_mut().for_each(|(hasher, _)| hasher.update(bytes));
    }

    /// Compares, after the last byte.
    ///
    /// # Errors
    /// A body whose digests are others, or that no digest covers.
    pub fn finish(self) -> Result<(), Failure> {
        if self.expected.is_empty() && !self.is_empty {
            let detail = format!("there is a body, but `{CONTENT_DIGEST}` is not signed");
            return Err(Failure::new(Reason::Incomplete, detail));
        }
        let differs = |(hasher, expected): (Hasher, Vec<u8>)| !equal(hasher.finish().as_ref(), &expected);
        let differing = self.expected.into_iter().map(differs).filter(|differs| *differs).count();
        if differing > 0 {
            let detail = format!("the body does not have the digest that `{CONTENT_DIGEST}` states");
            return Err(Failure::new(Reason::BodyChanged, detail));
        }
        Ok(())
    }
}

/// The field for a body; the hash function is SHA-256 or SHA-512.
///
/// # Errors
/// Other hash functions.
pub fn content_digest(hash: Hash, body: &[u8]) -> Result<String, String> {
    let row = ALGORITHMS.iter().find(|row| row.1 == hash);
    let (name, ..) = row.ok_or_else(|| format!("{hash:?} is not for `{CONTENT_DIGEST}`: use SHA-256 or SHA-512"))?;
    Ok(format!("{name}=:{}:", base64(hash.of(body).as_ref())))
}

#[cfg(test)]
mod tests {
    use super::super::structured::parser::item;
    use super::*;

    // The digests of the body {"hello": "world"} and a line feed in RFC 9530, appendix D, computed with `openssl dgst`.
    const BODY: &[u8] = b"{\"hello\": \"world\"}\n";
    const SHA_256: &str = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:";

    fn check(covered: &[&'static str], field: &str, body: &[u8]) -> Result<(), Reason> {
        let components: Vec<_> =
            covered.iter().map(|text| Component::of(item(text.as_bytes()).unwrap()).unwrap()).collect();
        let mut digests = BodyDigests::of(&components, Some(field.as_bytes())).map_err(|failure| failure.reason)?;
        body.chunks(3).for_each(|bytes| digests.absorb(bytes));
        digests.finish().map_err(|failure| failure.reason)
    }

    #[test]
    fn every_known_digest_must_match_and_one_must_be_signed() {
        let sha_512 = content_digest(Hash::Sha512, BODY).unwrap();
        let wrong = content_digest(Hash::Sha512, b"other").unwrap();
        let plain = "\"content-digest\"";
        assert_eq!(content_digest(Hash::Sha256, BODY).unwrap(), SHA_256);
        content_digest(Hash::Md5, BODY).unwrap_err();
        for (covered, field, expected) in [
            (&[plain][..], SHA_256.to_owned(), Ok(())),
            (&["\"content-digest\";sf"], SHA_256.to_owned(), Ok(())),
            (&[plain], sha_512.clone(), Ok(())),
            (&[plain], format!("{SHA_256}, {sha_512}, md5=:AAAA:"), Ok(())),
            (&[plain], format!("{SHA_256}, {wrong}"), Err(Reason::BodyChanged)),
            (&["\"content-digest\";key=\"sha-256\""], format!("{SHA_256}, {sha_512}"), Ok(())),
            (&["\"content-digest\";key=\"sha-256\""], format!("{SHA_256}, {wrong}"), Err(Reason::BodyChanged)),
            (&["\"content-digest\";key=\"sha-256\""], sha_512, Err(Reason::Unsupported)),
            (&["\"content-digest\";req"], SHA_256.to_owned(), Err(Reason::Incomplete)),
            (&[], SHA_256.to_owned(), Err(Reason::Incomplete)),
            (&[plain], "md5=:AAAA:".to_owned(), Err(Reason::Unsupported)),
            (&[plain], "sha-256=:AAAA:".to_owned(), Err(Reason::Malformed)),
            (&[plain], "sha-256=token".to_owned(), Err(Reason::Malformed)),
            (&[plain], "sha-256=()".to_owned(), Err(Reason::Malformed)),
            (&[plain], "sha-256".to_owned(), Err(Reason::Malformed)),
            (&[plain], format!("{SHA_256}, {SHA_256}"), Err(Reason::Duplicated)),
            (&[plain], SHA_256[..40].to_owned(), Err(Reason::Malformed)),
        ] {
            assert_eq!(check(covered, &field, BODY), expected, "{covered:?} {field}");
        }
        assert_eq!(check(&[], "", b""), Ok(()));
        assert_eq!(check(&[plain], SHA_256, b""), Err(Reason::BodyChanged));
    }
}
