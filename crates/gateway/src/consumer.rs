//! From a consumer's document to what schemes look credentials up in.

use weir_auth::certificate::NameKind;
use weir_auth::encoding::from_hex;
use weir_auth::jwa::{Algorithm, Method, check_secret};
use weir_auth::key::PublicAlgorithm;
use weir_auth::password_hash::PasswordHash;
use weir_auth::{Credential, CredentialKind, Key, Secret, message, pem};

use crate::resource;

/// The shortest secret for signatures: whoever has seen one signed request, or the hash that the API shows, can guess as
/// fast as their machine.
const MIN_SECRET_BYTES: usize = 16;

/// The consumer with its keys read.
///
/// # Errors
/// The credential that has no usable key, and why.
pub fn consumer(of: &resource::Consumer) -> Result<weir_auth::Consumer, (usize, String)> {
    let read = |(at, credential)| self::credential(credential).map_err(|why| (at, why));
    let credentials = of.credentials.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    Ok(weir_auth::Consumer { id: of.id.clone(), groups: of.groups.clone(), credentials })
}

fn credential(of: &resource::Credential) -> Result<Credential, String> {
    let (kind, id, key) = match of {
        resource::Credential::KeyAuth { sha256 } => {
            let hash = from_hex(sha256.as_bytes()).filter(|hash| hash.len() == 32);
            (CredentialKind::ApiKey, hash.ok_or("expected the 64 hexadecimal digits of a SHA-256")?, None)
        }
        resource::Credential::Signature { id, key } => {
            (CredentialKind::Signature, id.clone().into_bytes(), Some(signature_key(key)?))
        }
        resource::Credential::Jwt { id, key } => (CredentialKind::Jwt, id.clone().into_bytes(), Some(token_key(key)?)),
        resource::Credential::BasicAuth { username, password_hash } => {
            PasswordHash::parse(&password_hash.0)?;
            let hash = Secret::new(password_hash.0.as_bytes());
            (CredentialKind::Password, username.clone().into_bytes(), Some(Key::Secret(hash)))
        }
        resource::Credential::Mtls { kind, name } => {
            let kind = NameKind::ALL.into_iter().find(|known| known.as_str() == kind);
            (CredentialKind::Certificate, kind.ok_or("expected a name of a certificate")?.credential_id(name), None)
        }
    };
    Ok(Credential { kind, id, key })
}

fn signature_key(of: &resource::CredentialKey) -> Result<Key, String> {
    if let Some(secret) = &of.secret {
        let bytes = secret.0.len();
        if bytes < MIN_SECRET_BYTES {
            return Err(format!(
                "a signing secret of {bytes} bytes, which can be guessed; expected {MIN_SECRET_BYTES}"
            ));
        }
        return Ok(Key::Secret(Secret::new(secret.0.as_bytes())));
    }
    let named = of.algorithm.as_deref().unwrap_or_default();
    let public = message::Algorithm::of_name(named).and_then(message::Algorithm::public);
    let algorithm = public.ok_or_else(|| format!("a public key needs an algorithm; there is no `{named}`"))?;
    public_key(algorithm, of.public_key.as_deref().unwrap_or_default())
}

fn token_key(of: &resource::CredentialKey) -> Result<Key, String> {
    let named = of.algorithm.as_deref().unwrap_or_default();
    let algorithm = Algorithm::named(named).ok_or_else(|| format!("there is no algorithm `{named}` for tokens"))?;
    match (algorithm.method, &of.secret, of.public_key.as_deref()) {
        (Method::Mac(hash), Some(secret), _) => {
            check_secret(hash, secret.0.as_bytes())?;
            Ok(Key::Hmac(hash, Secret::new(secret.0.as_bytes())))
        }
        (Method::Public(algorithm), _, Some(pem)) => public_key(algorithm, pem),
        (Method::Mac(_), None, _) => Err(format!("`{named}` needs `secret`")),
        (Method::Public(_), _, None) => Err(format!("`{named}` needs `public_key`")),
    }
}

fn public_key(algorithm: PublicAlgorithm, text: &str) -> Result<Key, String> {
    pem::public_key(text, algorithm).map(Key::Public)
}
