//! `verify_response`: a signature of the origin over its response.

use std::sync::Arc;

use weir_auth::message::Options;
use weir_engine::{Action, ResponseSignature};
use weir_gateway::resource::ResourceKind;

use super::ActionKind;
use crate::check::Value;
use crate::table::{Key, Kind, Need, Resource};

/// The widest window in which a signature is valid.
const MAX_WINDOW_MS: u64 = 86_400_000;
/// The longest body that is held back.
const MAX_HELD_BYTES: u64 = 64 << 20;
/// The same, unless the action says otherwise.
const HELD_BYTES: usize = 1 << 20;

pub(super) static VERIFY_RESPONSE: ActionKind = ActionKind {
    resource: &Resource {
        name: "verify_response",
        article: "`verify_response`",
        doc: "Asks for an HTTP Message Signature (RFC 9421) of the origin over its response by the key of a consumer, and the digest of its body (RFC 9530); a response without a valid one is replaced by 502. The response is held back until its body has been seen.",
        short: None,
        one_of: &[],
        keys: &[
            Key {
                name: "consumer",
                kind: Kind::Id(ResourceKind::Consumers),
                need: Need::Default("any"),
                doc: "The consumer that must have signed, with one of its `signature` credentials.",
            },
            Key {
                name: "signed",
                kind: Kind::List(&Kind::Text, true),
                need: Need::Default("`@status`, `content-digest`, `@method;req`, `@target-uri;req`"),
                doc: "The components that must be signed; those of the request with `;req`, as the client has sent it. Without `content-digest` the body is not looked at. nginx passes on neither `Date` nor `Server` of an origin.",
            },
            Key {
                name: "tag",
                kind: Kind::Text,
                need: Need::Default("any"),
                doc: "The `tag` of the signature that counts.",
            },
            Key {
                name: "label",
                kind: Kind::Text,
                need: Need::Default("the only one"),
                doc: "The label of the signature that counts, such as `sig1`.",
            },
            Key {
                name: "clock_skew",
                kind: Kind::Duration(1000, MAX_WINDOW_MS),
                need: Need::Value("300s"),
                doc: "How old a signature may be. Responses from a cache are as old as they are.",
            },
            Key {
                name: "max_body",
                kind: Kind::Size(0, MAX_HELD_BYTES),
                need: Need::Value("1m"),
                doc: "The longest body, which is held in memory. A longer one is replaced by 502.",
            },
        ],
    },
    build: |fields, builder| {
        let mut options = Options::of_responses();
        if fields.key_node("signed").is_some() {
            options.required = fields.texts("signed");
        }
        options.tag = fields.text("tag").map(str::to_owned);
        options.label = fields.text("label").map(str::to_owned);
        options.max_age_ms = fields.milliseconds("clock_skew").unwrap_or(options.max_age_ms);
        let max_body = match fields.get("max_body").map(|item| &item.value) {
            Some(Value::Bytes(bytes)) => *bytes as usize,
            _ => HELD_BYTES,
        };
        match ResponseSignature::new(options, fields.text("consumer").map(str::to_owned), max_body) {
            Ok(asked) => Some(Action::VerifyResponse(Arc::new(asked))),
            Err(why) => {
                builder.fault(fields.node, why, None);
                None
            }
        }
    },
};
