//! A policy as the module uses it: loaded, with what it needs of nginx (what no rule asks for is not
//! made) and a plan for each set of policies that somebody asks for.
//!
//! There is one of `weir_policy` for a whole cycle, and for gateways one after the other as control
//! changes the policies. Both are the same to a request: it holds on to the one that it began with.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::rc::Rc;
use std::sync::Arc;

use nginx_sys::ngx_conf_t;
use weir_auth::{Keys, Replay};
use weir_directives::{DEFAULT_NONCE_ZONE_BYTES, DEFAULT_ZONE_BYTES};
use weir_engine::{Action, Plan, RuleIndex, Specification};
use weir_gateway::draft::{Compiled, LeftOut, PolicySet};
use weir_inspect::Inspector;
use weir_ledger::{Entry, EntryKind};
use weir_policy::{ApplyError, RuleLabel, Snapshot};
use weir_rules::Field;
use weir_rules::ir::ValueExpr;

use crate::configuration::{Location, Main};
use crate::live::{self, Live};
use crate::{directive, meter, shared};

/// Where a request's policies come from: one of the two ways to configure nginx for Weir.
#[derive(Clone)]
pub enum PolicySource {
    /// `weir_policy`, which holds as long as nginx's cycle.
    File(&'static Main),
    /// The live configuration that was served when the request came, which holds until its end.
    Live(Rc<Live>),
}

impl PolicySource {
    /// The source for requests to a location that begin now.
    #[inline]
    pub fn of(location: &Location, main: &'static Main) -> Self {
        Self::new(location.is_live(), main)
    }

    /// The source for locations of gateways or for others. A gateway without any live configuration, which answers 503,
    /// has the file's.
    #[inline]
    pub fn new(is_live: bool, main: &'static Main) -> Self {
        match is_live.then(live::current).flatten() {
            Some(live) => Self::Live(live),
            None => Self::File(main),
        }
    }

    /// The policies.
    #[inline]
    pub fn policies(&self) -> Option<&Policies> {
        match self {
            Self::File(main) => main.policies.as_ref(),
            Self::Live(live) => live.policies.as_deref(),
        }
    }

    /// Their revision; empty if there are none.
    pub fn revision(&self) -> &str {
        match self {
            Self::File(main) => main.revision(),
            Self::Live(live) => live.revision(),
        }
    }

    /// The consumers and their credentials.
    pub fn keys(&self) -> Option<&dyn Keys> {
        Some(match self {
            Self::File(main) => main.policies.as_ref()?.snapshot().consumers(),
            Self::Live(live) => live.gateway.consumers(),
        })
    }

    /// The live configuration, if it is the source.
    pub fn live(&self) -> Option<&Rc<Live>> {
        match self {
            Self::File(_) => None,
            Self::Live(live) => Some(live),
        }
    }
}

/// Where rules and lanes begin in the ledger.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cells {
    /// Which bank of the ledger; `None` for the cells of what nginx was configured with.
    pub bank: Option<u8>,
    /// Entry of rule 0.
    pub rules_at: u32,
    /// Entry of the plan's lane 0.
    pub lanes_at: u32,
}

/// A plan, and where it is in the ledger.
#[derive(Clone)]
pub struct Placed {
    /// The plan.
    pub plan: Arc<Plan>,
    /// Its cells.
    pub cells: Cells,
}

/// What the rules of a policy need of nginx.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// The request's id, before they run.
    pub request_id: bool,
    /// Our own address, which may cost a system call per connection.
    pub server_address: bool,
    /// The response's body, perhaps.
    pub response_body: bool,
    /// Memory of rate limits.
    pub rate_limits: bool,
    /// Memory of nonces.
    pub nonces: bool,
    /// Memory of collections.
    pub collections: bool,
}

/// A policy with its plans.
pub struct Policies {
    snapshot: Snapshot,
    left_out: Vec<LeftOut>,
    /// What it needs.
    pub needs: Needs,
    plans: HashMap<PolicySet, Placed>,
    /// Every plan once, in the order of the ledger.
    order: Vec<Placed>,
    next: Cells,
}

impl Policies {
    /// A policy whose first rule has the ledger's cell `rules_at` of `bank`.
    pub fn new(snapshot: Snapshot, bank: Option<u8>, rules_at: u32) -> Self {
        let lanes_at = rules_at + snapshot.rules().len() as u32;
        let needs = needs(&snapshot);
        let next = Cells { bank, rules_at, lanes_at };
        Self { snapshot, left_out: Vec::new(), needs, plans: HashMap::new(), order: Vec::new(), next }
    }

    /// Documents that could not be compiled.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Notes documents that could not be compiled.
    pub fn set_left_out(&mut self, left_out: Vec<LeftOut>) {
        self.left_out = left_out;
    }

    /// The plan of some policies; compiles it if it is not there yet.
    pub fn place(&mut self, names: &[String]) -> Result<&Placed, ApplyError> {
        match self.plans.entry(names.into()) {
            MapEntry::Occupied(known) => Ok(known.into_mut()),
            MapEntry::Vacant(vacant) => {
                let plan = self.snapshot.plan(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
                let same = self.order.iter().find(|placed| Arc::ptr_eq(&placed.plan, &plan)).cloned();
                let placed = same.unwrap_or_else(|| {
                    let placed = Placed { plan, cells: self.next };
                    self.next.lanes_at += placed.plan.lanes().len() as u32;
                    self.order.push(placed.clone());
                    placed
                });
                Ok(vacant.insert(placed))
            }
        }
    }

    /// Puts all plans into a bank of the ledger.
    pub fn set_bank(&mut self, bank: u8) {
        let placed = self.plans.values_mut().chain(&mut self.order).map(|placed| &mut placed.cells);
        placed.chain([&mut self.next]).for_each(|cells| cells.bank = Some(bank));
    }

    /// Which bank that is.
    pub fn bank(&self) -> Option<u8> {
        self.next.bank
    }

    /// How many entries of the ledger it has.
    pub fn entry_count(&self) -> usize {
        (self.next.lanes_at - self.next.rules_at) as usize
    }

    /// The plan of some policies, if it has been placed.
    #[inline]
    pub fn plan(&self, names: &[String]) -> Option<&Placed> {
        self.plans.get(names)
    }

    /// What the engine compiles, and whom to believe.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Id and policy of a rule.
    pub fn rule(&self, rule: RuleIndex) -> Option<&RuleLabel> {
        self.snapshot.rules().get(rule.0 as usize)
    }

    /// The entries that go on counting what entries of `before` have counted, as pairs of numbers (there, here): rules
    /// that have not changed, and lanes of the same policies that such a rule still shares.
    pub fn continued(&self, before: &Self) -> Vec<(u32, u32)> {
        let identity = |rule: &RuleLabel| (rule.policy.clone(), rule.selector.clone(), rule.id.clone(), rule.content);
        let known: HashMap<_, u32> = before.snapshot.rules().iter().map(identity).zip(0..).collect();
        let kept = self.snapshot.rules().iter().map(identity).zip(0..);
        let rules: HashMap<u32, u32> = kept.filter_map(|(rule, now)| Some((now, *known.get(&rule)?))).collect();
        let mut pairs: Vec<_> =
            rules.iter().map(|(now, then)| (before.next.rules_at + then, self.next.rules_at + now)).collect();
        for (set, placed) in &self.plans {
            let Some(earlier) = before.plans.get(set) else { continue };
            let lanes = earlier.plan.lanes().iter().zip(earlier.cells.lanes_at..);
            let lanes: HashMap<_, u32> =
                lanes.flat_map(|(lane, at)| lane.rules.iter().map(move |rule| ((&lane.name, rule.0), at))).collect();
            for (lane, at) in placed.plan.lanes().iter().zip(placed.cells.lanes_at..) {
                let of_rule = |rule: &RuleIndex| lanes.get(&(&lane.name, *rules.get(&rule.0)?)).copied();
                pairs.extend(lane.rules.iter().find_map(of_rule).map(|then| (then, at)));
            }
        }
        pairs
    }

    /// Everything that is metered: the rules, then the lanes of each plan.
    pub fn entries(&self) -> Vec<Entry> {
        let rules = self.snapshot.rules().iter().map(|rule| Entry {
            kind: EntryKind::Rule,
            policy: rule.policy.clone(),
            id: rule.id.clone(),
            plugin: rule.plugin.into(),
            rules: Vec::new(),
        });
        let lanes = self.order.iter().flat_map(|placed| placed.plan.lanes()).map(|lane| Entry {
            kind: EntryKind::Lane,
            policy: String::new(),
            id: lane.name.clone(),
            plugin: "lane".into(),
            rules: lane.rules.iter().map(|rule| rule.0).collect(),
        });
        rules.chain(lanes).collect()
    }
}

impl Compiled for Policies {
    fn has(&self, set: &[String]) -> bool {
        self.plan(set).is_some()
    }
}

/// Loads the policy of `weir_policy`, if there is one; what is odd about it goes to the log.
pub fn load(cf: *mut ngx_conf_t, main: &mut Main) -> Result<(), String> {
    let Some(path) = &main.policy_path else { return Ok(()) };
    let snapshot = Snapshot::load(path).map_err(|errors| errors.to_string())?;
    for warning in snapshot.warnings() {
        warning.to_string().lines().for_each(|line| directive::warn(cf, line));
    }
    let policies = Policies::new(snapshot, None, meter::FIRST_RULE);
    main.holds_responses |= policies.needs.response_body;
    add_memory(cf, main, policies.needs)?;
    main.policies = Some(policies);
    Ok(())
}

/// Asks nginx for the memory that rules need, once.
pub fn add_memory(cf: *mut ngx_conf_t, main: &mut Main, needs: Needs) -> Result<(), String> {
    if needs.rate_limits && main.zone.is_none() {
        let bytes = main.zone_bytes.unwrap_or(DEFAULT_ZONE_BYTES);
        main.zone = Some(shared::add(cf, &shared::RATE_LIMITS, bytes)?);
    }
    if needs.nonces && main.nonce_zone.is_none() {
        let bytes = main.nonce_bytes.unwrap_or(DEFAULT_NONCE_ZONE_BYTES);
        main.nonce_zone = Some(shared::add(cf, &shared::NONCES, bytes)?);
    }
    if needs.collections && main.collections_zone.is_none() {
        let bytes = main.collections_bytes.unwrap_or(DEFAULT_ZONE_BYTES);
        main.collections_zone = Some(shared::add(cf, &shared::COLLECTIONS, bytes)?);
    }
    Ok(())
}

fn needs(snapshot: &Snapshot) -> Needs {
    let specification = snapshot.specification();
    let of_sets = snapshot.rule_set_needs();
    Needs {
        request_id: of_sets.request_id || reads_field(specification, Field::RequestId),
        server_address: of_sets.server_address || reads_field(specification, Field::IpServer),
        response_body: of_sets.response_body
            || actions(specification).any(|action| matches!(action, Action::VerifyResponse(_))),
        rate_limits: specification.rate_limits > 0,
        nonces: refuses_replays(specification),
        collections: of_sets.collections,
    }
}

/// The inspectors that rules ask.
pub fn inspectors(policies: &Policies) -> impl Iterator<Item = &Arc<Inspector>> {
    actions(policies.snapshot().specification()).filter_map(|action| action.info().inspector)
}

/// Whether any action refuses requests that come again.
fn refuses_replays(specification: &Specification) -> bool {
    let refuses = |action: &Action| action.info().authentication.is_some_and(|asked| asked.replay != Replay::Pass);
    actions(specification).any(refuses)
}

/// All actions of all rules.
fn actions(specification: &Specification) -> impl Iterator<Item = &Action> {
    let selectors = specification.policies.iter().flat_map(|policy| &policy.selectors);
    selectors.flat_map(|selector| &selector.rules).flat_map(|rule| &rule.actions)
}

/// Whether any rule reads a field, in a condition or in an action's parameter.
fn reads_field(specification: &Specification, wanted: Field) -> bool {
    let mut found = false;
    let mut see_value = |value: &ValueExpr| value.fields(&mut |access| found |= access.field == wanted);
    for selector in specification.policies.iter().flat_map(|policy| &policy.selectors) {
        for when in selector.when.iter().chain(selector.rules.iter().map(|rule| &rule.when)) {
            when.tests(&mut |test| see_value(&test.value));
        }
        // Rule sets say themselves what they need.
        let actions = selector.rules.iter().flat_map(|rule| &rule.actions);
        actions.filter_map(|action| action.info().parameter).for_each(&mut see_value);
    }
    found
}
