//! The canonical request up to its last line, the string to sign, and the key that signs it.

use super::query::Query;
use super::uri;
use super::{ALGORITHM, PathRule};
use crate::digest::{Digest, Hash, MacHash};
use crate::encoding::hex;
use crate::excerpt::Excerpt;
use crate::{Failure, Reason, Request, Secret};

/// The most signed fields: S3 clients sign one for each item of metadata, of which 2 KiB are allowed.
const MAX_SIGNED: usize = 256;
/// A field that a proxy of AWS adds on the way to an origin (CloudFront's request id). No service acts on it.
const ADDED_ON_THE_WAY: &[u8] = b"x-amz-cf-id";

/// The names of the signed fields: lower-case, sorted, each once.
pub(super) struct Names<'a> {
    text: &'a [u8],
    names: Vec<&'a [u8]>,
}

impl<'a> Names<'a> {
    /// The names as a request lists them.
    pub(super) fn read(text: &'a [u8]) -> Result<Self, Failure> {
        let names: Vec<&[u8]> = text.split(|byte| *byte == b';').take(MAX_SIGNED + 1).collect();
        if names.len() > MAX_SIGNED {
            return Err(Failure::new(Reason::TooLarge, format!("more than {MAX_SIGNED} signed fields")));
        }
        if !names.is_sorted_by(|a, b| a < b) || text.iter().any(u8::is_ascii_uppercase) {
            return Err(Failure::new(Reason::Malformed, "the signed fields are not in lower case, sorted, each once"));
        }
        Ok(Self { text, names })
    }

    /// Whether a field is signed.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.binary_search(&name.as_bytes()).is_ok()
    }

    /// The position of a field, whatever its case.
    fn position(&self, name: &[u8]) -> Option<usize> {
        let lower = || name.iter().map(u8::to_ascii_lowercase);
        self.names.binary_search_by(|signed| signed.iter().copied().cmp(lower())).ok()
    }
}

/// The canonical request with all but its last line, which is the digest of the body.
///
/// # Errors
/// [`Reason::Incomplete`] if an `x-amz-` field is not signed, or a signed field is not there.
pub(super) fn head(
    request: &Request<'_>,
    query: &Query,
    names: &Names<'_>,
    rule: PathRule,
) -> Result<Vec<u8>, Failure> {
    let mut values: Vec<(usize, &[u8])> = Vec::new();
    for header in request.headers {
        match names.position(header.name) {
            // The authority is the one value of `host`, in HTTP/2 as in HTTP/1.
            Some(_) if header.name.eq_ignore_ascii_case(b"host") => {}
            Some(at) => values.push((at, header.value)),
            None if is_protected(header.name) => {
                return Err(Failure::new(Reason::Incomplete, format!("{} is not signed", Excerpt(header.name))));
            }
            None => {}
        }
    }
    values.extend(names.position(b"host").map(|at| (at, request.authority)));
    values.sort_by_key(|(at, _)| *at);

    let mut out = request.method.to_vec();
    out.push(b'\n');
    uri::path(&mut out, request.path(), rule);
    out.push(b'\n');
    query.write(&mut out);
    out.push(b'\n');
    let mut rest = &values[..];
    for (at, name) in names.names.iter().enumerate() {
        let (own, others) = rest.split_at(rest.partition_point(|(of, _)| *of == at));
        rest = others;
        if own.is_empty() {
            return Err(Failure::new(Reason::Incomplete, format!("the signed field {} is not there", Excerpt(name))));
        }
        out.extend_from_slice(name);
        for (number, (_, value)) in own.iter().enumerate() {
            out.push(if number == 0 { b':' } else { b',' });
            collapsed(&mut out, value);
        }
        out.push(b'\n');
    }
    out.push(b'\n');
    out.extend_from_slice(names.text);
    out.push(b'\n');
    Ok(out)
}

/// Whether a field must be signed if it is there.
fn is_protected(name: &[u8]) -> bool {
    let is_amz = name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case(b"x-amz-"));
    is_amz && !name.eq_ignore_ascii_case(ADDED_ON_THE_WAY)
}

/// Appends a value without white space around it, and with one space for each run of it.
fn collapsed(out: &mut Vec<u8>, value: &[u8]) {
    let words = value.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    for (number, word) in words.enumerate() {
        out.extend_from_slice(if number == 0 { b"" } else { b" " });
        out.extend_from_slice(word);
    }
}

/// The string to sign. `scope` is date, region and service.
pub(super) fn string_to_sign(time: &[u8], scope: &[Vec<u8>; 3], canonical_request: &[u8]) -> Vec<u8> {
    let [date, region, service] = scope;
    let scope = [date, region, service, &b"aws4_request"[..]].join(&b'/');
    [ALGORITHM.as_bytes(), time, &scope, hex(Hash::Sha256.of(canonical_request).as_ref()).as_bytes()].join(&b'\n')
}

/// The signature of a string: the key is derived from the secret by date, region and service, one HMAC each.
pub(super) fn signature(secret: &[u8], scope: &[Vec<u8>; 3], string_to_sign: &[u8]) -> Digest {
    let first = Secret::new([b"AWS4", secret].concat());
    let [date, region, service] = scope;
    let dated = MacHash::Sha256.of(first.bytes(), date);
    let steps = [region, service, &b"aws4_request"[..], string_to_sign];
    steps.into_iter().fold(dated, |key, step| MacHash::Sha256.of(key.as_ref(), step))
}
