//! Routes that give clients messages of topics, and take theirs.

use weir_gateway::resource::{Messages, Rate, ResourceKind};
use weir_policy::check::{Fields, Value};
use weir_policy::table::{Key, Kind, Need, Resource, form};

use crate::convert::Converter;

/// Bounds of what may wait for a subscriber. With less than 4 KiB a burst of a few messages would fill it.
const BUFFER_BYTES: (u64, u64) = (4 << 10, 16 << 20);
/// Bounds of the time between pings.
const PING_MS: (u64, u64) = (1000, 3_600_000);
/// Most topic filters that a connection may subscribe to.
const MAX_CONNECTION_TOPICS: i64 = 10_000;
/// Most origins of other sites.
const MAX_ORIGINS: usize = 64;

/// Topics for clients.
pub(super) static MESSAGES: Resource = Resource {
    name: "messages",
    article: "`messages`",
    doc: "Gives clients the messages of topics, by WebSocket or server-sent events, and takes messages from them. `messages: SET` is short for `messages: {topics: SET}`.",
    short: Some("topics"),
    one_of: &[],
    keys: &[
        Key {
            name: "topics",
            kind: Kind::Id(ResourceKind::Topics),
            need: Need::Required,
            doc: "The set of topics that clients of this route get to.",
        },
        Key {
            name: "publish",
            kind: Kind::Flag,
            need: Need::Value("false"),
            doc: "Whether clients may publish messages.",
        },
        Key {
            name: "subscribe",
            kind: Kind::Flag,
            need: Need::Value("true"),
            doc: "Whether clients may subscribe to topics.",
        },
        Key {
            name: "buffer",
            kind: Kind::Size(BUFFER_BYTES.0, BUFFER_BYTES.1),
            need: Need::Value("256k"),
            doc: "The number of bytes that may wait for one slow subscriber.",
        },
        Key {
            name: "ping",
            kind: Kind::Duration(PING_MS.0, PING_MS.1),
            need: Need::Value("30s"),
            doc: "The time between two signs of life on a connection without messages.",
        },
        Key {
            name: "max_connection_topics",
            kind: Kind::Integer(1, MAX_CONNECTION_TOPICS),
            need: Need::Value("64"),
            doc: "The number of topic filters that one connection may subscribe to.",
        },
        Key {
            name: "restricted",
            kind: Kind::Flag,
            need: Need::Value("false"),
            doc: "Whether clients may use only topics that rules allow them by the action `allow_topics`. Where such a rule has matched, that is so anyway.",
        },
        Key {
            name: "publish_rate",
            kind: Kind::Rate,
            need: Need::Default("unlimited"),
            doc: "The number of messages that one WebSocket may publish in a time, such as `100/10s`. Requests are limited by the action `rate_limit`.",
        },
        Key {
            name: "uninspected_frames",
            kind: Kind::Flag,
            need: Need::Value("false"),
            doc: "Whether clients may publish by frames of a WebSocket, which no rule sees, even where a policy may refuse requests by their bodies.",
        },
        Key {
            name: "origins",
            kind: Kind::AtMost(&Kind::List(&Kind::Form(&form::ORIGIN), false), MAX_ORIGINS),
            need: Need::Default("pages of the same origin only"),
            doc: "Origins of other sites whose pages may connect, such as `https://app.example.com`; `*` for all. Clients that are not browsers send no origin, and are not limited by it.",
        },
    ],
};

impl Converter<'_> {
    pub(super) fn messages(&mut self, fields: &Fields<'_>) -> Messages {
        let topics = self.reference(fields, "topics", ResourceKind::Topics).unwrap_or_default();
        let (publish, subscribe) = (fields.flag_or("publish"), fields.flag_or("subscribe"));
        if let Some(node) = fields.key_node("subscribe").filter(|_| !publish && !subscribe) {
            let hint = "set `publish` to true, or leave `subscribe` out";
            self.fault(node, "clients could neither publish nor subscribe", Some(hint));
        }
        Messages {
            topics,
            publish,
            subscribe,
            buffer: fields.bytes_or("buffer"),
            ping_ms: fields.ms_or("ping"),
            max_connection_topics: fields.u32_or("max_connection_topics"),
            restricted: fields.flag_or("restricted"),
            uninspected_frames: fields.flag_or("uninspected_frames"),
            publish_rate: match fields.get("publish_rate").map(|item| &item.value) {
                Some(Value::Rate(rate)) => Some(Rate { requests: rate.requests, period_ms: rate.period_ms }),
                _ => None,
            },
            origins: self.origins(fields),
        }
    }

    /// Each once, as browsers write them.
    fn origins(&mut self, fields: &Fields<'_>) -> Vec<String> {
        let mut origins: Vec<String> = Vec::new();
        for item in fields.items("origins") {
            let Value::Text(origin) = item.value else { continue };
            if origin == "*" && fields.items("origins").len() > 1 {
                self.warn(item.node, "`*` allows all origins, so the others change nothing", None);
            }
            let origin = origin.to_ascii_lowercase();
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        origins
    }
}
