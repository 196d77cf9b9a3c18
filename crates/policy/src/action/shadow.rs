//! `shadow`: mark load-test traffic, or remove marks.

use weir_engine::{Action, Shadow};

use super::ActionKind;
use crate::table::{Key, Kind, Need, Resource};

pub(super) static SHADOW: ActionKind = ActionKind {
    resource: &Resource {
        name: "shadow",
        article: "`shadow`",
        doc: "Marks the request as shadow (load-test) traffic for the Java probe, by a member of the header field `baggage`, or removes marks that clients have sent. The last rule that matches decides. `shadow: DO` is short for `shadow: {do: DO}`.",
        short: Some("do"),
        one_of: &[],
        keys: &[
            Key {
                name: "do",
                kind: Kind::Choice(&[
                    ("mark", "mark the request, or the share of requests"),
                    ("strip", "remove the mark: for clients that are not trusted"),
                ]),
                need: Need::Required,
                doc: "What is done.",
            },
            Key {
                name: "percent",
                kind: Kind::Percent,
                need: Need::Value("100"),
                doc: "The share of requests that `mark` marks; marks of all others are removed.",
            },
            Key {
                name: "key",
                kind: Kind::HeaderName,
                need: Need::Value("weir.shadow"),
                doc: "The key of the mark, as the probes have it.",
            },
        ],
    },
    build: |fields, builder| {
        let is_mark = fields.choice("do")? == "mark";
        if let Some(node) = fields.key_node("percent").filter(|_| !is_mark) {
            builder.fault(node, "`percent` is of `mark`", Some("`strip` removes all marks".to_owned()));
            return None;
        }
        let (share, key) = (fields.per_10000_or("percent"), fields.text_or("key").to_owned());
        Some(Action::Shadow(Shadow { key, per_10000: if is_mark { share } else { 0 } }))
    },
};
