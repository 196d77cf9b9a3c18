//! `verify_signature`: a signature over the request, by one of the schemes in [`schemes`].
//!
//! An option that the scheme does not have is an error, not ignored: what is configured is what is checked.

mod schemes;

use weir_auth::Replay;
use weir_gateway::resource::ResourceKind;

use super::ActionKind;
use super::authenticate::{SHARED, action, keys_of_way};
use schemes::{Row, SCHEMES};

use crate::build::Builder;
use crate::check::Fields;
use crate::table::{Key, Kind, Need, Resource, form};

/// The widest window in which a signature is valid: a nonce is remembered as long.
const MAX_WINDOW_MS: u64 = 86_400_000;
/// The longest that a presigned URL may be valid: 7 days, as AWS has it.
const MAX_EXPIRY_MS: u64 = 7 * 86_400_000;
/// The most of a body that is kept for sorting.
const MAX_KEPT_BYTES: u64 = 1 << 20;

const SCHEME: Key = Key {
    name: "scheme",
    kind: Kind::Choice(&[
        ("message_signatures", "HTTP Message Signatures (RFC 9421) with `Content-Digest` (RFC 9530)"),
        ("apisix", "`hmac-auth` as clients of Apache APISIX send it"),
        ("kong", "`hmac-auth` as clients of Kong send it"),
        ("cavage", "draft-cavage-http-signatures-12"),
        ("aws_sigv4", "AWS Signature Version 4, in `Authorization` or a presigned URL"),
        ("aws_s3", "the same as S3 has it: other rules for the path"),
        ("github", "webhooks of GitHub"),
        ("stripe", "webhooks of Stripe"),
        ("slack", "requests of Slack"),
        ("shopify", "webhooks of Shopify"),
        ("webhook", "an HMAC of the raw body, and perhaps a timestamp, in a header field"),
        ("sorted_parameters", "parameters, sorted by name, joined and hashed with a secret"),
        ("wechat_pay_v2", "the same as WeChat Pay v2 has it"),
        ("taobao", "the same as the Taobao Open Platform has it"),
        ("sorted_tokens", "a digest of the sorted characters of the body's words; weak, for existing clients only"),
    ]),
    need: Need::Required,
    doc: "What is signed, and how. [authentication.md](../authentication.md) describes each scheme.",
};

const ALGORITHMS: Kind = Kind::Choice(&[
    ("md5", "MD5; weak, for existing clients only"),
    ("sha1", "SHA-1; weak, for existing clients only"),
    ("sha256", "SHA-256"),
    ("sha384", "SHA-384"),
    ("sha512", "SHA-512"),
]);

pub(super) static VERIFY_SIGNATURE: ActionKind = ActionKind {
    resource: &Resource {
        name: "verify_signature",
        article: "`verify_signature`",
        doc: "Asks for a signature over the request by the key of a consumer; without a valid one the answer is 401. The body passes through a digest as it arrives: it may be longer than `weir_body_limit`, and a temporary file is not read for it. The rule runs when the body is complete. `verify_signature: SCHEME` is short for `verify_signature: {scheme: SCHEME}`.",
        short: Some("scheme"),
        one_of: &[],
        keys: keys_of_way![
            SCHEME,
            Key {
                name: "replay",
                kind: Kind::Choice(&[
                    ("allow", "a signed request may come again while it is valid"),
                    ("refuse", "it may not; what cannot be told from a replay is refused, too"),
                    ("refuse_known", "it may not; it passes when the memory of nonces is full or was lost"),
                ]),
                need: Need::Value("allow"),
                doc: "Whether a signed request may come more than once. See `weir_nonce_zone`.",
            },
            Key {
                name: "consumer",
                kind: Kind::Id(ResourceKind::Consumers),
                need: Need::Default("the one whose key the request names"),
                doc: "The consumer whose live secrets are tried. Webhooks name no key and need it.",
            },
            Key {
                name: "clock_skew",
                kind: Kind::Duration(1000, MAX_WINDOW_MS),
                need: Need::Default("300s; `taobao`: 10m"),
                doc: "How far the time of the signature may be from now.",
            },
            Key {
                name: "signed",
                kind: Kind::List(&Kind::Text, true),
                need: Need::Default("target, time, and the digest of a body"),
                doc: "`message_signatures`: the components that must be signed, such as `@method` or `content-digest`, instead of the default. `apisix`, `kong`, `cavage`: header fields that must be signed besides target and time.",
            },
            Key {
                name: "tag",
                kind: Kind::Text,
                need: Need::Default("any"),
                doc: "`message_signatures`: the `tag` of the signature that counts.",
            },
            Key {
                name: "label",
                kind: Kind::Text,
                need: Need::Default("the only one"),
                doc: "`message_signatures`: the label of the signature that counts, such as `sig1`.",
            },
            Key {
                name: "require_nonce",
                kind: Kind::Flag,
                need: Need::Value("false"),
                doc: "`message_signatures`: whether the signature must have a `nonce`.",
            },
            Key {
                name: "algorithms",
                kind: Kind::List(&ALGORITHMS, true),
                need: Need::Default("`sha256`, `sha384`, `sha512`"),
                doc: "`apisix`, `kong`, `cavage`: the hash functions that a request may choose from.",
            },
            Key {
                name: "body",
                kind: Kind::Choice(&[
                    ("signed_digest", "`Digest` must be there and signed"),
                    ("digest", "`Digest` must be there; APISIX's and Kong's clients often do not sign it"),
                    ("ignored", "the body is not looked at"),
                ]),
                need: Need::Value("signed_digest"),
                doc: "`apisix`, `kong`, `cavage`: how the body is protected.",
            },
            Key {
                name: "regions",
                kind: Kind::List(&Kind::Text, true),
                need: Need::Default("any"),
                doc: "`aws_*`: the regions that a request may be signed for.",
            },
            Key {
                name: "services",
                kind: Kind::List(&Kind::Text, true),
                need: Need::Default("any; `aws_s3`: `s3`"),
                doc: "`aws_*`: the services that a request may be signed for.",
            },
            Key {
                name: "max_expiry",
                kind: Kind::Duration(0, MAX_EXPIRY_MS),
                need: Need::Default("7d"),
                doc: "`aws_*`: the longest that a presigned URL may be valid; `0` refuses them.",
            },
            Key {
                name: "unsigned_payload",
                kind: Kind::Choice(&[
                    ("refused", "every body must be signed"),
                    ("over_tls", "accepted from clients that use TLS"),
                    ("allowed", "accepted"),
                ]),
                need: Need::Default("`refused`; `aws_s3`: `over_tls`"),
                doc: "`aws_*`: whether `UNSIGNED-PAYLOAD` is accepted.",
            },
            Key {
                name: "algorithm",
                kind: ALGORITHMS,
                need: Need::Default("`sha256`; `sorted_tokens`, `wechat_pay_v2`, `taobao`: `md5`"),
                doc: "`webhook`, `sorted_*` and presets: the hash function.",
            },
            Key {
                name: "encoding",
                kind: Kind::Choice(&[
                    ("hex", "hexadecimal digits"),
                    ("lower_hex", "hexadecimal digits in lower case"),
                    ("upper_hex", "hexadecimal digits in upper case"),
                    ("base64", "Base64"),
                ]),
                need: Need::Default("`hex`; `sorted_tokens`: `lower_hex`; `wechat_pay_v2`, `taobao`: `upper_hex`"),
                doc: "`webhook`, `sorted_*` and presets: how the signature is written.",
            },
            Key {
                name: "secret",
                kind: Kind::Choice(&[
                    ("hmac", "it is the key of an HMAC"),
                    ("after", "it follows the text"),
                    ("before", "it precedes the text"),
                    ("around", "it precedes and follows the text"),
                    ("after_and_hmac", "it follows the text and is the key of an HMAC"),
                    ("none", "it is not part of it: a check sum, which anybody can make"),
                ]),
                need: Need::Default("`hmac`; `sorted_tokens`, `wechat_pay_v2`: `after`; `taobao`: `around`"),
                doc: "`sorted_*` and presets: where the secret goes.",
            },
            Key {
                name: "secret_label",
                kind: Kind::Text,
                need: Need::Default("none; `wechat_pay_v2`: `&key=`"),
                doc: "`sorted_parameters` and presets: what stands between the text and a secret after it.",
            },
            Key {
                name: "signature_header",
                kind: Kind::Form(&form::TOKEN),
                need: Need::Default("`X-Signature`; `sorted_parameters`: none"),
                doc: "`webhook`, `sorted_*`: the header field with the signature.",
            },
            Key {
                name: "signature_parameter",
                kind: Kind::Form(&form::ARGUMENT),
                need: Need::Default("`sign`"),
                doc: "`sorted_parameters` and presets: the parameter with the signature.",
            },
            Key {
                name: "key_header",
                kind: Kind::Form(&form::TOKEN),
                need: Need::Default("`X-App-Id`; `sorted_parameters`: none"),
                doc: "`sorted_*`: the header field with the id of the key.",
            },
            Key {
                name: "key_parameter",
                kind: Kind::Form(&form::ARGUMENT),
                need: Need::Default("`app_id`; `wechat_pay_v2`: `mch_id`; `taobao`: `app_key`"),
                doc: "`sorted_parameters` and presets: the parameter with the id of the key.",
            },
            Key {
                name: "prefix",
                kind: Kind::Text,
                need: Need::Default("none"),
                doc: "`webhook`: what stands before the signature in its field, such as `sha256=`.",
            },
            Key {
                name: "timestamp_header",
                kind: Kind::Form(&form::TOKEN),
                need: Need::Default("none"),
                doc: "`webhook`: the header field with the timestamp.",
            },
            Key {
                name: "timestamp_parameter",
                kind: Kind::Form(&form::ARGUMENT),
                need: Need::Default("none; `taobao`: `timestamp`"),
                doc: "`sorted_parameters` and presets: the parameter with the timestamp. Without it a signature is valid for ever.",
            },
            Key {
                name: "timestamp_format",
                kind: Kind::Choice(&[
                    ("seconds", "seconds since 1970"),
                    ("milliseconds", "milliseconds since 1970"),
                    ("china", "`2026-01-31 12:00:00` in China Standard Time"),
                ]),
                need: Need::Default("`seconds`; `taobao`: `china`"),
                doc: "`webhook`, `sorted_parameters` and presets: how the timestamp is written.",
            },
            Key {
                name: "nonce_parameter",
                kind: Kind::Form(&form::ARGUMENT),
                need: Need::Default("none: the signature is what must not come again"),
                doc: "`sorted_parameters` and presets: the parameter with the nonce; it needs a timestamp.",
            },
            Key {
                name: "template",
                kind: Kind::Text,
                need: Need::Default("`{body}`"),
                doc: "`webhook`: what is signed, such as `v0:{timestamp}:{body}`.",
            },
            Key {
                name: "sources",
                kind: Kind::List(
                    &Kind::Choice(&[
                        ("query", "the query"),
                        ("form", "a form in the body"),
                        ("json", "texts, numbers and booleans at the top of a JSON body"),
                    ]),
                    true,
                ),
                need: Need::Default("`query`, `form`"),
                doc: "`sorted_parameters` and presets: where parameters are.",
            },
            Key {
                name: "unsigned_parameters",
                kind: Kind::List(&Kind::Form(&form::ARGUMENT), true),
                need: Need::Default("none"),
                doc: "`sorted_parameters` and presets: parameters that are not signed, besides the signature itself.",
            },
            Key {
                name: "allow_unsigned",
                kind: Kind::Flag,
                need: Need::Value("false"),
                doc: "`sorted_parameters` and presets: whether a query, a body or nested JSON that the signature does not cover passes.",
            },
            Key {
                name: "keep_empty",
                kind: Kind::Flag,
                need: Need::Value("false"),
                doc: "`sorted_parameters` and presets: whether empty parameters are signed.",
            },
            Key {
                name: "decode",
                kind: Kind::Flag,
                need: Need::Value("true"),
                doc: "`sorted_parameters` and presets: whether `%` and `+` are decoded before signing.",
            },
            Key {
                name: "equals",
                kind: Kind::Text,
                need: Need::Default("`=`; `taobao`: nothing"),
                doc: "`sorted_parameters` and presets: what stands between a name and its value.",
            },
            Key {
                name: "separator",
                kind: Kind::Text,
                need: Need::Default("`&`; `taobao`: nothing"),
                doc: "`sorted_parameters` and presets: what stands between two parameters.",
            },
            Key {
                name: "max_body",
                kind: Kind::Size(0, MAX_KEPT_BYTES),
                need: Need::Value("64k"),
                doc: "`sorted_parameters` and presets: the longest body, which has to be kept for sorting.",
            },
        ],
    },
    build: |fields, builder| {
        let row = SCHEMES.iter().find(|row| Some(row.name) == fields.choice("scheme"))?;
        let replay = match fields.choice("replay") {
            Some("refuse") => Replay::Refuse { is_open: false },
            Some("refuse_known") => Replay::Refuse { is_open: true },
            Some(_) | None => Replay::Pass,
        };
        if !fits(fields, row, builder) {
            return None;
        }
        match (row.make)(fields) {
            Ok(scheme) => {
                warn(fields, row, replay, builder);
                Some(action(fields, vec![scheme], replay))
            }
            Err(why) => {
                builder.fault(fields.node, format!("`{}`: {why}", row.name), None);
                None
            }
        }
    },
};

/// Reports options that the scheme does not have.
fn fits(fields: &Fields<'_>, row: &Row, builder: &mut Builder<'_>) -> bool {
    let mut all_fit = true;
    for key in VERIFY_SIGNATURE.resource.keys {
        let has =
            ["scheme", "replay"].contains(&key.name) || SHARED.contains(&key.name) || row.options.contains(&key.name);
        let Some(node) = fields.key_node(key.name).filter(|_| !has) else { continue };
        all_fit = false;
        let options = if row.options.is_empty() { "none".to_owned() } else { row.options.join(", ") };
        let message = format!("the scheme `{}` has no option `{}`", row.name, key.name);
        builder.fault(node, message, Some(format!("its options are {options}")));
    }
    if WEBHOOKS.contains(&row.name) && fields.text("consumer").is_none() {
        let hint = "name the consumer whose secrets are tried: such requests name no key".to_owned();
        builder.fault(fields.node, format!("the scheme `{}` needs `consumer`", row.name), Some(hint));
        return false;
    }
    all_fit
}

const WEBHOOKS: [&str; 5] = ["github", "stripe", "slack", "shopify", "webhook"];

/// Warns of what is weaker than it looks.
fn warn(fields: &Fields<'_>, row: &Row, replay: Replay, builder: &mut Builder<'_>) {
    if fields.choice("secret") == Some("none") {
        let message = "`secret: none` lets everybody sign: it is a check sum".to_owned();
        builder.warn(fields.node, message, None);
    }
    let has_time = match row.name {
        "github" | "shopify" | "sorted_tokens" => false,
        "webhook" => fields.text("timestamp_header").is_some(),
        "sorted_parameters" | "wechat_pay_v2" => fields.text("timestamp_parameter").is_some(),
        _ => true,
    };
    if replay != Replay::Pass && !has_time {
        let message = format!("`replay` has no effect: requests of `{}` have no time here", row.name);
        builder.warn(fields.node, message, Some("let the upstream look at the id of the delivery".to_owned()));
    }
}
