//! `allow_topics`: what the client may do with topics of messages.

use weir_engine::{Action, TopicGrant};

use super::ActionKind;
use crate::table::{Key, Kind, Need, Resource, form};

pub(super) static TOPICS: ActionKind = ActionKind {
    resource: &Resource {
        name: "allow_topics",
        article: "`allow_topics`",
        doc: "Allows the client of a route of `messages` to use these topics. If any rule does so, the client may use no others. In a filter, `{}` stands for the value of an expression: `allow_topics: {subscribe: \"users/{}/#\", value: 'jwt.claims[\"sub\"]'}`. A value that is empty, or has `/`, `+` or `#` in it, allows nothing.",
        short: Some("subscribe"),
        one_of: &[],
        keys: &[
            Key {
                name: "subscribe",
                kind: Kind::Form(&form::TOPIC_FILTER),
                need: Need::Default("none"),
                doc: "Topics that the client may subscribe to.",
            },
            Key {
                name: "publish",
                kind: Kind::Form(&form::TOPIC_FILTER),
                need: Need::Default("none"),
                doc: "Topics that it may publish to, where the route allows publishing.",
            },
            Key { name: "value", kind: Kind::Value, need: Need::Default("none"), doc: "What `{}` stands for." },
        ],
    },
    build: |fields, builder| {
        let text = |key: &str| fields.text(key).map(str::to_owned);
        let grant = TopicGrant { subscribe: text("subscribe"), publish: text("publish") };
        let value = builder.value(fields, "value");
        let complaint = match (grant.has_place(), fields.get("value")) {
            _ if fields.lacks(&["subscribe", "publish"]) => {
                Some(("no topics are named", "set `subscribe`, `publish` or both"))
            }
            (true, None) => Some(("`{}` stands for nothing", "set `value` to an expression")),
            (false, Some(_)) => Some(("no filter has a place for the value", "write `{}` where it belongs")),
            _ => None,
        };
        if let Some((message, hint)) =
            complaint.filter(|_| grant != TopicGrant::default() || fields.lacks(&["subscribe", "publish"]))
        {
            builder.fault(fields.node, message, Some(hint.to_owned()));
            return None;
        }
        (value.is_some() || fields.get("value").is_none()).then_some(Action::Topics(grant, value))
    },
};
