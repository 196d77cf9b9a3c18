//! `Content-Encoding` of a request body. A body in a coding is data that rules do not see, so it is an anomaly
//! unless the policy asks for it to be decoded, which costs time and memory up to the body limit.

use std::io::Read;

use bumpalo::Bump;
use bumpalo::collections::Vec;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use crate::bound::Extent;
use crate::text;

/// The coding of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContentCoding {
    /// None.
    #[default]
    Identity,
    /// `gzip`, `x-gzip`
    Gzip,
    /// `deflate`: zlib, or bare as some clients send it.
    Deflate,
    /// Another one, or several.
    Other,
}

/// A decoded body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inflated<'a> {
    /// The content, at most as long as the limit.
    pub content: &'a [u8],
    /// Whether that is only its beginning.
    pub extent: Extent,
    /// Whether it is in the coding, to its end.
    pub is_valid: bool,
}

impl ContentCoding {
    /// The coding of a request with these field values.
    #[must_use]
    pub fn of_request<'a>(values: impl Iterator<Item = &'a [u8]>) -> Self {
        let codings = values.flat_map(|value| value.split(|byte| *byte == b',')).map(text::trim);
        let mut found = Self::Identity;
        for coding in codings.filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity")) {
            let known = |names: &[&[u8]]| names.iter().any(|name| coding.eq_ignore_ascii_case(name));
            found = match found {
                Self::Identity if known(&[b"gzip", b"x-gzip"]) => Self::Gzip,
                Self::Identity if known(&[b"deflate"]) => Self::Deflate,
                _ => Self::Other,
            };
        }
        found
    }

    /// Decodes up to `limit` bytes of `body`, of which `extent` is known. `None` for a coding that is not known.
    #[must_use]
    pub fn inflate<'a>(self, arena: &'a Bump, body: &'a [u8], extent: Extent, limit: usize) -> Option<Inflated<'a>> {
        let (content, ends) = match self {
            Self::Identity => return Some(Inflated { content: body, extent, is_valid: true }),
            Self::Other => return None,
            Self::Gzip => read(arena, MultiGzDecoder::new(body), limit),
            Self::Deflate if is_zlib(body) => read(arena, ZlibDecoder::new(body), limit),
            Self::Deflate => read(arena, DeflateDecoder::new(body), limit),
        };
        let is_cut = ends == Ends::AtLimit || extent == Extent::Beginning;
        let is_valid = ends != Ends::WithError || extent == Extent::Beginning;
        Some(Inflated { content, extent: if is_cut { Extent::Beginning } else { Extent::Whole }, is_valid })
    }
}

/// Whether a body begins as RFC 1950, section 2.2, says.
fn is_zlib(body: &[u8]) -> bool {
    matches!(*body, [cmf, flags, ..] if cmf & 15 == 8 && (u16::from(cmf) << 8 | u16::from(flags)) % 31 == 0)
}

/// How reading ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    AtEnd,
    AtLimit,
    WithError,
}

/// Reads up to `limit` bytes, and one more to see whether there are more.
fn read(arena: &Bump, mut from: impl Read, limit: usize) -> (&[u8], Ends) {
    let mut content = Vec::new_in(arena);
    let mut chunk = [0; 8192];
    let ends = loop {
        match from.read(&mut chunk) {
            Ok(0) => break Ends::AtEnd,
            Ok(length) if length > limit - content.len() => {
                content.extend_from_slice_copy(&chunk[..limit - content.len()]);
                break Ends::AtLimit;
            }
            Ok(length) => content.extend_from_slice_copy(&chunk[..length]),
            Err(_) => break Ends::WithError,
        }
    };
    (content.into_bump_slice(), ends)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    fn gzip(content: &[u8]) -> std::vec::Vec<u8> {
        let mut encoder = GzEncoder::new(std::vec::Vec::new(), Compression::best());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn the_coding_is_that_of_all_fields() {
        use ContentCoding::{Deflate, Gzip, Identity, Other};
        let cases: [(&[&[u8]], ContentCoding); 9] = [
            (&[], Identity),
            (&[b""], Identity),
            (&[b"identity", b" , Identity"], Identity),
            (&[b"GZip"], Gzip),
            (&[b"x-gzip"], Gzip),
            (&[b"identity, deflate"], Deflate),
            (&[b"br"], Other),
            (&[b"gzip", b"gzip"], Other),
            (&[b"gzip, br"], Other),
        ];
        for (values, coding) in cases {
            assert_eq!(ContentCoding::of_request(values.iter().copied()), coding, "{values:?}");
        }
    }

    #[test]
    fn what_is_compressed_is_read_to_the_limit() {
        let content = b"q=1' or 1=1--".repeat(1000);
        let mut zlib = ZlibEncoder::new(std::vec::Vec::new(), Compression::fast());
        zlib.write_all(&content).unwrap();
        let mut bare = DeflateEncoder::new(std::vec::Vec::new(), Compression::fast());
        bare.write_all(&content).unwrap();
        let (gzip, zlib, bare) = (gzip(&content), zlib.finish().unwrap(), bare.finish().unwrap());
        for (coding, body) in
            [(ContentCoding::Gzip, &gzip), (ContentCoding::Deflate, &zlib), (ContentCoding::Deflate, &bare)]
        {
            let arena = Bump::new();
            let inflate = |body, extent, limit| coding.inflate(&arena, body, extent, limit).unwrap();
            let whole = inflate(body, Extent::Whole, content.len());
            assert_eq!(whole, Inflated { content: &content, extent: Extent::Whole, is_valid: true });
            let cut = inflate(body, Extent::Whole, content.len() - 1);
            assert_eq!((cut.content.len(), cut.extent), (content.len() - 1, Extent::Beginning));
            let half = &body[..body.len() / 2];
            assert!(!inflate(half, Extent::Whole, content.len()).is_valid);
            assert!(inflate(half, Extent::Beginning, content.len()).is_valid);
        }
        let two = [&gzip[..], &gzip].concat();
        let arena = Bump::new();
        let both = ContentCoding::Gzip.inflate(&arena, &two, Extent::Whole, usize::MAX).unwrap();
        assert_eq!(both.content.len(), 2 * content.len(), "members are joined (RFC 1952, section 2.2)");
        let trailing = [&gzip[..], b"x"].concat();
        assert!(!ContentCoding::Gzip.inflate(&arena, &trailing, Extent::Whole, usize::MAX).unwrap().is_valid);
        assert!(ContentCoding::Other.inflate(&arena, &gzip, Extent::Whole, 1).is_none());
    }

    #[test]
    fn a_bomb_costs_no_more_than_the_limit() {
        let bomb = gzip(&vec![0; 64 << 20]);
        let arena = Bump::new();
        let inflated = ContentCoding::Gzip.inflate(&arena, &bomb, Extent::Whole, 1 << 20).unwrap();
        assert_eq!((inflated.content.len(), inflated.extent), (1 << 20, Extent::Beginning));
        assert!(arena.allocated_bytes() < 8 << 20);
    }
}
