//! The client's side of Signature Version 4.

use weir_http::Header;

use super::canonical::{self, Names};
use super::query::{Query, SIGNATURE};
use super::uri::{Text, encode};
use super::{ALGORITHM, PathRule, UNSIGNED};
use crate::date::to_basic;
use crate::digest::Hash;
use crate::encoding::hex;
use crate::{Request, Signed, Signer, SigningKey, Unsigned};

/// Fields that servers on the way change or remove: signed, they would break the signature.
const NOT_SIGNED: [&str; 7] =
    ["authorization", "connection", "expect", "te", "transfer-encoding", "user-agent", "x-amzn-trace-id"];

/// Signs with Signature Version 4.
#[derive(Clone, Debug)]
pub struct AwsSigner {
    /// The region.
    pub region: String,
    /// The service.
    pub service: String,
    /// How the path is signed.
    pub path: PathRule,
    /// Whether to send the digest of the body in `x-amz-content-sha256`, as S3 demands.
    pub states_digest: bool,
    /// For how many seconds a presigned URL is to be valid; `None` signs in `Authorization`.
    pub presigned_s: Option<u64>,
}

impl Signer for AwsSigner {
    fn sign(&self, request: &Unsigned<'_>, key_id: &str, key: &SigningKey) -> Result<Signed, String> {
        let SigningKey::Secret(secret) = key else {
            return Err("Signature Version 4 needs a shared secret".to_owned());
        };
        let time = to_basic(request.now_ms).ok_or("the time is past the year 9999")?;
        let scope = [&time[..8], &self.region, &self.service].map(|part| part.as_bytes().to_vec());
        let credential = format!("{key_id}/{}/{}/{}/aws4_request", &time[..8], self.region, self.service);
        let digest = hex(Hash::Sha256.of(request.body).as_ref());

        let mut added = Vec::new();
        if self.presigned_s.is_none() {
            added.push(("x-amz-date".to_owned(), time.clone()));
        }
        if self.states_digest {
            added.push(("x-amz-content-sha256".to_owned(), digest.clone()));
        }
        let is_replaced = |name: &str| added.iter().any(|(added, _)| added.eq_ignore_ascii_case(name));
        let kept = request.headers.iter().filter(|(name, _)| !is_replaced(name));
        let headers: Vec<Header<'_>> =
            kept.chain(&added).map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes())).collect();
        let lower = headers.iter().map(|header| header.name.to_ascii_lowercase());
        let mut names: Vec<Vec<u8>> = lower.chain([b"host".to_vec()]).collect();
        names.retain(|name| !NOT_SIGNED.iter().any(|not| not.as_bytes() == name));
        names.sort();
        names.dedup();
        let names = names.join(&b';');
        let signed_names = String::from_utf8_lossy(&names);

        let mut target = request.target.to_owned();
        if let Some(seconds) = self.presigned_s {
            let parameters = [
                ("X-Amz-Algorithm", ALGORITHM),
                ("X-Amz-Credential", &credential),
                ("X-Amz-Date", &time),
                ("X-Amz-Expires", &seconds.to_string()),
                ("X-Amz-SignedHeaders", &signed_names),
            ];
            for (name, value) in parameters {
                add_parameter(&mut target, name, value);
            }
        }
        let head = Request {
            method: request.method.as_bytes(),
            is_tls: request.is_tls,
            client_certificate: None,
            authority: request.authority.as_bytes(),
            target: target.as_bytes(),
            headers: &headers,
        };
        let query = Query::read(head.query().unwrap_or_default());
        let canonical = Names::read(&names).and_then(|names| canonical::head(&head, &query, &names, self.path));
        let mut canonical = canonical.map_err(|failure| failure.to_string())?;
        let is_unsigned = self.presigned_s.is_some() && self.service.starts_with("s3") && !self.states_digest;
        canonical.extend_from_slice(if is_unsigned { UNSIGNED } else { digest.as_bytes() });
        let string = canonical::string_to_sign(time.as_bytes(), &scope, &canonical);
        let signature = hex(canonical::signature(secret.bytes(), &scope, &string).as_ref());

        if self.presigned_s.is_some() {
            add_parameter(&mut target, SIGNATURE, &signature);
            return Ok(Signed { headers: added, target: Some(target) });
        }
        let value = format!("{ALGORITHM} Credential={credential}, SignedHeaders={signed_names}, Signature={signature}");
        added.push(("authorization".to_owned(), value));
        Ok(Signed { headers: added, target: None })
    }
}

fn add_parameter(target: &mut String, name: &str, value: &str) {
    let mut encoded = Vec::new();
    encode(&mut encoded, value.as_bytes(), Text::Plain);
    let separator = if target.contains('?') { '&' } else { '?' };
    *target = format!("{target}{separator}{name}={}", String::from_utf8_lossy(&encoded));
}
