//! Who may do what: roles, tokens for TCP, and the permissions of the Unix socket.
//!
//! On the Unix socket the file's permissions have decided before we hear of it, so whoever can connect is an admin, and
//! nothing is read from the request. Over TCP each request shows a token (`Authorization: Bearer`), or its connection a
//! client certificate that somebody has been granted a role for. Sessions, cookies and passwords are not here: they
//! belong to a person at a browser, and this is an API.

mod access;
mod failures;
mod peer;
mod role;
mod scope;
mod tokens;

pub use access::{Access, Denied, Origin};
pub use peer::Peer;
pub use role::Role;
pub use scope::Scope;
pub use tokens::{
    Admission, Grant, Granted, MAX_TOKENS, TokenEntry, TokenError, Tokens, create_token, grant_certificate,
    list_tokens, revoke_token,
};
