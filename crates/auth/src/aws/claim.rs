//! What a request claims: credential, time, signed fields, signature; from `Authorization` or from the query.

use std::borrow::Cow;

use super::ALGORITHM;
use super::query::Query;
use crate::date::{from_basic, from_http};
use crate::excerpt::Excerpt;
use crate::{Failure, Reason, Request};

/// The longest `Authorization`: the names of as many fields as may be signed, with room for the rest.
const MAX_HEADER_BYTES: usize = 8192;
/// The longest credential: a key id of 256 bytes and a scope.
const MAX_CREDENTIAL_BYTES: usize = 512;
/// The parameters of `Authorization`.
const HEADER_PARAMETERS: [&str; 3] = ["Credential", "SignedHeaders", "Signature"];
/// The query parameters that carry credentials.
pub(super) const QUERY_PARAMETERS: [&str; 7] = [
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Date",
    "X-Amz-Expires",
    "X-Amz-SignedHeaders",
    "X-Amz-Signature",
    "X-Amz-Content-Sha256",
];

/// The claim of a request.
pub(super) struct Claim<'a> {
    /// Key id and scope.
    pub(super) credential: Cow<'a, [u8]>,
    /// The names of the signed fields, separated by `;`.
    pub(super) signed: Cow<'a, [u8]>,
    /// The signature in hexadecimal.
    pub(super) signature: Cow<'a, [u8]>,
    /// When it was signed, in milliseconds since the Unix epoch.
    pub(super) time_ms: u64,
    /// The header field with that time, which must be signed; `None` if the query has it.
    pub(super) date_field: Option<&'static str>,
    /// For how many seconds it is valid; `None` if it is in `Authorization`.
    pub(super) expires: Option<Vec<u8>>,
    /// The digest of the body as the query states it.
    pub(super) content_sha256: Option<Vec<u8>>,
}

impl<'a> Claim<'a> {
    /// Finds the claim.
    pub(super) fn find(request: &Request<'a>, query: &Query) -> Result<Self, Failure> {
        let header = request.only("authorization")?.filter(|value| value.starts_with(b"AWS"));
        let is_in_query = ["X-Amz-Algorithm", "X-Amz-Signature"].iter().any(|name| query.values(name).next().is_some());
        match (header, is_in_query) {
            (Some(value), false) => Self::of_header(request, value),
            (None, true) => Self::of_query(query),
            (Some(_), true) => Err(Failure::new(Reason::Duplicated, "signatures in `Authorization` and in the query")),
            (None, false) => {
                Err(Failure::new(Reason::Missing, "no Signature Version 4 in `Authorization` or the query"))
            }
        }
    }

    fn of_header(request: &Request<'a>, value: &'a [u8]) -> Result<Self, Failure> {
        if value.len() > MAX_HEADER_BYTES {
            let detail = format!("`Authorization` has {} bytes; at most {MAX_HEADER_BYTES} are read", value.len());
            return Err(Failure::new(Reason::TooLarge, detail));
        }
        let space = memchr::memchr(b' ', value).unwrap_or(value.len());
        check_algorithm(&value[..space])?;
        let mut found: [Option<&'a [u8]>; 3] = [None; 3];
        for part in value[space..].split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            let equals = memchr::memchr(b'=', part).unwrap_or(part.len());
            let name = &part[..equals];
            let Some(at) = HEADER_PARAMETERS.iter().position(|known| known.as_bytes() == name) else {
                let expected = HEADER_PARAMETERS.join(", ");
                let detail = format!("parameter {} in `Authorization`, expected {expected}", Excerpt(name));
                return Err(Failure::new(Reason::Malformed, detail));
            };
            if found[at].replace(part.get(equals + 1..).unwrap_or_default()).is_some() {
                return Err(Failure::new(Reason::Duplicated, format!("several `{}`", HEADER_PARAMETERS[at])));
            }
        }
        let [Some(credential), Some(signed), Some(signature)] = found else {
            let missing = HEADER_PARAMETERS.iter().zip(found).find(|(_, found)| found.is_none());
            let name = missing.map_or("", |(name, _)| name);
            return Err(Failure::new(Reason::Malformed, format!("no `{name}` in `Authorization`")));
        };
        let (date_field, date) = match request.only("x-amz-date")? {
            Some(date) => ("x-amz-date", date),
            None => {
                ("date", request.only("date")?.ok_or(Failure::new(Reason::Incomplete, "no `x-amz-date` or `date`"))?)
            }
        };
        Ok(Self {
            credential: credential.into(),
            signed: signed.into(),
            signature: signature.into(),
            time_ms: time(date)?,
            date_field: Some(date_field),
            expires: None,
            content_sha256: None,
        })
    }

    fn of_query(query: &Query) -> Result<Self, Failure> {
        let mut found: [Option<Vec<u8>>; 7] = [const { None }; 7];
        for (place, name) in found.iter_mut().zip(QUERY_PARAMETERS) {
            let mut values = query.values(name);
            *place = values.next();
            if values.next().is_some() {
                return Err(Failure::new(Reason::Duplicated, format!("several `{name}`")));
            }
        }
        let content_sha256 = found[6].take();
        let missing = found[..6].iter().position(Option::is_none).map(|at| QUERY_PARAMETERS[at]);
        let [Some(algorithm), Some(credential), Some(date), expires @ Some(_), Some(signed), Some(signature), _] =
            found
        else {
            return Err(Failure::new(Reason::Malformed, format!("no `{}` in the query", missing.unwrap_or_default())));
        };
        check_algorithm(&algorithm)?;
        Ok(Self {
            credential: credential.into(),
            signed: signed.into(),
            signature: signature.into(),
            time_ms: time(&date)?,
            date_field: None,
            expires,
            content_sha256,
        })
    }
}

fn check_algorithm(found: &[u8]) -> Result<(), Failure> {
    if found == ALGORITHM.as_bytes() {
        return Ok(());
    }
    let version = match found {
        b"AWS" => "Signature Version 2",
        b"AWS4-ECDSA-P256-SHA256" => "Signature Version 4A",
        _ => "the algorithm",
    };
    Err(Failure::new(
        Reason::Unsupported,
        format!("{version} is not supported: {}, expected {ALGORITHM}", Excerpt(found)),
    ))
}

fn time(text: &[u8]) -> Result<u64, Failure> {
    let malformed =
        || Failure::new(Reason::Malformed, format!("the date is {}, expected yyyymmddThhmmssZ", Excerpt(text)));
    from_basic(text).or_else(|| from_http(text)).ok_or_else(malformed)
}

/// A key id and what the derived key is good for.
pub(super) struct Scope<'a> {
    /// The key id, which may contain `/`.
    pub(super) id: &'a [u8],
    /// `yyyymmdd`.
    pub(super) date: &'a [u8],
    /// The region.
    pub(super) region: &'a [u8],
    /// The service.
    pub(super) service: &'a [u8],
}

impl<'a> Scope<'a> {
    /// The parts of a credential: `id/date/region/service/aws4_request`.
    pub(super) fn read(credential: &'a [u8]) -> Result<Self, Failure> {
        if credential.len() > MAX_CREDENTIAL_BYTES {
            let detail =
                format!("the credential has {} bytes; at most {MAX_CREDENTIAL_BYTES} are read", credential.len());
            return Err(Failure::new(Reason::TooLarge, detail));
        }
        let mut parts = credential.rsplitn(5, |byte| *byte == b'/');
        let mut next = || parts.next().filter(|part| !part.is_empty() && part.iter().all(u8::is_ascii_graphic));
        match [(); 5].map(|()| next()) {
            [Some(b"aws4_request"), Some(service), Some(region), Some(date), Some(id)] if date.len() == 8 => {
                Ok(Self { id, date, region, service })
            }
            _ => {
                let detail = format!(
                    "the credential is {}, expected id/yyyymmdd/region/service/aws4_request",
                    Excerpt(credential)
                );
                Err(Failure::new(Reason::Malformed, detail))
            }
        }
    }

    /// Whether the service is S3 or one of its relatives, such as `s3-outposts`.
    pub(super) fn is_s3(&self) -> bool {
        self.service.starts_with(b"s3")
    }
}
