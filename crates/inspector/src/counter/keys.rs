//! What a question counts for: conditions, keys and values, compiled to a plan.

use std::net::{IpAddr, Ipv6Addr};

use ring::digest::{SHA256, digest};
use weir_engine::{
    Action, Context, Mode, NoMeter, Outcome, Plan, PolicySpec, RuleIndex, RuleSpec, SelectorSpec, Side, Specification,
};
use weir_inspect::own::ReceivedQuestion;
use weir_rules::Phase;
use weir_rules::ir::Expr;

use super::count::{Count, KeyHash, Window};
use crate::config::Counter;
use crate::{arena, request};

/// Names of the fields that carry keys and values from the plan to here, each before the number of its counter.
const KEY: u8 = b'k';
const MEMBER: u8 = b'd';

/// Counters ready for questions.
pub(crate) struct Counters {
    counters: Vec<Counter>,
    plan: Plan,
}

impl Counters {
    /// Compiles them.
    ///
    /// # Errors
    /// What the engine cannot compile, such as patterns that are too large.
    pub fn new(counters: Vec<Counter>) -> Result<Self, String> {
        let rules = counters.iter().enumerate().map(|(number, counter)| rule(number, counter)).collect();
        let selectors = vec![SelectorSpec { id: "all".into(), when: None, rules }];
        let policy = PolicySpec { id: "counters".into(), mode: Mode::On, inflate: false, selectors };
        let specification = Specification { policies: vec![policy], ..Specification::default() };
        let plan = Plan::compile(&specification, &[0])
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
        Ok(Self { counters, plan })
    }

    /// The counters, by their numbers.
    pub fn all(&self) -> &[Counter] {
        &self.counters
    }

    /// The windows, by the numbers of the counters.
    pub fn windows(&self) -> Vec<Window> {
        let of = |counter: &Counter| Window { length_ms: counter.window_ms, is_distinct: counter.distinct.is_some() };
        self.counters.iter().map(of).collect()
    }

    /// What a question counts for; nothing if it has no client's address.
    pub fn of(&self, question: &ReceivedQuestion, now_ms: u64) -> Option<Vec<Count>> {
        arena::with(|arena| {
            let transaction = request::transaction(question, now_ms, arena)?;
            let mut outcome = Outcome::default();
            outcome.tags.clone_from(&question.tags);
            let mut meter = NoMeter;
            let mut context = Context { request_id: &question.request_id, now_ms, ..Context::new(&mut meter) };
            self.plan.evaluate(Phase::Request, &transaction, &mut context, &mut outcome);
            if self.plan.has(Phase::Body) {
                request::give_body(question, None, &transaction);
                self.plan.evaluate(Phase::Body, &transaction, &mut context, &mut outcome);
            }
            let mut counts: Vec<Count> = Vec::new();
            for change in &outcome.header_changes {
                let [kind, number] = change.name[..] else { continue };
                let value = change.value.as_deref().filter(|value| !value.is_empty());
                match (kind, counts.last_mut()) {
                    (KEY, _) => {
                        let counter = usize::from(number);
                        let key = key(&self.counters[counter], value, transaction.head.client);
                        counts.push(Count { counter, key, member: None });
                    }
                    (_, Some(count)) => count.member = value.map(|value| hash(&[value]) as u64),
                    (_, None) => {}
                }
            }
            Some(counts)
        })
    }
}

fn rule(number: usize, counter: &Counter) -> RuleSpec {
    let field = |kind: u8, value| Action::SetHeader(Side::Request, vec![kind, number as u8], value);
    let mut actions = vec![field(KEY, counter.key.clone())];
    actions.extend(counter.distinct.clone().map(|value| field(MEMBER, value)));
    RuleSpec {
        index: RuleIndex(number as u32),
        id: counter.id.clone(),
        message: String::new(),
        score: 0,
        when: counter.when.clone().unwrap_or(Expr::Const(true)),
        actions,
    }
}

/// As for rate limits of policies: IPv6 addresses count by network, and requests without a key by client, apart from
/// all others.
fn key(counter: &Counter, value: Option<&[u8]>, client: IpAddr) -> KeyHash {
    let network = |address: IpAddr| match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let host_bits = 128 - u32::from(counter.ipv6_prefix.clamp(1, 128));
            Ipv6Addr::from_bits(address.to_bits() >> host_bits << host_bits).into()
        }
    };
    let Some(value) = value else { return hash(&[b"none:", network(client).to_string().as_bytes()]) };
    match std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()) {
        Some(address) => hash(&[b"key:", network(address).to_string().as_bytes()]),
        None => hash(&[b"key:", value]),
    }
}

fn hash(parts: &[&[u8]]) -> KeyHash {
    let full = digest(&SHA256, &parts.concat());
    full.as_ref().iter().take(16).fold(0, |hash, byte| hash << 8 | KeyHash::from(*byte))
}
