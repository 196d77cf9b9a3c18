//! Specifications: a few policies over three lists.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use weir_engine::{
    Action, AddressSet, AllowScope, Bans, Geo, GeoLocation, List, Mode, PolicySpec, RateLimit, Response, RuleIndex,
    RuleSpec, SelectorSpec, Side, Specification, StringSet,
};
use weir_rules::{Phase, ValueType};

use super::expression::{condition, networks, value};
use super::source::Source;

pub struct Halves;

impl Bans for Halves {
    fn remedy(&self, address: IpAddr, _: u64) -> &'static str {
        if address.is_ipv4() { "ban" } else { "" }
    }
}

impl Geo for Halves {
    fn locate(&self, address: IpAddr) -> GeoLocation {
        match address {
            IpAddr::V4(_) => GeoLocation { country: "DE".into(), continent: "EU".into(), asnum: 42 },
            IpAddr::V6(_) => GeoLocation::default(),
        }
    }
}

/// A specification.
pub fn specification(source: &mut Source<'_>) -> Specification {
    let strings = source.several(6, Source::text);
    let mut integers: Vec<i64> = source.several(4, |source| i64::from(source.byte()));
    integers.sort_unstable();
    integers.dedup();
    let lists = HashMap::from([
        ("nets".to_owned(), List::Addresses(Arc::new(AddressSet::from_networks(networks(source))))),
        ("words".to_owned(), List::Strings(Arc::new(StringSet::from_strings(strings)))),
        ("ints".to_owned(), List::Integers(Arc::new(integers))),
    ]);
    let mut numbers = Numbers::default();
    let policies = (0..=source.below(3)).map(|at| policy(source, at, &mut numbers)).collect();
    let geo: Option<Arc<dyn Geo>> = (source.below(2) == 0).then(|| Arc::new(Halves) as Arc<dyn Geo>);
    Specification { policies, lists, geo, rate_limits: numbers.limits }
}

#[derive(Default)]
struct Numbers {
    rules: u32,
    limits: u32,
}

fn policy(source: &mut Source<'_>, at: u8, numbers: &mut Numbers) -> PolicySpec {
    let mode = if source.below(6) == 5 { Mode::Detect } else { Mode::On };
    let selectors = (0..=source.below(2)).map(|selector| selector_spec(source, selector, numbers)).collect();
    PolicySpec { id: format!("p{at}"), mode, inflate: false, selectors }
}

fn selector_spec(source: &mut Source<'_>, at: u8, numbers: &mut Numbers) -> SelectorSpec {
    let when = (source.below(3) == 2).then(|| condition(source, Phase::Request));
    let rules = (0..=source.below(5)).map(|_| rule(source, numbers)).collect();
    SelectorSpec { id: format!("s{at}"), when, rules }
}

fn rule(source: &mut Source<'_>, numbers: &mut Numbers) -> RuleSpec {
    let index = RuleIndex(numbers.rules);
    numbers.rules += 1;
    let phase = source.copy(&[Phase::Request, Phase::Request, Phase::Body, Phase::Response]);
    let when = condition(source, phase);
    // What is answered after the response's header is known is the module's affair, not the engine's.
    let phase = when.phase();
    let actions = (0..=source.below(3)).map(|_| action(source, phase, numbers)).collect();
    RuleSpec {
        index,
        id: format!("r{}", index.0),
        message: String::new(),
        score: u32::from(source.below(6)),
        when,
        actions,
    }
}

fn action(source: &mut Source<'_>, phase: Phase, numbers: &mut Numbers) -> Action {
    let side = |source: &mut Source<'_>| {
        if phase == Phase::Response { Side::Response } else { source.copy(&[Side::Request, Side::Response]) }
    };
    match source.below(16) {
        0..=4 => Action::Log,
        5..=7 => Action::Tag(source.pick(&["a", "b", "admin"]).to_owned()),
        8 => Action::Block(Arc::new(Response { status: 403, ..Response::default() })),
        9 => Action::Block(Arc::new(Response { status: 418, body: b"tea".to_vec(), ..Response::default() })),
        10 => Action::Redirect { status: 302, to: value(source, phase, ValueType::Bytes, 1) },
        11 => Action::Allow(source.copy(&[AllowScope::Policy, AllowScope::All])),
        12 => Action::RemoveHeader(side(source), b"x-a".to_vec()),
        13 => Action::RateLimit(rate_limit(source, phase, numbers)),
        _ => Action::SetHeader(side(source), b"X-B".to_vec(), value(source, phase, ValueType::Bytes, 1)),
    }
}

fn rate_limit(source: &mut Source<'_>, phase: Phase, numbers: &mut Numbers) -> RateLimit {
    let limit = numbers.limits;
    numbers.limits += 1;
    RateLimit {
        limit,
        key: value(source, phase, ValueType::Bytes, 0),
        requests: 1 << source.below(4),
        period_ms: 1000,
        burst: u64::from(source.below(3)),
        ipv6_prefix: 1 << source.below(8),
        response: Arc::new(Response { status: 429, ..Response::default() }),
    }
}
