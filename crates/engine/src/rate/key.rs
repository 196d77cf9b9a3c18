//! What a rate limit counts a request by, and how the attack log shows the key of a limit that was exceeded.
//!
//! An operator wants to see who is over a limit, and to find the same client in other lines; whoever reads the log must
//! not get a credential from it. A plain hash of a credential does not prevent that: passwords and short API keys are
//! guessed from it in seconds. So credentials are shown as a hash under a secret of the table, which all workers share
//! and which lives as long as the counts: equal credentials have equal hashes until nginx is restarted, and the log
//! alone gives nothing to test guesses against.

use std::net::IpAddr;

use bumpalo::collections::Vec as ArenaVec;
use sha2::{Digest as _, Sha256};
use weir_rules::Field;
use weir_rules::ir::ValueExpr;

/// Parts of the names of headers, arguments, form and JSON fields that hold credentials, in lower case.
const CREDENTIAL_NAMES: [&str; 11] =
    ["auth", "cookie", "credential", "jwt", "key", "pass", "pwd", "secret", "sess", "signature", "token"];

/// Beginnings of values that are credentials, whatever their names, in lower case: schemes of `Authorization`
/// (RFC 9110, 11.6.2) and the first bytes of a JSON web token.
const CREDENTIAL_VALUES: [&[u8]; 6] = [b"bearer ", b"basic ", b"digest ", b"negotiate ", b"token ", b"eyj"];

/// Fields with values of any name, or of no name, among which credentials may be. The target of the request is not
/// among them: the log has it anyway.
const MIXED: [Field; 12] = [
    Field::Cookie,
    Field::Cookies,
    Field::CookiesValues,
    Field::CookiesDecoded,
    Field::UriArgsValues,
    Field::HeadersValues,
    Field::BodyRaw,
    Field::BodyFormValues,
    Field::BodyMultipartValues,
    Field::BodyJsonValues,
    Field::BodyXml,
    Field::ResponseHeadersValues,
];

/// Fields whose values have names.
const NAMED: [Field; 5] = [Field::UriArgs, Field::Headers, Field::BodyForm, Field::BodyJson, Field::ResponseHeaders];

/// Bytes of a text that are shown.
const SHOWN_BYTES: usize = 128;

/// What one request is counted by.
pub(crate) struct RateKey<'a> {
    pub kind: KeyKind,
    /// Its text, by which requests are counted.
    pub text: ArenaVec<'a, u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyKind {
    /// An address, IPv6 as the first one of its network.
    Address(IpAddr),
    /// Any other value.
    Text,
    /// The request has no key: the client's address stands for it.
    Missing(IpAddr),
}

impl RateKey<'_> {
    /// What the table counts: requests without a key have counters of their own.
    pub fn counter(&self, limit: u64) -> (u64, &[u8]) {
        (if matches!(self.kind, KeyKind::Missing(_)) { !limit } else { limit }, &self.text)
    }

    /// As the attack log shows it; `key` is the expression that it is the value of.
    pub fn shown(&self, key: &ValueExpr, ipv6_prefix: u8, secret: &[u8; 32]) -> Vec<u8> {
        let network = |address: IpAddr| match address {
            IpAddr::V6(address) if ipv6_prefix < 128 => format!("{address}/{ipv6_prefix}"),
            address => address.to_string(),
        };
        match self.kind {
            KeyKind::Address(address) => format!("ip:{}", network(address)).into_bytes(),
            KeyKind::Missing(address) => format!("none:{}", network(address)).into_bytes(),
            KeyKind::Text if may_be_credential(key) || begins_as_credential(&self.text) => {
                format!("hash:{}", pseudonym(secret, &self.text)).into_bytes()
            }
            KeyKind::Text => [b"text:", &self.text[..self.text.len().min(SHOWN_BYTES)]].concat(),
        }
    }
}

/// Whether a key is made of a value that may be a credential.
fn may_be_credential(key: &ValueExpr) -> bool {
    match key {
        ValueExpr::Literal(_) => false,
        ValueExpr::Call(_, arguments) => arguments.iter().any(may_be_credential),
        ValueExpr::Field(access) if NAMED.contains(&access.field) => access.key.as_deref().is_none_or(names_credential),
        ValueExpr::Field(access) => MIXED.contains(&access.field),
    }
}

fn names_credential(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    CREDENTIAL_NAMES.iter().any(|part| name.contains(part))
}

fn begins_as_credential(text: &[u8]) -> bool {
    let begins = |with: &&[u8]| text.get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with));
    CREDENTIAL_VALUES.iter().any(begins)
}

/// The first 16 hexadecimal digits of SHA-256 over the secret and the text.
fn pseudonym(secret: &[u8; 32], text: &[u8]) -> String {
    let hash = Sha256::new().chain_update(secret).chain_update(text).finalize();
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_may_be_credentials_are_known_by_field_and_name() {
        for (key, expected) in [
            ("http.request.headers[\"authorization\"][0]", true),
            ("http.request.headers[\"Proxy-Authorization\"][0]", true),
            ("http.request.headers[\"x-api-key\"][0]", true),
            ("http.request.headers[\"x-tenant\"][0]", false),
            ("http.request.cookies[\"basket\"][0]", true),
            ("http.cookie", true),
            ("http.request.uri.args[\"access_token\"][0]", true),
            ("http.request.uri.args[\"page\"][0]", false),
            ("http.request.uri.args.values[0]", true),
            ("http.request.body.form[\"Password\"][0]", true),
            ("http.request.body.form[\"user\"][0]", false),
            ("http.request.body.json[\"login.secret\"][0]", true),
            ("http.request.body.json[\"login.user\"][0]", false),
            ("http.request.body.raw", true),
            ("http.response.headers[\"set-cookie\"][0]", true),
            ("http.host", false),
            ("concat(http.host, lower(http.request.headers[\"x-session\"][0]))", true),
            ("concat(http.host, http.request.uri.path)", false),
        ] {
            let parsed = weir_rules::parse_value(key).unwrap_or_else(|errors| panic!("{key}: {errors:?}"));
            assert_eq!(may_be_credential(&parsed), expected, "{key}");
        }
        for (text, expected) in [("Bearer x", true), ("eyJhbGciOi.J", true), ("basic", false), ("alice", false)] {
            assert_eq!(begins_as_credential(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_hash_depends_on_the_secret() {
        let of = |secret: u8, text: &str| pseudonym(&[secret; 32], text.as_bytes());
        assert_eq!(of(1, "a"), of(1, "a"));
        assert_eq!(of(1, "a").len(), 16);
        assert!(of(1, "a") != of(2, "a") && of(1, "a") != of(1, "b"));
    }
}
