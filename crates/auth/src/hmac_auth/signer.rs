//! The client's side: target, date, and the digest of a body, in any dialect.

use weir_http::Header;

use super::dialect::Dialect;
use super::lines::Lines;
use super::parameters::Parameters;
use crate::date::to_http;
use crate::digest::{Hash, MacHash};
use crate::encoding::base64;
use crate::{Request, Signed, Signer, SigningKey, Unsigned};

/// Signs with an HMAC.
#[derive(Clone, Debug)]
pub struct HmacSigner {
    /// Whose client it plays.
    pub dialect: Dialect,
    /// The hash function.
    pub hash: MacHash,
    /// Header fields of the request to sign besides target, date and digest, by their names in lower case.
    pub fields: Vec<String>,
}

impl Signer for HmacSigner {
    fn sign(&self, request: &Unsigned<'_>, key_id: &str, key: &SigningKey) -> Result<Signed, String> {
        let SigningKey::Secret(secret) = key else { return Err("an HMAC needs a shared secret".to_owned()) };
        if key_id.contains(['"', '\\']) {
            return Err("a key id with a quotation mark or backslash cannot be written".to_owned());
        }
        let row = self.dialect.row();
        let mut added = vec![("date".to_owned(), to_http(request.now_ms).ok_or("the time is past the year 9999")?)];
        if !request.body.is_empty() {
            let digest = base64(Hash::Sha256.of(request.body).as_ref());
            added.push(("digest".to_owned(), format!("SHA-256={digest}")));
        }
        let is_replaced = |name: &str| added.iter().any(|(added, _)| added.eq_ignore_ascii_case(name));
        let kept = request.headers.iter().filter(|(name, _)| !is_replaced(name));
        let headers: Vec<Header<'_>> =
            kept.chain(&added).map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes())).collect();
        let target: &str = row.targets().next().expect("each dialect has a component for the target");
        let names = [target].into_iter().chain(added.iter().map(|(name, _)| name.as_str()));
        let names: Vec<&str> = names.chain(self.fields.iter().map(String::as_str)).collect();
        let names = names.join(" ");
        let algorithm = row.algorithms.iter().find(|(_, hash)| *hash == self.hash).map_or("", |(name, _)| *name);

        let head = Request {
            method: request.method.as_bytes(),
            is_tls: request.is_tls,
            client_certificate: None,
            authority: request.authority.as_bytes(),
            target: request.target.as_bytes(),
            headers: &headers,
        };
        let parameters = Parameters {
            key_id: key_id.as_bytes(),
            algorithm: algorithm.as_bytes(),
            components: names.as_bytes(),
            signature: b"",
            created: None,
            expires: None,
        };
        let lines = Lines::write(&head, row, &parameters).map_err(|failure| failure.to_string())?;
        let signature = base64(self.hash.of(secret.bytes(), &lines.text).as_ref());
        let (field, scheme) = row.places[0];
        let id = row.key_id;
        let value = format!(
            "{scheme} {id}=\"{key_id}\", algorithm=\"{algorithm}\", headers=\"{names}\", signature=\"{signature}\""
        );
        added.push((field.to_owned(), value));
        Ok(Signed { headers: added, target: None })
    }
}
