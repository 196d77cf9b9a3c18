//! Who sent a request: consumers with their credentials, and the schemes by which a request proves one of them.
//!
//! Everything here is a pure function of a request, the credentials and a clock: no files, no network, no nginx.
//! All cryptography is `ring`'s and RustCrypto's. A scheme sees a request twice ([`scheme`]): its head, from which it
//! takes the claim, and its body as it arrives, of which it keeps no more than a digest.

pub mod api_key;
pub mod authentication;
pub mod aws;
pub mod basic;
pub mod certificate;
pub mod claims;
pub mod consumer;
pub mod date;
pub mod digest;
pub mod encoding;
pub mod excerpt;
pub mod failure;
pub mod field;
pub mod hmac_auth;
pub mod immediate;
pub mod jwa;
pub mod jwk;
pub mod jws;
pub mod jwt;
pub mod key;
pub mod keyed;
pub mod message;
pub mod parameters;
pub mod password;
pub mod password_hash;
pub mod pem;
pub mod place;
pub mod remembered;
pub mod request;
pub mod rsa_key;
#[cfg(test)]
mod sample;
pub mod scheme;
pub mod secret;
pub mod sign;
pub mod strict_json;
#[cfg(test)]
mod testing;
pub mod tokens;
pub mod trial;
pub mod webhook;
pub mod window;
pub mod written;

pub use authentication::{Admission, Authentication, Claims, Replay};
pub use consumer::{Candidate, Consumer, Consumers, Credential, CredentialKind, Keys};
pub use failure::{Failure, Reason};
pub use key::Key;
pub use request::Request;
pub use scheme::{Identity, Nonce, Pending, Scheme};
pub use secret::Secret;
pub use sign::{Signed, Signer, SigningKey, Unsigned};
