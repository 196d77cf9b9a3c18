//! Detectors of the configuration: which keys each kind has, and what they mean.

use weir_inspect::{Advice, Answer};
use weir_policy::check::unknown_hint;
use weir_policy::check::{Fields, Item, Value};
use weir_policy::document::{Kind as NodeKind, place, quoted};
use weir_rules::ir::{Expr, ValueExpr};
use weir_rules::{ExpressionError, Field, NoLists};

use super::build::Builder;
use super::model::{
    Counter, CountersConfig, DetectorConfig, ExtAuthzConfig, Limit, PolicyConfig, RedisConfig, RiskConfig, StoreConfig,
};
use super::table::KINDS;
use crate::ext_authz;

/// Status of the answer beyond a limit.
const TOO_MANY: u16 = 429;
/// Status of the answer from a score on.
const FORBIDDEN: u16 = 403;

impl Builder<'_> {
    /// A detector, unless its kind is missing.
    pub(super) fn detector(&mut self, fields: &Fields<'_>) -> Option<DetectorConfig> {
        let kind = fields.choice("kind")?;
        self.keys_of(kind, fields)?;
        Some(match kind {
            "rules" => DetectorConfig::Rules(self.policy(fields, &[])),
            "counters" => {
                DetectorConfig::Counters(CountersConfig { limits: self.limits(fields), store: self.store(fields) })
            }
            "risk" => {
                let counters = self.counters(fields);
                let ids: Vec<String> = counters.iter().map(|counter| counter.id.clone()).collect();
                DetectorConfig::Risk(RiskConfig {
                    counters,
                    store: self.store(fields),
                    policy: self.policy(fields, &ids),
                    thresholds: self.thresholds(fields),
                })
            }
            "ext_authz" => {
                if let Some((item, reason)) = refused(fields, "endpoint", |url| ext_authz::endpoint(url).err()) {
                    self.fault(item.node, reason, "such as http://127.0.0.1:9191");
                }
                DetectorConfig::ExtAuthz(ExtAuthzConfig {
                    endpoint: fields.text_or("endpoint").to_owned(),
                    with_body: fields.flag_or("with_body"),
                    timeout_ms: fields.ms_or("timeout"),
                })
            }
            _ => return None,
        })
    }

    /// Reports keys of other kinds, and those that are missing.
    fn keys_of(&mut self, kind: &str, fields: &Fields<'_>) -> Option<()> {
        let (_, needed, known) = KINDS.into_iter().find(|(name, ..)| *name == kind)?;
        let NodeKind::Mapping(pairs) = &fields.node.kind else { return None };
        for (node, _) in pairs {
            let Some(scalar) = node.as_scalar().filter(|scalar| scalar.text != "kind") else { continue };
            if fields.key_node(&scalar.text).is_some() && !known.contains(&scalar.text.as_str()) {
                let hint = unknown_hint(&scalar.text, known.iter().copied(), "its keys are");
                self.fault(node, format!("a detector of kind `{kind}` has no key {}", quoted(&scalar.text)), hint);
            }
        }
        let missing: Vec<_> = known[..needed].iter().filter(|key| fields.lacks(&[**key])).collect();
        for key in &missing {
            self.fault(fields.node, format!("a detector of kind `{kind}` needs `{key}`"), "add it");
        }
        missing.is_empty().then_some(())
    }

    /// The policy of a detector that has counters of these ids.
    fn policy(&mut self, fields: &Fields<'_>, counters: &[String]) -> PolicyConfig {
        let config = PolicyConfig {
            policy: self.file(fields, "policy"),
            apply: fields.texts("apply"),
            refuses_unreadable: fields.choice_or("bounds") == "closed",
        };
        self.examine(fields, &config, counters);
        config
    }

    fn store(&mut self, fields: &Fields<'_>) -> StoreConfig {
        let redis = fields.fields("redis").map(|fields| {
            let open = |url: &str| redis::Client::open(url).err().map(|error| error.to_string());
            if let Some((item, reason)) = refused(fields, "url", open) {
                self.fault(item.node, format!("the address of Redis makes no sense: {reason}"), "redis://HOST:PORT/0");
            }
            RedisConfig {
                url: fields.text_or("url").to_owned(),
                timeout_ms: fields.ms_or("timeout"),
                prefix: fields.text_or("prefix").to_owned(),
            }
        });
        StoreConfig { keys: fields.u32_or("keys") as usize, redis }
    }

    fn limits(&mut self, fields: &Fields<'_>) -> Vec<Limit> {
        let mut limits = Vec::new();
        for item in fields.items("limits").iter().filter_map(Item::as_fields) {
            let Some(Value::Rate(rate)) = item.get("rate").map(|item| &item.value) else { continue };
            let usual = || Answer { advice: Advice::Refuse, status: TOO_MANY, ..Answer::default() };
            let answer = item.fields("answer").map_or_else(usual, |fields| answer(fields, TOO_MANY));
            if let Some(counter) = self.counter(item, rate.period_ms) {
                self.is_new(limits.iter().map(|limit: &Limit| &limit.counter), item);
                limits.push(Limit { counter, most: rate.requests, answer });
            }
        }
        limits
    }

    fn counters(&mut self, fields: &Fields<'_>) -> Vec<Counter> {
        let mut counters = Vec::new();
        for item in fields.items("counters").iter().filter_map(Item::as_fields) {
            if let Some(counter) = item.milliseconds("window").and_then(|window_ms| self.counter(item, window_ms)) {
                self.is_new(counters.iter(), item);
                counters.push(counter);
            }
        }
        counters
    }

    /// Reports an id that is taken.
    fn is_new<'c>(&mut self, mut known: impl Iterator<Item = &'c Counter>, fields: &Fields<'_>) {
        let Some(item) = fields.get("id") else { return };
        let Value::Text(id) = item.value else { return };
        if known.any(|counter| counter.id == id) {
            self.fault(item.node, format!("the id {} is already taken", quoted(id)), "it is unique in its detector");
        }
    }

    fn counter(&mut self, fields: &Fields<'_>, window_ms: u64) -> Option<Counter> {
        let when = match fields.get("when") {
            Some(item) => Some(self.condition(item)?),
            None => None,
        };
        let distinct = match fields.key_node("distinct") {
            Some(_) => Some(self.value(fields, "distinct")?),
            None => None,
        };
        Some(Counter {
            id: fields.text("id")?.to_owned(),
            when,
            key: self.value(fields, "key")?,
            distinct,
            window_ms,
            ipv6_prefix: fields.u32_or("ipv6_prefix") as u8,
        })
    }

    fn condition(&mut self, item: &Item<'_>) -> Option<Expr> {
        let Value::Text(text) = item.value else { return None };
        let parsed = self.expression(item, weir_rules::parse(text, &NoLists))?;
        let mut read = Vec::new();
        parsed.tests(&mut |test| test.value.fields(&mut |access| read.push(access.field)));
        self.is_readable(item, &read).then_some(parsed)
    }

    fn value(&mut self, fields: &Fields<'_>, key: &str) -> Option<ValueExpr> {
        let item = fields.get(key)?;
        let Value::Text(text) = item.value else { return None };
        let parsed = self.expression(item, weir_rules::parse_value(text))?;
        let mut read = Vec::new();
        parsed.fields(&mut |access| read.push(access.field));
        self.is_readable(item, &read).then_some(parsed)
    }

    fn expression<T>(&mut self, item: &Item<'_>, parsed: Result<T, Vec<ExpressionError>>) -> Option<T> {
        let errors = match parsed {
            Ok(parsed) => return Some(parsed),
            Err(errors) => errors,
        };
        for error in errors {
            let at = place(self.source, item.node, error.span.start);
            self.reporter.at(self.source, at, error.message, error.hint);
        }
        None
    }

    /// Reports fields that a question does not have.
    fn is_readable(&mut self, item: &Item<'_>, read: &[Field]) -> bool {
        let known_later = read.iter().find(|field| field.info().phase == weir_rules::Phase::Response);
        let Some(field) = known_later.or(read.iter().find(|field| **field == Field::Counters)) else { return true };
        let message = format!("a counter cannot read `{}`", field.info().name);
        self.fault(item.node, message, "what is counted is known from the request alone");
        false
    }

    fn thresholds(&mut self, fields: &Fields<'_>) -> Vec<(u32, Answer)> {
        let items = fields.items("thresholds").iter().filter_map(Item::as_fields);
        let of = |item: &Fields<'_>| {
            let score = u32::try_from(item.integer("score")?).ok()?;
            Some((score, item.fields("answer").map(|fields| answer(fields, FORBIDDEN))?))
        };
        let mut all: Vec<_> = items.filter_map(of).collect();
        all.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        all
    }
}

/// A text and why it is not good, if `refuse` says so.
fn refused<'f, 'n>(
    fields: &'f Fields<'n>,
    key: &str,
    refuse: impl Fn(&str) -> Option<String>,
) -> Option<(&'f Item<'n>, String)> {
    let item = fields.get(key)?;
    let Value::Text(text) = item.value else { return None };
    Some((item, refuse(text)?))
}

/// An answer as the configuration describes it.
fn answer(fields: &Fields<'_>, status: u16) -> Answer {
    let advice = match fields.choice_or("advice") {
        "detect" => Advice::Detect,
        "pass" => Advice::Pass,
        _ => Advice::Refuse,
    };
    let status = fields.integer("status").and_then(|status| u16::try_from(status).ok()).unwrap_or(status);
    let headers = fields.map("headers").iter().filter_map(|(_, name, item)| match item.value {
        Value::Text(value) => Some((name.as_bytes().to_vec(), value.as_bytes().to_vec())),
        _ => None,
    });
    Answer {
        advice,
        status: if advice == Advice::Refuse { status } else { 0 },
        response_headers: headers.collect(),
        body: fields.text_or("body").as_bytes().to_vec(),
        tags: fields.texts("tags"),
        score: fields.u32_or("score"),
        ..Answer::default()
    }
}
