//! The key that a request is signed with: of the command line, or else of the credential.

use std::fs;
use std::path::Path;

use weir_auth::{CredentialKind, Secret, SigningKey, pem};
use weir_policy::signing::SigningCredential;

use crate::Failure;
use crate::arguments::Sign;

/// The longest file with a key: an RSA key of 8192 bits has 6500 bytes.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// The key of the command line.
pub(super) fn given(sign: &Sign) -> Result<Option<SigningKey>, Failure> {
    let secret = |text: &str, what: &str| {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        if text.is_empty() || text.contains(char::is_control) {
            return Err(Failure::new(format!("{what}: a secret is one line, and not empty")));
        }
        Ok(SigningKey::Secret(Secret::new(text)))
    };
    if let Some(text) = &sign.secret {
        return secret(text, "--secret").map(Some);
    }
    if let Some(name) = &sign.secret_env {
        let what = format!("--secret-env {name}");
        let text = std::env::var(name).map_err(|error| Failure::new(format!("{what}: {error}")))?;
        return secret(&text, &what).map(Some);
    }
    if let Some(path) = &sign.secret_file {
        let what = format!("--secret-file {}", path.display());
        return secret(&read(path, &what)?, &what).map(Some);
    }
    let Some(path) = &sign.private_key else { return Ok(None) };
    let what = format!("--private-key {}", path.display());
    let text = read(path, &what)?;
    pem::private_key(&text).map(Some).map_err(|why| Failure::new(format!("{what}: {why}")))
}

fn read(path: &Path, what: &str) -> Result<String, Failure> {
    let failed = |why: String| Failure::new(format!("{what}: cannot read it: {why}"));
    let length = fs::metadata(path).map_err(|error| failed(error.to_string()))?.len();
    if length > MAX_FILE_BYTES {
        return Err(failed(format!("it has {length} bytes; at most {MAX_FILE_BYTES} are possible")));
    }
    fs::read_to_string(path).map_err(|error| failed(error.to_string()))
}

/// The key to sign with for a credential of a consumer.
pub(super) fn of(
    credential: &SigningCredential,
    consumer: &str,
    given: Option<SigningKey>,
) -> Result<SigningKey, Failure> {
    let name = match credential.id.as_str() {
        "" => format!("the API key of `{consumer}`"),
        id => format!("the credential `{id}` of `{consumer}`"),
    };
    let is_public = credential.kind != CredentialKind::Password && credential.secret.is_none();
    match (given, &credential.secret) {
        (None, Some(Ok(secret))) => Ok(SigningKey::Secret(secret.clone())),
        (None, Some(Err(why))) => {
            Err(Failure::new(format!("{name}: {why}")).hint("give the secret with --secret-file or --secret-env"))
        }
        (None | Some(SigningKey::Secret(_)), None) if is_public => {
            Err(Failure::new(format!("{name} is a public key, which cannot sign"))
                .hint("give the private key with --private-key"))
        }
        (None, None) => Err(Failure::new(format!("{name}: the file has only the hash of the password"))
            .hint("give the password with --secret-file or --secret-env")),
        (Some(SigningKey::Private(_)), _) if !is_public => Err(Failure::new(format!("{name} is not a public key"))
            .hint("leave out --private-key, or name another credential with --credential")),
        (Some(given), _) => Ok(given),
    }
}
