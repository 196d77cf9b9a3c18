//! `jwt`: a JSON Web Token.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_auth::Replay;
use weir_auth::claims::ClaimRules;
use weir_auth::immediate::Tokens;
use weir_auth::jwk::{JwkOptions, KeySet};
use weir_auth::jwt::{ConsumerOf, Jwt};
use weir_gateway::resource::ResourceKind;

use super::ActionKind;
use super::authenticate::{action, keys_of_way, one};
use super::key_auth::{COOKIES, HEADERS, PARAMETERS, places};
use crate::build::Builder;
use crate::check::Fields;
use crate::files::is_url;
use crate::table::{Key, Kind, Need, Resource};

/// Longest leeway: clocks that differ by more need mending.
const MAX_LEEWAY_MS: u64 = 600_000;
/// Longest life of a token that can be asked for.
const MAX_LIFETIME_MS: u64 = 366 * 86_400_000;
/// Longest JWK Set.
const MAX_SET_BYTES: u64 = 256 << 10;

pub(super) static JWT: ActionKind = ActionKind {
    resource: &Resource {
        name: "jwt",
        article: "`jwt`",
        doc: "Asks for a JSON Web Token (RFC 7519), in `Authorization: Bearer` unless said otherwise; without a valid one the answer is 401. The key is a consumer's credential that the token's `kid`, or else its `iss`, names, and the consumer is the sender; or it is in the issuer's JWK Set (`jwks`), and a claim names the consumer. Each key has one algorithm, whatever the token says. Claims are fields for later rules: `jwt.claims[\"sub\"]`.",
        short: None,
        one_of: &[],
        keys: keys_of_way![
            Key {
                name: "issuers",
                kind: Kind::List(&Kind::Text, true),
                need: Need::Default("any"),
                doc: "Accepted values of `iss`.",
            },
            Key {
                name: "audiences",
                kind: Kind::List(&Kind::Text, true),
                need: Need::Default("any"),
                doc: "Values of which `aud` must have one.",
            },
            Key {
                name: "leeway",
                kind: Kind::Duration(0, MAX_LEEWAY_MS),
                need: Need::Value("60s"),
                doc: "How far the clocks of issuer and gateway may differ.",
            },
            Key {
                name: "require_exp",
                kind: Kind::Flag,
                need: Need::Value("true"),
                doc: "Whether a token must say when it expires.",
            },
            Key {
                name: "max_lifetime",
                kind: Kind::Duration(1000, MAX_LIFETIME_MS),
                need: Need::Default("no limit"),
                doc: "The longest accepted time from `iat` to `exp`.",
            },
            Key {
                name: "required_claims",
                kind: Kind::List(&Kind::Text, true),
                need: Need::Default("none"),
                doc: "Claims that must be there.",
            },
            Key {
                name: "typ",
                kind: Kind::Text,
                need: Need::Default("any"),
                doc: "The required `typ` of the token's header, such as `at+jwt`.",
            },
            Key {
                name: "jwks",
                kind: Kind::File,
                need: Need::Default("credentials of consumers"),
                doc: "A file with the issuer's JWK Set (RFC 7517), or in a gateway its `https` URL, which `weir control` downloads. A file is taken anew as `refresh` of the policy says, a URL every 5 minutes unless `refresh` is a time. Set `issuers` and `audiences` with it.",
            },
            Key {
                name: "consumer_claim",
                kind: Kind::Text,
                need: Need::Default("`sub`"),
                doc: "With `jwks`: the claim that is the consumer's id.",
            },
            Key {
                name: "consumer",
                kind: Kind::Id(ResourceKind::Consumers),
                need: Need::Default("that of the claim"),
                doc: "With `jwks`: the consumer of all tokens.",
            },
            HEADERS,
            PARAMETERS,
            COOKIES,
        ],
    },
    build: |fields, builder| {
        let jwt = options(fields);
        let issuer = match fields.text("jwks") {
            Some(file) => Some((Arc::new(key_set(fields, file, builder)?), consumer_of(fields))),
            None => {
                for key in ["consumer_claim", "consumer"] {
                    if let Some(node) = fields.key_node(key) {
                        let hint = "the consumer is the one whose credential the key is".to_owned();
                        builder.fault(node, format!("`{key}` without `jwks`"), Some(hint));
                    }
                }
                None
            }
        };
        Some(action(fields, one(Tokens { jwt, issuer }), Replay::Pass))
    },
};

/// What is asked of tokens.
pub(crate) fn options(fields: &Fields<'_>) -> Jwt {
    let places = places(fields);
    let mut jwt = Jwt { typ: fields.text("typ").map(str::to_owned), ..Jwt::default() };
    if !places.is_empty() {
        jwt.places = places;
    }
    jwt.claims = ClaimRules {
        issuers: fields.texts("issuers"),
        audiences: fields.texts("audiences"),
        leeway_ms: fields.milliseconds("leeway").unwrap_or(60_000),
        require_exp: fields.flag_or("require_exp"),
        max_lifetime_ms: fields.milliseconds("max_lifetime"),
        required: fields.texts("required_claims"),
    };
    jwt
}

fn consumer_of(fields: &Fields<'_>) -> ConsumerOf {
    match fields.text("consumer") {
        Some(id) => ConsumerOf::Id(id.to_owned()),
        None => ConsumerOf::Claim(fields.text("consumer_claim").unwrap_or("sub").to_owned()),
    }
}

/// Whether the host of a URL, without its scheme, is this machine.
fn is_local(rest: &str) -> bool {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    ["127.0.0.1", "[::1]", "localhost"].iter().any(|host| {
        authority.strip_prefix(host).is_some_and(|port| {
            port.strip_prefix(':').map_or(port.is_empty(), |digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        })
    })
}

fn key_set(fields: &Fields<'_>, file: &str, builder: &mut Builder<'_>) -> Option<KeySet> {
    let node = fields.get("jwks")?.node;
    let path = if is_url(Path::new(file)) { PathBuf::from(file) } else { builder.folder.join(file) };
    let authority = file.split("://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    if is_url(&path) && authority.contains('@') {
        builder.fault(node, "a URL with a password, which everybody would see who reads the policy", None);
        return None;
    }
    if file.strip_prefix("http://").is_some_and(|rest| !is_local(rest)) {
        let hint = "with `http` anyone on the way could put keys of his own into it; write `https://`";
        builder.fault(node, format!("the keys at {file} would come unprotected"), Some(hint.to_owned()));
        return None;
    }
    // Names of files are compared by their components.
    if is_url(&path) && (file.ends_with('/') || file.contains("/./") || file.matches("//").count() > 1) {
        builder.fault(node, format!("expected the URL of a JWK Set, found {file}"), None);
        return None;
    }
    builder.uses(&Arc::from([path.clone()]));
    let content = match builder.files.content(&path, MAX_SET_BYTES) {
        Ok(content) => content,
        // Where there is no control, as in a policy file, the other rules are good all the same.
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            let hint = "no token is accepted here; a policy file of nginx needs the set in a file".to_owned();
            builder.warn(node, format!("{file} is not downloaded: {error}"), Some(hint));
            return Some(KeySet::default());
        }
        Err(error) => {
            builder.fault(node, format!("cannot read {}: {error}", path.display()), None);
            return None;
        }
    };
    builder.digest.add(&content);
    let options = JwkOptions { algorithms: Vec::new(), secrets: false };
    match KeySet::parse(&content, &options) {
        Ok(set) => {
            for note in set.notes() {
                builder.warn(node, format!("{}: {note}", path.display()), None);
            }
            Some(set)
        }
        Err(why) => {
            builder.fault(node, format!("{}: {why}", path.display()), None);
            None
        }
    }
}
