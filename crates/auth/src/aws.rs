//! AWS Signature Version 4, in the `Authorization` header and in presigned query strings: for clients that have an AWS
//! library or `curl --aws-sigv4` and nothing else.
//!
//! Source: "AWS Signature Version 4 for API requests" in the IAM user guide and "Authenticating Requests" in the S3
//! reference; where these are silent, the behaviour is that of `aws-c-auth`, whose test suite passes. Stricter than
//! both: every `x-amz-` field must be signed, the security token included. SigV4A and the chunked payloads of S3
//! (`STREAMING-`) are refused: the former needs a key pair derived from the secret, the latter a decoder of the body.
//!
//! What is signed: method, path, query, the named header fields and the digest of the body. If the request does not
//! state the digest, the canonical request is complete only when the body is.

mod canonical;
mod claim;
mod pending;
mod query;
mod signer;
#[cfg(test)]
mod tests;
mod uri;

use std::borrow::Cow;

use canonical::Names;
use claim::{Claim, Scope};
use pending::{AwsPending, Payload};
use query::Query;
pub use signer::AwsSigner;

use crate::date::to_basic;
use crate::digest::Hash;
use crate::encoding::from_hex;
use crate::excerpt::Excerpt;
use crate::trial::Trial;
use crate::{Failure, Keys, Pending, Reason, Request, Scheme};

/// The name of the algorithm.
const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// The longest that a presigned URL may be valid: 7 days (S3 reference, `X-Amz-Expires`).
pub const MAX_EXPIRY_S: u64 = 7 * 24 * 3600;
/// What stands for a body that is not signed.
const UNSIGNED: &[u8] = b"UNSIGNED-PAYLOAD";

/// How the path of a request gets into the canonical request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathRule {
    /// Whether `.`, `..` and empty segments are removed first.
    pub is_normalized: bool,
    /// Whether the path, which is percent-encoded as sent, is encoded once more (`%` becomes `%25`).
    pub is_encoded_again: bool,
}

impl PathRule {
    /// The rule of all services but S3.
    pub const DEFAULT: Self = Self { is_normalized: true, is_encoded_again: true };
    /// The rule of S3.
    pub const S3: Self = Self { is_normalized: false, is_encoded_again: false };
}

/// Whether a request may leave its body out of the signature by `UNSIGNED-PAYLOAD`, as presigned URLs of S3 always do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsignedPayload {
    /// No.
    Refused,
    /// If the client used TLS, so that nobody on the way could change the body.
    OverTls,
    /// Yes.
    Allowed,
}

/// Signature Version 4 with its options.
#[derive(Clone, Debug)]
pub struct Aws {
    /// The regions that a request may be signed for; empty: any.
    pub regions: Vec<String>,
    /// The services that a request may be signed for; empty: any.
    pub services: Vec<String>,
    /// How far the time of a request may be from now, in seconds, either way. Default: 300.
    pub clock_skew_s: u64,
    /// The longest that a presigned URL may be valid, in seconds; at most [`MAX_EXPIRY_S`], which is the default. 0
    /// refuses presigned URLs.
    pub max_expiry_s: u64,
    /// How the path is signed. Default: [`PathRule::DEFAULT`].
    pub path: PathRule,
    /// Whether bodies may be left unsigned. Default: refused.
    pub unsigned_payload: UnsignedPayload,
}

impl Default for Aws {
    fn default() -> Self {
        Self {
            regions: Vec::new(),
            services: Vec::new(),
            clock_skew_s: 300,
            max_expiry_s: MAX_EXPIRY_S,
            path: PathRule::DEFAULT,
            unsigned_payload: UnsignedPayload::Refused,
        }
    }
}

impl Scheme for Aws {
    fn begin<'a>(&self, request: &Request<'a>, keys: &dyn Keys, now_ms: u64) -> Result<Box<dyn Pending + 'a>, Failure> {
        let query = Query::read(request.query().unwrap_or_default());
        let claim = Claim::find(request, &query)?;
        let scope = Scope::read(&claim.credential)?;
        for (what, found, allowed) in
            [("region", scope.region, &self.regions), ("service", scope.service, &self.services)]
        {
            if !allowed.is_empty() && !allowed.iter().any(|one| one.as_bytes() == found) {
                let detail = format!("signed for {what} {}, allowed: {}", Excerpt(found), allowed.join(", "));
                return Err(Failure::new(Reason::Unsupported, detail));
            }
        }
        let expires_ms = self.check_time(&claim, now_ms)?;
        let time = to_basic(claim.time_ms).expect("a date that was read can be written").into_bytes();
        if time[..scope.date.len()] != *scope.date {
            return Err(Failure::new(
                Reason::Malformed,
                format!("the scope is of {}, the request of another day", Excerpt(scope.date)),
            ));
        }
        let names = Names::read(&claim.signed)?;
        let mut needed = [Some("host"), claim.date_field].into_iter().flatten();
        if let Some(missing) = needed.find(|name| !names.has(name)) {
            return Err(Failure::new(Reason::Incomplete, format!("`{missing}` is not among the signed fields")));
        }
        let head = canonical::head(request, &query, &names, self.path)?;
        let payload = self.payload(request, &claim, &scope)?;
        let is_lower = !claim.signature.iter().any(u8::is_ascii_uppercase);
        let signature = from_hex(&claim.signature).filter(|bytes| is_lower && bytes.len() == 32);
        let signature = signature
            .ok_or(Failure::new(Reason::Malformed, "the signature is not 64 lower-case hexadecimal digits"))?;
        let trial = Trial::of_id(keys, scope.id);
        let scope = [scope.date, scope.region, scope.service].map(<[u8]>::to_vec);
        let signed_ms = claim.time_ms;
        Ok(Box::new(AwsPending { trial, scope, time, head, payload, signature, signed_ms, expires_ms }))
    }

    fn reads_body(&self) -> bool {
        true
    }

    fn challenge(&self) -> &'static str {
        ALGORITHM
    }

    fn credential_fields(&self) -> Vec<&str> {
        let fields = ["authorization", "x-amz-security-token", "X-Amz-Security-Token"];
        fields.into_iter().chain(claim::QUERY_PARAMETERS).collect()
    }
}

impl Aws {
    /// The options of a service that behaves as S3.
    #[must_use]
    pub fn s3() -> Self {
        let (path, unsigned_payload) = (PathRule::S3, UnsignedPayload::OverTls);
        Self { services: vec!["s3".to_owned()], path, unsigned_payload, ..Self::default() }
    }

    /// When the claim expires, if it is valid now.
    fn check_time(&self, claim: &Claim<'_>, now_ms: u64) -> Result<u64, Failure> {
        let skew_ms = self.clock_skew_s.saturating_mul(1000);
        let validity_ms = match &claim.expires {
            None => skew_ms,
            Some(text) => {
                let most = self.max_expiry_s.min(MAX_EXPIRY_S);
                let seconds =
                    std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
                let malformed = || Failure::new(Reason::Malformed, format!("X-Amz-Expires is {}", Excerpt(text)));
                let seconds = seconds.and_then(|text| text.parse::<u64>().ok()).filter(|seconds| *seconds > 0);
                let seconds = seconds.ok_or_else(malformed)?;
                if seconds > most {
                    let detail = format!("valid for {seconds} s; at most {most} s are allowed");
                    return Err(Failure::new(Reason::TooLarge, detail));
                }
                seconds * 1000
            }
        };
        let ahead_ms = claim.time_ms.saturating_sub(now_ms);
        if ahead_ms > skew_ms {
            let detail =
                format!("signed {} s in the future; at most {} s are allowed", ahead_ms / 1000, skew_ms / 1000);
            return Err(Failure::new(Reason::NotYet, detail));
        }
        let age_ms = now_ms.saturating_sub(claim.time_ms);
        if age_ms > validity_ms {
            let detail = format!("signed {} s ago; valid for {} s", age_ms / 1000, validity_ms / 1000);
            return Err(Failure::new(Reason::Expired, detail));
        }
        Ok(claim.time_ms.saturating_add(validity_ms))
    }

    /// What stands for the body in the canonical request.
    fn payload(&self, request: &Request<'_>, claim: &Claim<'_>, scope: &Scope<'_>) -> Result<Payload, Failure> {
        let field = request.only("x-amz-content-sha256")?.map(Cow::Borrowed);
        let stated = match (field, &claim.content_sha256) {
            (Some(field), Some(parameter)) if field != *parameter => {
                return Err(Failure::new(Reason::Duplicated, "header and query state different digests of the body"));
            }
            (Some(stated), _) => Some(stated),
            (None, Some(stated)) => Some(Cow::Borrowed(&**stated)),
            // S3 reference, "Authenticating Requests: Using Query Parameters": the body is not known when it is signed.
            (None, None) => (claim.expires.is_some() && scope.is_s3()).then_some(Cow::Borrowed(UNSIGNED)),
        };
        let unsupported = |detail: String| Err(Failure::new(Reason::Unsupported, detail));
        match stated.as_deref() {
            None => Ok(Payload::Body(Hash::Sha256.begin())),
            Some(UNSIGNED) => match self.unsigned_payload {
                UnsignedPayload::Allowed => Ok(Payload::Unsigned),
                UnsignedPayload::OverTls if request.is_tls => Ok(Payload::Unsigned),
                UnsignedPayload::OverTls => {
                    unsupported("the body is not signed, and the request came without TLS".to_owned())
                }
                UnsignedPayload::Refused => unsupported("the body is not signed: UNSIGNED-PAYLOAD".to_owned()),
            },
            Some(stated) if stated.starts_with(b"STREAMING-") => {
                unsupported(format!("the body is signed in chunks, which is not supported: {}", Excerpt(stated)))
            }
            Some(stated) => match from_hex(stated).is_some_and(|bytes| bytes.len() == 32) {
                true => Ok(Payload::Stated(stated.to_vec(), Hash::Sha256.begin())),
                false => Err(Failure::new(Reason::Malformed, format!("x-amz-content-sha256 is {}", Excerpt(stated)))),
            },
        }
    }
}
