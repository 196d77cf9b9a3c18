//! HTTP Message Signatures (RFC 9421) with `Content-Digest` (RFC 9530): verification of requests and responses, and the
//! client's side.
//!
//! The signature is over named components of the message, one line each; [`base`] builds that text for verifier and
//! signer alike. The algorithm comes from the key, never from the request. A message may carry several signatures, of
//! which exactly one counts: that with the label and tag of the [`Options`] or, without them, the only one. To accept
//! "any that is valid" would let a client that shares a message with others choose who it is.

pub mod algorithm;
pub mod base;
pub mod component;
pub mod content_digest;
mod options;
mod parameters;
mod query;
mod signer;
pub mod structured;
mod verify;

pub use algorithm::Algorithm;
pub use base::Response;
pub use options::Options;
pub use signer::MessageSigner;
pub use verify::MessageSignatures;

#[cfg(test)]
mod tests;
