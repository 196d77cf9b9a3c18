//! JSON Web Keys (RFC 7517; RFC 7518, section 6; RFC 8037, section 2), and the sets of them that issuers publish.
//!
//! Parsing binds every key to one algorithm: that of its `alg`, of its curve, or the caller's default for its type. A key
//! that cannot be used is left out with a note and does not invalidate the set, because issuers publish keys for other
//! purposes in the same set. Two usable keys with the same `kid` do invalidate it: a token could mean either.

use serde_json::{Map, Value};

use crate::encoding::from_base64_url;
use crate::excerpt::Excerpt;
use crate::jwa::{self, ALGORITHMS, Algorithm, KeyType, Method};
use crate::key::PublicKey;
use crate::{Key, Secret, rsa_key, strict_json};

/// The longest set in bytes: enough for 128 keys with certificate chains of 2 kB each.
pub const MAX_SET_BYTES: usize = 256 * 1024;
/// The most keys in a set. Large issuers publish about ten, and a look-up passes over all of them.
pub const MAX_KEYS: usize = 128;
/// The longest `kid` in bytes. A SHA-256 thumbprint has 43.
pub const MAX_KID_BYTES: usize = 256;

/// Options for parsing keys.
#[derive(Clone, Debug, Default)]
pub struct JwkOptions {
    /// The algorithms of keys without an `alg`: the first one for the key's type applies. Default: none, so RSA keys and
    /// shared secrets need an `alg`. Keys on curves never do, because each curve has one algorithm.
    pub algorithms: Vec<&'static Algorithm>,
    /// Whether shared secrets (`oct`) are accepted. Default: false, because what an issuer publishes is not secret.
    pub secrets: bool,
}

/// A key and its name.
#[derive(Clone, Debug)]
pub struct Jwk {
    /// The `kid`.
    pub kid: Option<String>,
    /// The key, bound to its algorithm.
    pub key: Key,
}

impl Jwk {
    /// Parses a key.
    ///
    /// # Errors
    /// Why the key cannot be used.
    pub fn from_json(members: &Map<String, Value>, options: &JwkOptions) -> Result<Self, String> {
        let kid = text(members, "kid")?.map(str::to_owned);
        if kid.as_ref().is_some_and(|kid| kid.len() > MAX_KID_BYTES) {
            return Err(format!("`kid` has more than {MAX_KID_BYTES} bytes"));
        }
        if let Some(purpose) = text(members, "use")?.filter(|purpose| *purpose != "sig") {
            return Err(format!("`use` is {}, not `sig`", Excerpt(purpose.as_bytes())));
        }
        match members.get("key_ops") {
            None => {}
            Some(Value::Array(uses)) if uses.iter().any(|operation| operation == "verify") => {}
            Some(_) => return Err("`key_ops` does not contain `verify`".to_owned()),
        }
        let key_type = key_type(members)?;
        if key_type != KeyType::Oct && members.contains_key("d") {
            return Err("it contains the private key (`d`), so anyone who has read it can sign; replace the key pair"
                .to_owned());
        }
        if key_type == KeyType::Oct && !options.secrets {
            return Err("`kty` is `oct`: shared secrets are not accepted here".to_owned());
        }
        let algorithm = algorithm(members, key_type, options)?;
        Ok(Self { kid, key: key(members, algorithm)? })
    }
}

/// The values of `kty` and `crv`.
const KEY_TYPES: [(&str, Option<&str>, KeyType); 5] = [
    ("oct", None, KeyType::Oct),
    ("RSA", None, KeyType::Rsa),
    ("EC", Some("P-256"), KeyType::P256),
    ("EC", Some("P-384"), KeyType::P384),
    ("OKP", Some("Ed25519"), KeyType::Ed25519),
];

fn key_type(members: &Map<String, Value>) -> Result<KeyType, String> {
    let kty = text(members, "kty")?.ok_or("it has no `kty`")?;
    let curve = text(members, "crv")?;
    let row = KEY_TYPES.iter().find(|row| row.0 == kty && (row.1.is_none() || row.1 == curve));
    row.map(|row| row.2).ok_or_else(|| match curve {
        None => format!("`kty` is {}; expected RSA, or EC or OKP with a `crv`", Excerpt(kty.as_bytes())),
        Some(curve) => {
            let (kty, curve) = (Excerpt(kty.as_bytes()), Excerpt(curve.as_bytes()));
            format!("`kty` is {kty} and `crv` is {curve}; expected RSA, EC with P-256 or P-384, or OKP with Ed25519")
        }
    })
}

fn algorithm(
    members: &Map<String, Value>,
    key_type: KeyType,
    options: &JwkOptions,
) -> Result<&'static Algorithm, String> {
    if let Some(name) = text(members, "alg")? {
        let found = Algorithm::named(name).filter(|found| found.key_type == key_type);
        return found.ok_or_else(|| {
            let possible = Algorithm::names(Some(key_type));
            format!("`alg` is {}; for this type of key, expected one of {possible}", Excerpt(name.as_bytes()))
        });
    }
    if let Some(found) = options.algorithms.iter().find(|found| found.key_type == key_type) {
        return Ok(found);
    }
    let mut possible = ALGORITHMS.iter().filter(|row| row.key_type == key_type);
    let first = possible.next().expect("each type has an algorithm");
    if possible.all(|other| other.method == first.method) {
        return Ok(first);
    }
    let possible = Algorithm::names(Some(key_type));
    Err(format!("it has no `alg`; set it to one of {possible}, or set a default algorithm for the key set"))
}

fn key(members: &Map<String, Value>, algorithm: &Algorithm) -> Result<Key, String> {
    let bytes = match algorithm.key_type {
        KeyType::Oct => bytes(members, "k", None)?,
        KeyType::Rsa => rsa_key::checked(&bytes(members, "n", None)?, &bytes(members, "e", None)?)?,
        KeyType::P256 => point(members, 32)?,
        KeyType::P384 => point(members, 48)?,
        KeyType::Ed25519 => bytes(members, "x", Some(32))?,
    };
    match algorithm.method {
        Method::Mac(hash) => {
            let secret = Secret::new(bytes);
            jwa::check_secret(hash, secret.bytes())?;
            Ok(Key::Hmac(hash, secret))
        }
        Method::Public(algorithm) => Ok(Key::Public(PublicKey { algorithm, bytes })),
    }
}

/// The uncompressed point (SEC 1, section 2.3.3) whose coordinates have exactly `size` bytes each.
fn point(members: &Map<String, Value>, size: usize) -> Result<Vec<u8>, String> {
    const UNCOMPRESSED: u8 = 4;
    let (x, y) = (bytes(members, "x", Some(size))?, bytes(members, "y", Some(size))?);
    Ok([&[UNCOMPRESSED][..], &x, &y].concat())
}

/// The value of a member that must be a string if it is present.
fn text<'a>(members: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, String> {
    members.get(name).map(|value| value.as_str().ok_or_else(|| format!("`{name}` is not a string"))).transpose()
}

/// The bytes of a required member, of exactly `size` bytes if that is given.
fn bytes(members: &Map<String, Value>, name: &str, size: Option<usize>) -> Result<Vec<u8>, String> {
    let text = text(members, name)?.ok_or_else(|| format!("it has no `{name}`"))?;
    let bytes = from_base64_url(text.as_bytes()).ok_or_else(|| format!("`{name}` is not Base64url without padding"))?;
    match size.filter(|size| *size != bytes.len()) {
        Some(size) => Err(format!("`{name}` has {} bytes; expected {size}", bytes.len())),
        None => Ok(bytes),
    }
}

/// The usable keys of a set. When the issuer publishes a new set, the whole value is replaced.
#[derive(Clone, Debug, Default)]
pub struct KeySet {
    keys: Vec<Jwk>,
    notes: Vec<String>,
}

impl KeySet {
    /// Parses a JWK Set.
    ///
    /// # Errors
    /// What is wrong: not a set, over a limit, no usable key, or two usable keys with the same `kid`.
    pub fn parse(json: &[u8], options: &JwkOptions) -> Result<Self, String> {
        if json.len() > MAX_SET_BYTES {
            return Err(format!("a key set of {} bytes; at most {MAX_SET_BYTES} are accepted", json.len()));
        }
        let set = strict_json::object(json).map_err(|error| format!("not a JWK Set: {error}"))?;
        let Some(Value::Array(all)) = set.get("keys") else {
            let hint = if set.contains_key("kty") { "; write a single key as {\"keys\": [KEY]}" } else { "" };
            return Err(format!("not a JWK Set: it has no `keys` array{hint}"));
        };
        if all.len() > MAX_KEYS {
            return Err(format!("a key set of {} keys; at most {MAX_KEYS} are accepted", all.len()));
        }
        let mut set = Self::default();
        for (at, value) in all.iter().enumerate() {
            let read = value.as_object().ok_or_else(|| "it is not an object".to_owned());
            match read.and_then(|members| Jwk::from_json(members, options)) {
                Ok(key) => set.keys.push(key),
                Err(error) => {
                    let kid = value.get("kid").and_then(Value::as_str);
                    let name = kid.map(|kid| format!(" ({})", Excerpt(kid.as_bytes()))).unwrap_or_default();
                    set.notes.push(format!("key {}{name} is left out: {error}", at + 1));
                }
            }
        }
        set.names()?;
        if set.keys.is_empty() {
            let notes = if set.notes.is_empty() { "it is empty".to_owned() } else { set.notes.join("; ") };
            return Err(format!("no key of the set can verify tokens: {notes}"));
        }
        Ok(set)
    }

    /// Leaves out unnamed keys of a set with several keys, and checks that names are unique.
    fn names(&mut self) -> Result<(), String> {
        if self.keys.len() > 1 {
            let all = self.keys.len();
            self.keys.retain(|key| key.kid.is_some());
            if self.keys.len() < all {
                let count = all - self.keys.len();
                self.notes
                    .push(format!("{count} of {all} keys are left out: they have no `kid`, so no token can name them"));
            }
        }
        let mut names: Vec<&str> = self.keys.iter().filter_map(|key| key.kid.as_deref()).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("two keys have the `kid` {}", Excerpt(pair[0].as_bytes()))),
            None => Ok(()),
        }
    }

    /// The key for a token: the one with its `kid`, or the only key of the set if the token or the key has no `kid`.
    #[must_use]
    pub fn find(&self, kid: Option<&str>) -> Option<&Key> {
        let named = kid.and_then(|kid| self.keys.iter().find(|key| key.kid.as_deref() == Some(kid)));
        let only = match &self.keys[..] {
            [only] if kid.is_none() || only.kid.is_none() => Some(only),
            _ => None,
        };
        named.or(only).map(|found| &found.key)
    }

    /// Some key with this method, to verify tokens with unknown key ids in the same time.
    #[must_use]
    pub fn like(&self, method: Method) -> Option<&Key> {
        self.keys.iter().map(|key| &key.key).find(|key| Method::of(key) == Some(method))
    }

    /// All usable keys.
    #[must_use]
    pub fn keys(&self) -> &[Jwk] {
        &self.keys
    }

    /// Which keys were left out and why, a sentence each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

#[cfg(test)]
mod tests;
