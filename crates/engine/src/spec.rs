//! What the engine compiles: policies with everything resolved, no text left to parse.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use weir_rules::ir::{Expr, ValueExpr};

use crate::seclang::Profile;
use crate::{Action, AddressSet, StringSet};

/// Number of a rule in its specification, counted over all policies in the order of the file.
/// Findings, logs and the ledger refer to rules by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleIndex(pub u32);

/// Everything to compile.
#[derive(Clone, Default)]
pub struct Specification {
    /// Policies in the order of the file; `weir_apply` picks some of them.
    pub policies: Vec<PolicySpec>,
    /// Named lists.
    pub lists: HashMap<String, List>,
    /// Geographic data, if configured.
    pub geo: Option<Arc<dyn Geo>>,
    /// Number of rate limits in all policies; each has its own `limit` number below it.
    pub rate_limits: u32,
}

impl Specification {
    /// One policy of one rule, number 0, that runs a rule set: for tests and benchmarks.
    #[doc(hidden)]
    #[must_use]
    pub fn of_rule_set(profile: Profile) -> Self {
        let rule = RuleSpec {
            index: RuleIndex(0),
            id: "set".into(),
            message: String::new(),
            score: 0,
            when: Expr::Const(true),
            actions: vec![Action::RuleSet(Arc::new(profile))],
        };
        let selectors = vec![SelectorSpec { id: "all".into(), when: None, rules: vec![rule] }];
        let policy = PolicySpec { id: "site".into(), mode: Mode::On, inflate: false, selectors };
        Self { policies: vec![policy], ..Self::default() }
    }
}

/// One policy.
#[derive(Clone, Debug)]
pub struct PolicySpec {
    /// Id, as in `weir_apply`.
    pub id: String,
    /// Whether its actions are carried out or only logged.
    pub mode: Mode,
    /// Whether its rules read what compressed bodies contain.
    pub inflate: bool,
    /// Selectors, in order.
    pub selectors: Vec<SelectorSpec>,
}

/// Whether actions are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// Actions are carried out.
    #[default]
    On,
    /// Findings say what would have been done.
    Detect,
}

/// Picks traffic for its rules.
#[derive(Clone, Debug)]
pub struct SelectorSpec {
    /// Id, unique in the policy.
    pub id: String,
    /// The traffic that it picks; `None` is all of it.
    pub when: Option<Expr>,
    /// Rules, in order.
    pub rules: Vec<RuleSpec>,
}

/// One rule.
#[derive(Clone, Debug)]
pub struct RuleSpec {
    /// Number in the specification.
    pub index: RuleIndex,
    /// Id, unique in the specification.
    pub id: String,
    /// Description of what it finds, for people; may be empty.
    pub message: String,
    /// Added to the request's score when it matches.
    pub score: u32,
    /// Condition under which it matches.
    pub when: Expr,
    /// Actions of a match, in order.
    pub actions: Vec<Action>,
}

/// Scope of an `allow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowScope {
    /// The rest of this policy is skipped.
    Policy,
    /// Everything that would come after is skipped.
    All,
}

/// The message that a header action changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The request, before it is proxied.
    Request,
    /// The response, before it is sent.
    Response,
}

/// An answer that Weir gives itself.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Response {
    /// Status code, 200 to 599.
    pub status: u16,
    /// Body; empty means nginx's own page for that status, and `error_page` applies.
    pub body: Vec<u8>,
    /// `Content-Type` of the body.
    pub content_type: Vec<u8>,
    /// Further header fields.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A token-bucket limit (generic cell rate algorithm).
#[derive(Clone, Debug, PartialEq)]
pub struct RateLimit {
    /// Number of this limit in the specification: keys of different limits never meet.
    pub limit: u32,
    /// The value by which requests are counted, such as `ip.src`. Requests without it are counted by client address,
    /// in counters of their own.
    pub key: ValueExpr,
    /// Requests allowed per `period_ms`, at least 1.
    pub requests: u64,
    /// The period in milliseconds, at least 1.
    pub period_ms: u64,
    /// Requests that may come at once beyond the steady rate.
    pub burst: u64,
    /// IPv6 addresses that share these leading bits are counted together, 1 to 128.
    pub ipv6_prefix: u8,
    /// The answer past the limit; `Retry-After` and the `RateLimit` fields are added.
    pub response: Arc<Response>,
}

impl RateLimit {
    /// The address that an address is counted as: of IPv6, the first one of its network.
    #[must_use]
    pub fn counted(&self, address: IpAddr) -> IpAddr {
        let IpAddr::V6(address) = address else { return address };
        let host_bits = 128 - u32::from(self.ipv6_prefix.clamp(1, 128));
        Ipv6Addr::from_bits(address.to_bits() >> host_bits << host_bits).into()
    }
}

/// A named list.
#[derive(Clone)]
pub enum List {
    /// Addresses and networks.
    Addresses(Arc<AddressSet>),
    /// Byte strings, compared whole.
    Strings(Arc<StringSet>),
    /// Integers, sorted.
    Integers(Arc<Vec<i64>>),
}

/// Location of an address, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GeoLocation {
    /// ISO 3166-1 alpha-2 country code.
    pub country: Code,
    /// Continent code.
    pub continent: Code,
    /// Autonomous system number, or 0.
    pub asnum: u32,
}

/// A code of two ASCII characters, or nothing: small enough to keep a thousand locations in a cache.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Code([u8; 2]);

impl From<&str> for Code {
    /// The code, or nothing if `text` is not one.
    fn from(text: &str) -> Self {
        match text.as_bytes() {
            [a, b] if text.is_ascii() && *a != 0 => Self([*a, *b]),
            _ => Self::default(),
        }
    }
}

impl std::ops::Deref for Code {
    type Target = str;

    fn deref(&self) -> &str {
        if self.0[0] == 0 { "" } else { std::str::from_utf8(&self.0).expect("codes are ASCII") }
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:?}", &**self)
    }
}

/// Knows who is banned; implemented by the table that control writes.
pub trait Bans {
    /// What is to be done with requests of `address`, such as `ban`; empty if it is not banned at this time.
    fn remedy(&self, address: IpAddr, now_ms: u64) -> &'static str;
}

/// Looks up locations; implemented with `maxminddb` in `crates/policy`.
pub trait Geo: Send + Sync {
    /// The location of `address`; empty fields if unknown.
    fn locate(&self, address: IpAddr) -> GeoLocation;
}
