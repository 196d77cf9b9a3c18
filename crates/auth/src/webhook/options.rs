//! What a webhook's signature is: options, and the vendors' values of them.
//!
//! Sources: GitHub, "Validating webhook deliveries"; Stripe, "Check the webhook signatures"; Slack, "Verifying requests
//! from Slack"; Shopify, "Deliver webhooks through HTTPS".

use crate::digest::MacHash;
use crate::window::{TOLERANCE_MS, TimeFormat, Window};
use crate::written::Written;

/// The options of a [`crate::webhook::Webhook`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookOptions {
    /// The consumer whose live secrets are tried: the request names no key.
    pub consumer: String,
    /// The header field with the signature.
    pub header: String,
    /// What stands before a signature in its field; in a list, before each.
    pub prefix: String,
    /// What stands before the timestamp in the signature's field, which then is a list with commas (Stripe). It may hold
    /// several signatures. Empty: the field is one signature.
    pub timestamp_prefix: String,
    /// The header field with the timestamp; empty: none.
    pub timestamp_header: String,
    /// The timestamp's format, and how far it may be from now.
    pub window: Window,
    /// How a signature is written.
    pub written: Written,
    /// The hash function of the HMAC.
    pub hash: MacHash,
    /// What is signed: text with `{body}`, once, and `{timestamp}`, which has to be in it if there is a timestamp.
    pub signed: String,
}

/// A vendor's values.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name, as in options.
    pub name: &'static str,
    header: &'static str,
    prefix: &'static str,
    timestamp_prefix: &'static str,
    timestamp_header: &'static str,
    written: Written,
    signed: &'static str,
}

const PLAIN: Preset = Preset {
    name: "custom",
    header: "x-signature",
    prefix: "",
    timestamp_prefix: "",
    timestamp_header: "",
    written: Written::Hex,
    signed: "{body}",
};

/// All of them. Each is HMAC-SHA256, and allows 300 seconds where there is a timestamp.
pub static PRESETS: &[Preset] = &[
    PLAIN,
    Preset { name: "github", header: "x-hub-signature-256", prefix: "sha256=", ..PLAIN },
    Preset {
        name: "stripe",
        header: "stripe-signature",
        prefix: "v1=",
        timestamp_prefix: "t=",
        signed: "{timestamp}.{body}",
        ..PLAIN
    },
    Preset {
        name: "slack",
        header: "x-slack-signature",
        prefix: "v0=",
        timestamp_header: "x-slack-request-timestamp",
        signed: "v0:{timestamp}:{body}",
        ..PLAIN
    },
    Preset { name: "shopify", header: "x-shopify-hmac-sha256", written: Written::Base64, ..PLAIN },
];

impl WebhookOptions {
    /// The values of a preset, for a consumer; `None` if there is no such preset.
    #[must_use]
    pub fn preset(name: &str, consumer: &str) -> Option<Self> {
        let preset = PRESETS.iter().find(|preset| preset.name == name)?;
        Some(Self {
            consumer: consumer.into(),
            header: preset.header.into(),
            prefix: preset.prefix.into(),
            timestamp_prefix: preset.timestamp_prefix.into(),
            timestamp_header: preset.timestamp_header.into(),
            window: Window { format: TimeFormat::Seconds, tolerance_ms: TOLERANCE_MS },
            written: preset.written,
            hash: MacHash::Sha256,
            signed: preset.signed.into(),
        })
    }
}
