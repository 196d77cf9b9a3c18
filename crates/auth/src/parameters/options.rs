//! What a signature over sorted parameters is: options, and the platforms' values of them.
//!
//! Sources: WeChat Pay APIv2, "Secure Specification", section 1; Taobao Open Platform, "API call protocol".

use crate::digest::Hash;
use crate::keyed::SecretPlace;
use crate::window::{TOLERANCE_MS, TimeFormat, Window};
use crate::written::Written;

/// The most of a body that is kept, in bytes, if nothing else is said: forms of calls have a few kilobytes.
pub const BODY_BYTES: usize = 64 * 1024;

/// Where a value of the request is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the header field of this name.
    Header(String),
    /// In the parameter of this name, in the query or the body.
    Parameter(String),
}

/// The options of a [`crate::parameters::Parameters`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterOptions {
    /// Whether the parameters of the query are signed.
    pub query: bool,
    /// Whether those of a body of type `application/x-www-form-urlencoded` are.
    pub form: bool,
    /// Whether the scalars at the top of a body of type `application/json` are: strings without quotes and escapes,
    /// numbers and booleans as written, `null` as an empty value.
    pub json: bool,
    /// Whether to accept a query, a body, arrays or objects that the signature does not cover.
    pub allow_unsigned: bool,
    /// Whether `%` and `+` in query and form are decoded before signing.
    pub decode: bool,
    /// Whether parameters with an empty value are signed too.
    pub keep_empty: bool,
    /// Names of parameters that are not signed, besides the signature's.
    pub excluded: Vec<String>,
    /// What is between a name and its value.
    pub equals: String,
    /// What is between two parameters.
    pub separator: String,
    /// The hash function.
    pub hash: Hash,
    /// Where the secret goes.
    pub secret: SecretPlace,
    /// What is between the text and a secret after it.
    pub secret_label: String,
    /// How the signature is written.
    pub written: Written,
    /// Where the signature is.
    pub signature: Place,
    /// Where the key id is; of no meaning if there is a consumer.
    pub key: Place,
    /// The consumer whose live secrets are tried; empty: the request names a key.
    pub consumer: String,
    /// The parameter with the timestamp; empty: none.
    pub timestamp: String,
    /// The timestamp's format, and how far it may be from now.
    pub window: Window,
    /// The parameter with the nonce, which needs a timestamp; empty: none, so that the signature is what must not repeat.
    pub nonce: String,
    /// The most of a body that is kept, in bytes.
    pub body_bytes: usize,
}

impl Default for ParameterOptions {
    fn default() -> Self {
        Self {
            query: true,
            form: true,
            json: false,
            allow_unsigned: false,
            decode: true,
            keep_empty: false,
            excluded: Vec::new(),
            equals: "=".into(),
            separator: "&".into(),
            hash: Hash::Sha256,
            secret: SecretPlace::Hmac,
            secret_label: String::new(),
            written: Written::Hex,
            signature: Place::Parameter("sign".into()),
            key: Place::Parameter("app_id".into()),
            consumer: String::new(),
            timestamp: String::new(),
            window: Window { format: TimeFormat::Seconds, tolerance_ms: TOLERANCE_MS },
            nonce: String::new(),
            body_bytes: BODY_BYTES,
        }
    }
}

/// A platform's values: what differs from the default.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name, as in options.
    pub name: &'static str,
    change: fn(&mut ParameterOptions),
}

/// All of them.
pub static PRESETS: &[Preset] = &[
    Preset { name: "custom", change: |_| {} },
    // The secret is the merchant's. For signatures of the type HMAC-SHA256, set `hash` to SHA-256 and `secret` to
    // `after_and_hmac`.
    Preset {
        name: "wechat_pay_v2",
        change: |options| {
            options.hash = Hash::Md5;
            options.secret = SecretPlace::After;
            options.secret_label = "&key=".into();
            options.written = Written::UpperHex;
            options.key = Place::Parameter("mch_id".into());
        },
    },
    // `sign_method=md5`; for `hmac` set `secret` to `hmac`, for `hmac-sha256` also `hash`.
    Preset {
        name: "taobao",
        change: |options| {
            options.hash = Hash::Md5;
            options.secret = SecretPlace::Around;
            (options.equals, options.separator) = (String::new(), String::new());
            options.written = Written::UpperHex;
            options.key = Place::Parameter("app_key".into());
            options.timestamp = "timestamp".into();
            options.window = Window { format: TimeFormat::China, tolerance_ms: 600_000 };
        },
    },
];

impl ParameterOptions {
    /// The values of a preset; `None` if there is no such preset.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        let preset = PRESETS.iter().find(|preset| preset.name == name)?;
        let mut options = Self::default();
        (preset.change)(&mut options);
        Some(options)
    }
}
