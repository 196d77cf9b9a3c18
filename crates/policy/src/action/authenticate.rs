//! `authenticate`: one of several ways to prove who sent a request; and what all those ways share.

use std::sync::Arc;

use weir_auth::{Admission, Authentication, Replay, Scheme};
use weir_engine::Action;
use weir_gateway::resource::ResourceKind;

use super::ActionKind;
use crate::check::{Fields, Value};
use crate::table::{Key, Kind, Need, Resource, form};

/// Ways of one `authenticate`: each is tried for every request without the credentials of those before it.
const MAX_WAYS: usize = 8;

pub(in crate::action) const CONSUMERS: Key = Key {
    name: "consumers",
    kind: Kind::List(&Kind::Id(ResourceKind::Consumers), true),
    need: Need::Default("all"),
    doc: "The consumers that may pass. Others are answered with 403.",
};

pub(in crate::action) const GROUPS: Key = Key {
    name: "groups",
    kind: Kind::List(&Kind::Form(&form::CONSUMER_NAME), true),
    need: Need::Default("all"),
    doc: "Only consumers in one of these groups may pass. Others are answered with 403.",
};

pub(in crate::action) const DENIED_GROUPS: Key = Key {
    name: "denied_groups",
    kind: Kind::List(&Kind::Form(&form::CONSUMER_NAME), true),
    need: Need::Default("none"),
    doc: "Consumers in one of these groups are answered with 403, whatever other groups they are in.",
};

pub(in crate::action) const ANONYMOUS: Key = Key {
    name: "anonymous",
    kind: Kind::Id(ResourceKind::Consumers),
    need: Need::Default("requests without credentials are refused"),
    doc: "The consumer that requests without any credentials count as. Wrong credentials are refused all the same.",
};

pub(in crate::action) const HIDE_CREDENTIALS: Key = Key {
    name: "hide_credentials",
    kind: Kind::Flag,
    need: Need::Value("false"),
    doc: "Whether the header fields with the credentials are removed from the request to the upstream.",
};

pub(in crate::action) const IDENTITY_HEADERS: Key = Key {
    name: "identity_headers",
    kind: Kind::Flag,
    need: Need::Value("true"),
    doc: "Whether the upstream gets the consumer in `X-Consumer-Id` and its groups, joined by commas, in `X-Consumer-Groups`. What the client sends in these fields is removed.",
};

pub(in crate::action) const PREFLIGHTS: Key = Key {
    name: "preflights",
    kind: Kind::Flag,
    need: Need::Value("true"),
    doc: "Whether CORS preflight requests, which browsers send without credentials, pass: `OPTIONS` with `Origin` and `Access-Control-Request-Method`.",
};

pub(in crate::action) const REALM: Key = Key {
    name: "realm",
    kind: Kind::Form(&form::CONSUMER_NAME),
    need: Need::Value("weir"),
    doc: "The realm in `WWW-Authenticate` of the answer 401.",
};

pub(in crate::action) const DEBUG: Key = Key {
    name: "debug",
    kind: Kind::Flag,
    need: Need::Value("false"),
    doc: "Whether the attack log shows, for a refused request, what the gateway canonicalised, to be compared with what the client signed. It never shows a secret, but parts of the request.",
};

/// The keys of a way to authenticate: its own, then those that all ways share.
macro_rules! keys_of_way {
    ($($own:expr),* $(,)?) => {{
        use crate::action::authenticate as shared;
        &[
            $($own,)*
            shared::CONSUMERS,
            shared::GROUPS,
            shared::DENIED_GROUPS,
            shared::ANONYMOUS,
            shared::HIDE_CREDENTIALS,
            shared::IDENTITY_HEADERS,
            shared::PREFLIGHTS,
            shared::REALM,
            shared::DEBUG,
        ]
    }};
}
pub(super) use keys_of_way;

/// The longest default of `clock_skew`.
const WINDOW_MS: u64 = 600_000;

/// The headers that tell the upstream who the consumer is.
const HEADERS: [&str; 2] = ["X-Consumer-Id", "X-Consumer-Groups"];

pub(super) static AUTHENTICATE: ActionKind = ActionKind {
    resource: &Resource {
        name: "authenticate",
        article: "`authenticate`",
        doc: "Asks who sent the request, and goes on if one of several ways proves a consumer; otherwise the answer is 401. `authenticate: [jwt, key_auth]` is short for `authenticate: {any_of: [jwt, key_auth]}`.",
        short: Some("any_of"),
        one_of: &[],
        keys: keys_of_way![Key {
            name: "any_of",
            kind: Kind::AtMost(&Kind::List(&Kind::Action, true), MAX_WAYS),
            need: Need::Required,
            doc: "The ways, asked in this order: `jwt`, `key_auth`, `basic_auth`, `mtls`, `verify_signature`, each with its own options, but without those that it shares with `authenticate`.",
        },],
    },
    build: |fields, builder| {
        let mut schemes = Vec::new();
        let mut replay = Replay::Pass;
        let mut window_ms = 0;
        let mut all_made = true;
        for item in fields.items("any_of") {
            let Value::Action(kind, parameters) = &item.value else { continue };
            for key in SHARED {
                if let Some(node) = parameters.key_node(key) {
                    let hint = "options that all ways share stand beside `any_of`".to_owned();
                    builder.fault(node, format!("`{key}` within `any_of`"), Some(hint));
                }
            }
            match (kind.build)(parameters, builder) {
                Some(Action::Authenticate(one)) if !std::ptr::eq(*kind, &raw const AUTHENTICATE) => {
                    schemes.extend(one.schemes.iter().cloned());
                    window_ms = one.window_ms.max(window_ms);
                    // The strictest holds for all.
                    replay = match (replay, one.replay) {
                        (Replay::Pass, other) | (other, Replay::Pass) => other,
                        (Replay::Refuse { is_open: a }, Replay::Refuse { is_open: b }) => {
                            Replay::Refuse { is_open: a && b }
                        }
                    };
                }
                Some(_) => {
                    let message = format!("`{}` does not authenticate", kind.resource.name);
                    builder.fault(
                        item.node,
                        message,
                        Some("the ways are jwt, key_auth, basic_auth, mtls, verify_signature".to_owned()),
                    );
                    all_made = false;
                }
                None => all_made = false,
            }
        }
        if !all_made || schemes.is_empty() {
            return None;
        }
        match action(fields, schemes, replay) {
            Action::Authenticate(asked) => {
                Some(Action::Authenticate(Arc::new(Authentication { window_ms, ..(*asked).clone() })))
            }
            other => Some(other),
        }
    },
};

/// Names of the options that `authenticate` shares with each way.
pub(super) const SHARED: [&str; 9] = [
    "consumers",
    "groups",
    "denied_groups",
    "anonymous",
    "hide_credentials",
    "identity_headers",
    "preflights",
    "realm",
    "debug",
];

/// The action with the options that all ways share.
pub(super) fn action(fields: &Fields<'_>, schemes: Vec<Arc<dyn Scheme>>, replay: Replay) -> Action {
    Action::Authenticate(Arc::new(Authentication {
        schemes,
        anonymous: fields.text("anonymous").map(str::to_owned),
        admission: Admission {
            consumers: fields.texts("consumers"),
            groups: fields.texts("groups"),
            denied_groups: fields.texts("denied_groups"),
        },
        hides_credentials: fields.flag_or("hide_credentials"),
        identity_headers: fields.flag_or("identity_headers").then(|| HEADERS.map(str::to_owned)),
        passes_preflights: fields.flag_or("preflights"),
        replay,
        window_ms: fields.milliseconds("clock_skew").unwrap_or(WINDOW_MS),
        realm: fields.text("realm").unwrap_or("weir").to_owned(),
        debug: fields.flag_or("debug"),
    }))
}

/// The scheme of an action as an object.
pub(super) fn one(scheme: impl Scheme + 'static) -> Vec<Arc<dyn Scheme>> {
    vec![Arc::new(scheme)]
}
