//! The schemes, a row for each: its name, the options that it has, and how it and its client are made of them.

use std::sync::Arc;

use weir_auth::aws::{Aws, AwsSigner, UnsignedPayload};
use weir_auth::digest::{Hash, MacHash};
use weir_auth::hmac_auth::{BodyCheck, Dialect, HmacAuth, HmacSigner, Required};
use weir_auth::keyed::SecretPlace;
use weir_auth::message::{MessageSignatures, Options};
use weir_auth::parameters::{ParameterOptions, Parameters, Place};
use weir_auth::tokens::{Tokens, TokensOptions};
use weir_auth::webhook::{Webhook, WebhookOptions};
use weir_auth::window::TimeFormat;
use weir_auth::written::Written;
use weir_auth::{Scheme, Signer};

use super::WEBHOOKS;
use crate::check::{Fields, Value};
use crate::signing::{HmacClient, MessageClient, SchemeClient, Schemes};

/// A scheme as configured.
type Made = Result<Arc<dyn Scheme>, String>;
/// Its client.
type Client = Result<SchemeClient, String>;

/// A row of the table.
pub(super) struct Row {
    pub name: &'static str,
    /// Names of the options that it has, besides those that all ways to authenticate share.
    pub options: &'static [&'static str],
    pub make: fn(&Fields<'_>) -> Made,
    /// Makes requests that a scheme with the same options accepts.
    pub signer: fn(&Fields<'_>) -> Client,
}

const HMAC: &[&str] = &["algorithms", "signed", "clock_skew", "body"];
const AWS: &[&str] = &["regions", "services", "clock_skew", "max_expiry", "unsigned_payload"];
const WEBHOOK: &[&str] = &["consumer", "clock_skew"];
const ANY_WEBHOOK: &[&str] = &[
    "consumer",
    "clock_skew",
    "signature_header",
    "prefix",
    "timestamp_header",
    "timestamp_format",
    "algorithm",
    "encoding",
    "template",
];
const PARAMETERS: &[&str] = &[
    "consumer",
    "clock_skew",
    "algorithm",
    "encoding",
    "secret",
    "secret_label",
    "signature_parameter",
    "signature_header",
    "key_parameter",
    "key_header",
    "timestamp_parameter",
    "timestamp_format",
    "nonce_parameter",
    "sources",
    "unsigned_parameters",
    "allow_unsigned",
    "keep_empty",
    "decode",
    "equals",
    "separator",
    "max_body",
];
const TOKENS: &[&str] = &["consumer", "algorithm", "encoding", "secret", "signature_header", "key_header"];

/// All schemes.
pub(super) static SCHEMES: &[Row] = &[
    Row {
        name: "message_signatures",
        options: &["signed", "clock_skew", "tag", "label", "require_nonce"],
        make: |fields| scheme(MessageSignatures::new(message(fields))),
        signer: |fields| Ok(SchemeClient::Message(MessageClient::new(message(fields)))),
    },
    Row {
        name: "apisix",
        options: HMAC,
        make: |fields| scheme(hmac(fields, Dialect::Apisix)),
        signer: |fields| client(hmac(fields, Dialect::Apisix).map(hmac_client)),
    },
    Row {
        name: "kong",
        options: HMAC,
        make: |fields| scheme(hmac(fields, Dialect::Kong)),
        signer: |fields| client(hmac(fields, Dialect::Kong).map(hmac_client)),
    },
    Row {
        name: "cavage",
        options: HMAC,
        make: |fields| scheme(hmac(fields, Dialect::Cavage)),
        signer: |fields| client(hmac(fields, Dialect::Cavage).map(hmac_client)),
    },
    Row {
        name: "aws_sigv4",
        options: AWS,
        make: |fields| scheme(Ok(aws(fields, Aws::default()))),
        signer: |fields| client(Ok(aws_signer(aws(fields, Aws::default()), "execute-api", false))),
    },
    Row {
        name: "aws_s3",
        options: AWS,
        make: |fields| scheme(Ok(aws(fields, Aws::s3()))),
        signer: |fields| client(Ok(aws_signer(aws(fields, Aws::s3()), "s3", true))),
    },
    Row {
        name: "github",
        options: &["consumer"],
        make: |fields| scheme(webhook(fields, "github")),
        signer: |fields| client(webhook(fields, "github")),
    },
    Row {
        name: "stripe",
        options: WEBHOOK,
        make: |fields| scheme(webhook(fields, "stripe")),
        signer: |fields| client(webhook(fields, "stripe")),
    },
    Row {
        name: "slack",
        options: WEBHOOK,
        make: |fields| scheme(webhook(fields, "slack")),
        signer: |fields| client(webhook(fields, "slack")),
    },
    Row {
        name: "shopify",
        options: &["consumer"],
        make: |fields| scheme(webhook(fields, "shopify")),
        signer: |fields| client(webhook(fields, "shopify")),
    },
    Row {
        name: "webhook",
        options: ANY_WEBHOOK,
        make: |fields| scheme(webhook(fields, "custom")),
        signer: |fields| client(webhook(fields, "custom")),
    },
    Row {
        name: "sorted_parameters",
        options: PARAMETERS,
        make: |fields| scheme(parameters(fields, "custom")),
        signer: |fields| client(parameters(fields, "custom")),
    },
    Row {
        name: "wechat_pay_v2",
        options: PARAMETERS,
        make: |fields| scheme(parameters(fields, "wechat_pay_v2")),
        signer: |fields| client(parameters(fields, "wechat_pay_v2")),
    },
    Row {
        name: "taobao",
        options: PARAMETERS,
        make: |fields| scheme(parameters(fields, "taobao")),
        signer: |fields| client(parameters(fields, "taobao")),
    },
    Row {
        name: "sorted_tokens",
        options: TOKENS,
        make: |fields| scheme(tokens(fields)),
        signer: |fields| client(tokens(fields)),
    },
];

impl Schemes {
    /// The client of the scheme that an action names, with the action's options.
    pub(crate) fn client(fields: &Fields<'_>) -> Client {
        let row = SCHEMES.iter().find(|row| Some(row.name) == fields.choice("scheme"));
        row.ok_or("the action names no scheme".to_owned()).and_then(|row| (row.signer)(fields))
    }

    /// The names of all schemes.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        SCHEMES.iter().map(|row| row.name)
    }

    /// Whether requests of the scheme name no key.
    pub(crate) fn is_nameless(scheme: &str) -> bool {
        WEBHOOKS.contains(&scheme)
    }
}

fn scheme(made: Result<impl Scheme + 'static, String>) -> Made {
    Ok(Arc::new(made?))
}

fn client(made: Result<impl Signer + 'static, String>) -> Client {
    Ok(SchemeClient::Other(Box::new(made?)))
}

fn seconds(fields: &Fields<'_>, key: &str) -> Option<u64> {
    fields.milliseconds(key).map(|ms| ms / 1000)
}

fn hash(fields: &Fields<'_>) -> Option<Hash> {
    fields.choice("algorithm").map(|name| match name {
        "md5" => Hash::Md5,
        "sha1" => Hash::Sha1,
        "sha384" => Hash::Sha384,
        "sha512" => Hash::Sha512,
        _ => Hash::Sha256,
    })
}

fn mac(name: &str) -> Result<MacHash, String> {
    match name {
        "sha1" => Ok(MacHash::Sha1),
        "sha256" => Ok(MacHash::Sha256),
        "sha384" => Ok(MacHash::Sha384),
        "sha512" => Ok(MacHash::Sha512),
        other => Err(format!("there is no HMAC with `{other}` here")),
    }
}

fn named<T: Copy>(names: &[(&str, T)], fields: &Fields<'_>, key: &str) -> Option<T> {
    let name = fields.choice(key)?;
    names.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

fn message(fields: &Fields<'_>) -> Options {
    let mut options = Options {
        tag: fields.text("tag").map(str::to_owned),
        label: fields.text("label").map(str::to_owned),
        nonce: fields.flag_or("require_nonce"),
        ..Options::default()
    };
    if fields.key_node("signed").is_some() {
        options.required = fields.texts("signed");
    }
    if let Some(ms) = fields.milliseconds("clock_skew") {
        options.max_age_ms = ms;
        options.max_skew_ms = options.max_skew_ms.min(ms);
    }
    options
}

fn hmac(fields: &Fields<'_>, dialect: Dialect) -> Result<HmacAuth, String> {
    let mut scheme = HmacAuth::new(dialect);
    if fields.key_node("algorithms").is_some() {
        let names = fields.items("algorithms").iter().filter_map(|item| match item.value {
            Value::Choice(name) => Some(name),
            _ => None,
        });
        scheme.algorithms = names.map(mac).collect::<Result<_, _>>()?;
    }
    scheme.required.extend(fields.texts("signed").into_iter().map(|name| Required::Field(name.to_ascii_lowercase())));
    scheme.clock_skew_s = seconds(fields, "clock_skew").or(scheme.clock_skew_s);
    scheme.body = match fields.choice("body") {
        Some("digest") => BodyCheck::Digest,
        Some("ignored") => BodyCheck::Ignored,
        Some(_) | None => BodyCheck::SignedDigest,
    };
    Ok(scheme)
}

/// Signs with the first hash function that the scheme accepts.
fn hmac_client(scheme: HmacAuth) -> HmacClient {
    let field = |required| match required {
        Required::Field(name) => Some(name),
        Required::Target | Required::Time => None,
    };
    let hash = scheme.algorithms.first().copied().unwrap_or(MacHash::Sha256);
    let fields = scheme.required.into_iter().filter_map(field).collect();
    HmacClient(HmacSigner { dialect: scheme.dialect, hash, fields })
}

fn aws(fields: &Fields<'_>, mut scheme: Aws) -> Aws {
    scheme.regions = fields.texts("regions");
    if fields.key_node("services").is_some() {
        scheme.services = fields.texts("services");
    }
    scheme.clock_skew_s = seconds(fields, "clock_skew").unwrap_or(scheme.clock_skew_s);
    scheme.max_expiry_s = seconds(fields, "max_expiry").unwrap_or(scheme.max_expiry_s);
    scheme.unsigned_payload = match fields.choice("unsigned_payload") {
        Some("refused") => UnsignedPayload::Refused,
        Some("over_tls") => UnsignedPayload::OverTls,
        Some("allowed") => UnsignedPayload::Allowed,
        Some(_) | None => scheme.unsigned_payload,
    };
    scheme
}

/// Signs for the first region and service that the scheme accepts.
fn aws_signer(scheme: Aws, service: &str, states_digest: bool) -> AwsSigner {
    let first = |names: Vec<String>, default: &str| names.into_iter().next().unwrap_or_else(|| default.to_owned());
    AwsSigner {
        region: first(scheme.regions, "us-east-1"),
        service: first(scheme.services, service),
        path: scheme.path,
        states_digest,
        presigned_s: None,
    }
}

fn webhook(fields: &Fields<'_>, preset: &str) -> Result<Webhook, String> {
    let consumer = fields.text("consumer").unwrap_or_default();
    let mut options = WebhookOptions::preset(preset, consumer).expect("the table names presets");
    options.window.tolerance_ms = fields.milliseconds("clock_skew").unwrap_or(options.window.tolerance_ms);
    set_texts(
        fields,
        [
            ("signature_header", &mut options.header),
            ("prefix", &mut options.prefix),
            ("timestamp_header", &mut options.timestamp_header),
            ("template", &mut options.signed),
        ],
    );
    options.window.format = named(TimeFormat::NAMES, fields, "timestamp_format").unwrap_or(options.window.format);
    options.written = named(Written::NAMES, fields, "encoding").unwrap_or(options.written);
    if let Some(name) = fields.choice("algorithm") {
        options.hash = mac(name)?;
    }
    Webhook::new(options)
}

fn parameters(fields: &Fields<'_>, preset: &str) -> Result<Parameters, String> {
    let mut options = ParameterOptions::preset(preset).expect("the table names presets");
    if fields.key_node("sources").is_some() {
        let has =
            |name| fields.items("sources").iter().any(|item| matches!(item.value, Value::Choice(one) if one == name));
        (options.query, options.form, options.json) = (has("query"), has("form"), has("json"));
    }
    options.allow_unsigned = fields.flag_or("allow_unsigned");
    options.keep_empty = fields.flag_or("keep_empty");
    options.decode = fields.flag_or("decode");
    options.excluded.extend(fields.texts("unsigned_parameters"));
    set_texts(
        fields,
        [
            ("equals", &mut options.equals),
            ("separator", &mut options.separator),
            ("secret_label", &mut options.secret_label),
            ("timestamp_parameter", &mut options.timestamp),
            ("nonce_parameter", &mut options.nonce),
            ("consumer", &mut options.consumer),
        ],
    );
    options.hash = hash(fields).unwrap_or(options.hash);
    options.secret = named(SecretPlace::NAMES, fields, "secret").unwrap_or(options.secret);
    options.written = named(Written::NAMES, fields, "encoding").unwrap_or(options.written);
    options.window.format = named(TimeFormat::NAMES, fields, "timestamp_format").unwrap_or(options.window.format);
    options.window.tolerance_ms = fields.milliseconds("clock_skew").unwrap_or(options.window.tolerance_ms);
    place(fields, ["signature_parameter", "signature_header"], &mut options.signature)?;
    place(fields, ["key_parameter", "key_header"], &mut options.key)?;
    if let Some(Value::Bytes(bytes)) = fields.get("max_body").map(|item| &item.value) {
        options.body_bytes = *bytes as usize;
    }
    Parameters::new(options)
}

/// Takes over the texts that are given.
fn set_texts<const N: usize>(fields: &Fields<'_>, options: [(&str, &mut String); N]) {
    for (key, into) in options {
        if let Some(text) = fields.text(key) {
            text.clone_into(into);
        }
    }
}

fn place(fields: &Fields<'_>, [parameter, header]: [&str; 2], into: &mut Place) -> Result<(), String> {
    match (fields.text(parameter), fields.text(header)) {
        (Some(_), Some(_)) => return Err(format!("has either `{parameter}` or `{header}`")),
        (Some(name), None) => *into = Place::Parameter(name.to_owned()),
        (None, Some(name)) => *into = Place::Header(name.to_ascii_lowercase()),
        (None, None) => {}
    }
    Ok(())
}

fn tokens(fields: &Fields<'_>) -> Result<Tokens, String> {
    let mut options = TokensOptions::default();
    options.hash = hash(fields).unwrap_or(options.hash);
    options.secret = named(SecretPlace::NAMES, fields, "secret").unwrap_or(options.secret);
    options.written = named(Written::NAMES, fields, "encoding").unwrap_or(options.written);
    set_texts(
        fields,
        [
            ("signature_header", &mut options.signature_header),
            ("key_header", &mut options.key_header),
            ("consumer", &mut options.consumer),
        ],
    );
    Tokens::new(options)
}
