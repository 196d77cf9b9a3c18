//! Topics: sets of them, which share memory and history.

use weir_gateway::resource::{History, Resource as Put, Topics};
use weir_policy::check::{Fields, Value};
use weir_policy::table::{Key, Kind, Need, Resource, form};

use super::{DAY_MS, Descriptor, Example};
use crate::convert::Converter;

pub(super) static DESCRIPTOR: Descriptor = Descriptor {
    table: &TOPICS,
    nested: &[&HISTORY],
    secret: None,
    example: Example {
        id: "orders",
        document: r#"{"topics": ["orders/#", "stock/+/level"], "history": 100}"#,
        patch: r#"{"history": {"count": 100, "age": "1h"}}"#,
    },
    convert: |converter, fields| converter.topics(fields),
};

/// Most filters of a set. A message is compared with all of them.
const MAX_FILTERS: usize = 32;
/// Most messages of one topic that are kept.
const MAX_HISTORY: i64 = 100_000;
/// Largest limit of a message.
const MAX_MESSAGE_BYTES: u64 = 16 << 20;

/// A set of topics.
pub(crate) static TOPICS: Resource = Resource {
    name: "topics",
    article: "a topic set",
    doc: "Topics of messages for clients, which share memory and history. `messages` of a route says what clients may do with them. There are at most 16 sets, because each gets one of the 16 parts of the memory of `weir_messages_zone`.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "topics",
            kind: Kind::AtMost(&Kind::List(&Kind::Form(&form::TOPIC_FILTER), true), MAX_FILTERS),
            need: Need::Required,
            doc: "The topics, by filters as in MQTT: levels separated by `/`, `+` for any one level, `#` at the end for all remaining levels, also none. `orders/#` includes `orders`, `orders/7` and `orders/7/status`. A filter has at most 16 levels and 256 bytes. Topics that begin with `$` are reserved.",
        },
        Key {
            name: "history",
            kind: Kind::Resource(&HISTORY),
            need: Need::Default("none"),
            doc: "Messages that clients can still get after they were sent. `history: 100` is short for `history: {count: 100}`.",
        },
        Key {
            name: "max_message",
            kind: Kind::Size(1, MAX_MESSAGE_BYTES),
            need: Need::Value("64k"),
            doc: "The largest message; a larger one is refused. A message that does not fit into an eighth of a part of the memory is refused, too: one of more than 128k, unless `weir_messages_zone` says otherwise.",
        },
        Key {
            name: "presence",
            kind: Kind::Flag,
            need: Need::Value("false"),
            doc: "Whether clients can see who is connected to a topic: whoever may subscribe to it may ask. Clients that poll, or subscribe with wildcards, are not counted.",
        },
    ],
};

/// What is kept.
static HISTORY: Resource = Resource {
    name: "history",
    article: "`history`",
    doc: "The last messages of each topic, for clients that reconnect or ask for them. When the memory is full, the oldest messages of the set are dropped first.",
    short: Some("count"),
    one_of: &[],
    keys: &[
        Key {
            name: "count",
            kind: Kind::Integer(0, MAX_HISTORY),
            need: Need::Value("0"),
            doc: "The number of messages of each topic; 0 keeps none.",
        },
        Key {
            name: "age",
            kind: Kind::Duration(1, DAY_MS),
            need: Need::Value("10m"),
            doc: "The age beyond which a message is not given out.",
        },
    ],
};

impl Converter<'_> {
    fn topics(&mut self, fields: &Fields<'_>) {
        let mut filters: Vec<String> = Vec::new();
        for item in fields.items("topics") {
            let Value::Text(filter) = item.value else { continue };
            if filters.iter().any(|known| known == filter) {
                self.fault(item.node, format!("the topic filter `{filter}` is given twice"), Some("keep one of them"));
            }
            if filter.split('/').any(|level| level == "*") {
                let hint = "`+` stands for any one level, `#` for all remaining levels";
                self.warn(item.node, "`*` is an ordinary character in a topic filter", Some(hint));
            }
            filters.push(filter.to_owned());
        }
        let history = fields.fields_or("history", |history| {
            if let (Some(node), None) = (history.key_node("age"), history.key_node("count"))
                && history.lacks(&["count"])
            {
                self.fault(node, "`age` needs `count`: how many messages are kept", None);
            }
            History { count: history.u32_or("count"), age_ms: history.ms_or("age") }
        });
        let max_message = fields.bytes_or("max_message");
        self.put(Put::Topics(Topics {
            id: self.id.to_owned(),
            filters,
            history,
            max_message,
            presence: fields.flag_or("presence"),
        }));
    }
}
