//! The clients: how each scheme signs a request, and the action that verifies it.

use weir_auth::digest::MacHash;
use weir_auth::encoding::base64_url;
use weir_auth::hmac_auth::{Dialect, HmacSigner};
use weir_auth::message::{Algorithm, MessageSigner};
use weir_auth::pem;
use weir_auth::tokens::{Tokens, TokensOptions};
use weir_auth::{Secret, Signer as _, SigningKey, Unsigned};

/// Selectors of all rows but the growth rows.
const SELECTORS: usize = 15;
/// The id of the shared secret, and what `X-App-Id` says.
pub const APP: &str = "shop";
/// The shared secret; of at least 32 bytes, as HS256 demands.
pub const SECRET: &str = "a shared secret of more than thirty-two bytes";
/// The id of the Ed25519 key.
pub const ED25519_ID: &str = "shop-ed25519";
/// Its public part.
pub const ED25519_PUBLIC: &str = include_str!("../../../auth/tests/keys/ed25519-public.pem");
const ED25519_PRIVATE: &str = include_str!("../../../auth/tests/keys/ed25519.pem");
/// The id of the token key.
pub const JWT_ID: &str = "shop-jwt";
/// How long a token is valid.
const TOKEN_S: u64 = 3600;

/// Header fields.
type Headers = Vec<(String, String)>;

/// A kind of client, and the number of selectors that its paths are of.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// Name of the file with its requests.
    pub name: &'static str,
    /// Weir's action that verifies its requests.
    pub action: &'static str,
    /// Whether the signature covers the body.
    pub covers_body: bool,
    /// Selectors of the gateway.
    pub selectors: usize,
    /// Signs.
    pub sign: fn(&Unsigned<'_>) -> Result<Headers, String>,
}

/// Signs the sorted characters of the body's tokens.
pub const SORTED_TOKENS: Client = Client {
    name: "sorted-tokens",
    action: "verify_signature: {scheme: sorted_tokens}",
    covers_body: true,
    selectors: SELECTORS,
    sign: |request| added(Tokens::new(TokensOptions::default())?.sign(request, APP, &secret())),
};

/// The same for many selectors.
pub const SORTED_TOKENS_1000: Client = Client { name: "sorted-tokens-1000", selectors: 1000, ..SORTED_TOKENS };

/// Signs target, date and the digest of the body with an HMAC.
pub const CAVAGE: Client = Client {
    name: "cavage",
    action: "verify_signature: {scheme: cavage, algorithms: [sha256], clock_skew: 1h}",
    covers_body: true,
    selectors: SELECTORS,
    sign: |request| {
        let signer = HmacSigner { dialect: Dialect::Cavage, hash: MacHash::Sha256, fields: Vec::new() };
        added(signer.sign(request, APP, &secret()))
    },
};

/// Signs as RFC 9421 says, with an HMAC.
pub const MESSAGE_HMAC: Client = Client {
    name: "rfc9421-hmac",
    action: "verify_signature: {scheme: message_signatures, clock_skew: 1h}",
    covers_body: true,
    selectors: SELECTORS,
    sign: |request| added(MessageSigner::new(Algorithm::HmacSha256).sign(request, APP, &secret())),
};

/// The same with a private key.
pub const MESSAGE_ED25519: Client = Client {
    name: "rfc9421-ed25519",
    sign: |request| {
        let key = pem::private_key(ED25519_PRIVATE)?;
        added(MessageSigner::new(Algorithm::Ed25519).sign(request, ED25519_ID, &key))
    },
    ..MESSAGE_HMAC
};

/// Sends a token with an HMAC.
pub const JWT: Client = Client {
    name: "jwt",
    action: "jwt: {}",
    covers_body: false,
    selectors: SELECTORS,
    sign: |request| Ok(token(request)),
};

fn secret() -> SigningKey {
    SigningKey::Secret(Secret::new(SECRET))
}

fn added(signed: Result<weir_auth::Signed, String>) -> Result<Headers, String> {
    signed.map(|signed| signed.headers)
}

/// A token that no other request has.
fn token(request: &Unsigned<'_>) -> Headers {
    let now_s = request.now_ms / 1000;
    let header = format!(r#"{{"alg":"HS256","typ":"JWT","kid":"{JWT_ID}"}}"#);
    let claims = format!(
        r#"{{"iss":"{APP}","sub":"orders","jti":"{}","iat":{now_s},"exp":{}}}"#,
        base64_url(&request.random),
        now_s + TOKEN_S
    );
    let signed = format!("{}.{}", base64_url(header.as_bytes()), base64_url(claims.as_bytes()));
    let signature = base64_url(MacHash::Sha256.of(SECRET.as_bytes(), signed.as_bytes()).as_ref());
    vec![("authorization".into(), format!("Bearer {signed}.{signature}"))]
}
