//! `rate_limit`: count, and answer 429 past the limit.

use weir_engine::{Action, RateLimit};
use weir_rules::Field;
use weir_rules::ir::{Access, ValueExpr};

use super::{ActionKind, answer};
use crate::check::Value;
use crate::table::{Key, Kind, Need, Resource};

/// Most requests that a limit lets come at once.
const MAX_BURST: i64 = 1_000_000_000;

pub(super) static RATE_LIMIT: ActionKind = ActionKind {
    resource: &Resource {
        name: "rate_limit",
        article: "`rate_limit`",
        doc: "Counts the request. Beyond the limit, it is answered with 429, `Retry-After` and the `RateLimit` header fields; otherwise the evaluation continues. All workers share the count. `rate_limit: RATE` is short for `rate_limit: {rate: RATE}`.",
        short: Some("rate"),
        one_of: &[],
        keys: &[
            Key {
                name: "rate",
                kind: Kind::Rate,
                need: Need::Required,
                doc: "The number of requests in a period, for each key: `100/s`, `600/m`, `1000/h`, `10/30s`.",
            },
            Key {
                name: "key",
                kind: Kind::Value,
                need: Need::Default("`ip.src`"),
                doc: "The key of the counter. Requests without it are counted by client address, apart from all others.",
            },
            Key {
                name: "ipv6_prefix",
                kind: Kind::Integer(1, 128),
                need: Need::Value("64"),
                doc: "If the key is an IPv6 address: the number of its leading bits that are counted together. Providers give each customer at least a /64, so counting single addresses would limit nobody.",
            },
            Key {
                name: "burst",
                kind: Kind::Integer(0, MAX_BURST),
                need: Need::Default("the requests of the rate, minus one"),
                doc: "The number of requests that may come at once beyond the steady rate. With `0`, requests must be evenly spaced; by default, all requests of a period may come at once.",
            },
            Key {
                name: "status",
                kind: Kind::Integer(400, 599),
                need: Need::Default("429"),
                doc: "Status code of the answer beyond the limit.",
            },
            answer::BODY,
            answer::CONTENT_TYPE,
            answer::HEADERS,
        ],
    },
    build: |fields, builder| {
        let key = match fields.key_node("key") {
            Some(_) => builder.value(fields, "key"),
            None => Some(ValueExpr::Field(Access { field: Field::IpSrc, key: None, index: None })),
        };
        let response = answer::response(fields, builder, 429)?;
        let Value::Rate(rate) = fields.get("rate")?.value else { return None };
        let burst = match fields.integer("burst") {
            Some(burst) => u64::try_from(burst).ok()?,
            None => rate.requests - 1,
        };
        let limit = builder.next_limit();
        Some(Action::RateLimit(RateLimit {
            limit,
            key: key?,
            requests: rate.requests,
            period_ms: rate.period_ms,
            burst,
            ipv6_prefix: fields.u32_or("ipv6_prefix") as u8,
            response,
        }))
    },
};
