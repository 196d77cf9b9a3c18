//! One use of a program: its settings and exclusions.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use weir_rules::ir::Expr;
use weir_rules::seclang::ir::{Engine, Phase, Target, TextMatch};

use super::bits::Bits;
use super::gate;
use super::operator::Operator;
use super::program::Rule;
use super::remembered::Compiled;
use super::sift::{Factors, Sifter};
use super::template::{Status, Template};
use super::{Program, RuleInfo, compile};
use crate::RuleIndex;

/// What one use of a rule set changes about it.
#[derive(Clone, Debug, Default)]
pub struct Tuning {
    /// Whether disruptive actions are only logged.
    pub detect: bool,
    /// Rules and targets that are left out.
    pub exclusions: Vec<Exclusion>,
    /// Variables of `TX` set before the first rule, names in lower case.
    pub variables: Vec<(Vec<u8>, Vec<u8>)>,
    /// Variables of `TX` set at the marker [`super::SETTINGS_MARKER`] in phase 1, which a loader
    /// puts between a setup file and the rules, so that they win over that file.
    pub settings: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether bodies of requests are inspected, whatever `SecRequestBodyAccess` says.
    pub request_body: Option<bool>,
    /// Whether bodies of responses are inspected, whatever `SecResponseBodyAccess` says.
    pub response_body: Option<bool>,
    /// Whether JSON and XML bodies are read as such by their `Content-Type`, without a rule that
    /// says so (as ModSecurity's recommended configuration does with rules 200000 and 200001).
    pub processors_by_content_type: bool,
}

/// Rules, or targets of rules, to leave out.
#[derive(Clone, Debug, PartialEq)]
pub struct Exclusion {
    /// The rules that it leaves out.
    pub rules: RuleChoice,
    /// Only this target of them; `None` is the whole rule.
    pub target: Option<Target>,
    /// In which requests; an expression over the request's head. `None` is all.
    pub when: Option<Expr>,
}

/// A choice of rules.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleChoice {
    /// Ids and ranges, both ends included.
    Ids(Vec<(u64, u64)>),
    /// By tag.
    Tag(TextMatch),
}

/// A program with a tuning, ready for requests.
#[derive(Debug)]
pub struct Profile {
    pub(crate) program: Arc<Program>,
    pub(crate) base: RuleIndex,
    tuning: Tuning,
    template: Arc<Template>,
    sifter: Arc<Sifter>,
    pub(crate) excluded: Vec<compile::Excluded>,
    /// Patterns with macros that the settings decide: requests find them as long as they are kept.
    _patterns: Vec<Compiled>,
    /// Whether a rule that may run looks up the location of an address.
    pub(crate) locates: bool,
    /// Whether every rule is run on every value.
    pub(crate) is_naive: bool,
}

/// A profile is the same as itself only: there is one for each action that uses a rule set.
impl PartialEq for Profile {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Profile {
    /// A use of `program` whose rules count as `base` and the following numbers in findings, logs
    /// and the ledger.
    #[must_use]
    pub fn new(program: Arc<Program>, base: RuleIndex, tuning: Tuning) -> Self {
        let excluded: Vec<_> =
            tuning.exclusions.iter().map(|exclusion| compile::excluded(&program, exclusion)).collect();
        let mut removed = Bits::new(program.rules.len());
        for one in excluded.iter().zip(&tuning.exclusions).filter(|(one, how)| one.pick.is_none() && how.when.is_none())
        {
            one.0.rules.iter().for_each(|rule| removed.insert(rule));
        }
        let without = |removed| {
            let key = (tuning.variables.clone(), tuning.settings.clone(), removed);
            shared(&program.templates, key, |(variables, settings, removed)| {
                Template::new(&program, variables, settings, removed)
            })
        };
        let of_all = without(Bits::new(program.rules.len()));
        let factors = shared(&program.factors, live(&program, &of_all), |live| {
            let part = |at: usize| gate::part(&program.rules[at], program.infos[program.rules[at].info as usize].phase);
            let parts: Vec<_> = live.iter().filter_map(|at| Some((at, part(at)?))).collect();
            Factors::new(&parts, program.rules.len())
        });
        let template = without(removed);
        let sifter = shared(&program.sifters, live(&program, &template), |live| Sifter::new(&program, live, factors));
        let _patterns = patterns(&program, &template);
        let profile =
            Self { program, base, tuning, template, sifter, excluded, _patterns, locates: false, is_naive: false };
        let locates = profile.geo_lookups().next().is_some();
        Self { locates, ..profile }
    }

    /// A profile that runs every rule on every value: what the others are compared with.
    #[doc(hidden)]
    #[must_use]
    pub fn naive(program: Arc<Program>, base: RuleIndex, tuning: Tuning) -> Self {
        let mut profile = Self::new(Arc::clone(&program), base, tuning);
        let Tuning { variables, settings, .. } = &profile.tuning;
        profile.template = Arc::new(profile.template.unfolded(&program, variables, settings));
        profile.is_naive = true;
        let all = live(&program, &profile.template);
        profile.sifter = Arc::new(Sifter::without_gates(&program, all));
        profile
    }

    /// The settings that some rule can see.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (super::names::TxId, &[u8])> {
        self.tuning.settings.iter().filter_map(|(name, value)| Some((self.program.names.find(name)?, value.as_slice())))
    }

    /// Whether its disruptive actions are only logged, unless a rule switches the engine on.
    #[must_use]
    pub fn only_detects(&self) -> bool {
        self.tuning.detect || self.program.settings().engine.is_some_and(|engine| engine != Engine::On)
    }

    /// The shared program.
    #[must_use]
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    pub(crate) fn template(&self) -> &Template {
        &self.template
    }

    pub(crate) fn sifter(&self) -> &Sifter {
        &self.sifter
    }

    /// The number of the rule at a position in logs and the ledger.
    pub(crate) fn index(&self, at: u32) -> RuleIndex {
        RuleIndex(self.base.0 + self.program.rules[at as usize].info)
    }

    /// What its filter visits, for the ledger.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = (String, Vec<RuleIndex>)> {
        self.sifter.lanes().map(|(name, rules)| (name, rules.into_iter().map(|rule| self.index(rule)).collect()))
    }

    pub(crate) fn exclusions(&self) -> &[Exclusion] {
        &self.tuning.exclusions
    }

    /// Whether any rule may have work in that phase.
    #[must_use]
    pub fn has(&self, phase: Phase) -> bool {
        let has = |at: u32| !matches!(self.template.status(at), Status::Removed);
        self.program.positions(phase).any(has)
    }

    /// Rules that look up the location of an address, unless what this profile sets switches them off.
    pub fn geo_lookups(&self) -> impl Iterator<Item = &RuleInfo> {
        let looks_up = |rule: &Rule| {
            let tests = rule.links.iter().filter_map(|link| link.test.as_ref());
            tests.into_iter().any(|test| matches!(test.operator, Operator::GeoLookup))
        };
        let live = move |(at, rule): (usize, &'_ Rule)| {
            (self.template.status(at as u32) == Status::Live && looks_up(rule)).then_some(rule.info)
        };
        let rules = self.program.rules.iter().enumerate().filter_map(live);
        rules.filter_map(|info| self.program.infos.get(info as usize))
    }

    pub(crate) fn engine(&self) -> Engine {
        match self.program.settings.engine.unwrap_or(Engine::On) {
            Engine::On if self.tuning.detect => Engine::DetectionOnly,
            engine => engine,
        }
    }

    pub(crate) fn request_body(&self) -> bool {
        self.tuning.request_body.or(self.program.settings.request_body_access).unwrap_or(false)
    }

    pub(crate) fn response_body(&self) -> bool {
        self.tuning.response_body.or(self.program.settings.response_body_access).unwrap_or(false)
    }

    /// Settings for parsing requests.
    pub(crate) fn limits(&self) -> weir_http::seclang::Limits {
        let settings = &self.program.settings;
        let default = weir_http::seclang::Limits::default();
        let bound = |value: Option<u64>, default: usize| value.map_or(default, |value| value as usize);
        weir_http::seclang::Limits {
            arguments: bound(settings.arguments_limit, default.arguments).min(default.arguments),
            json_depth: bound(settings.json_depth_limit, default.json_depth),
            no_files_bytes: settings.request_body_no_files_limit.map(|limit| limit as usize),
            separator: settings.argument_separator.unwrap_or(default.separator),
            xml_json_by_content_type: self.tuning.processors_by_content_type,
        }
    }
}

/// The rules that requests run.
fn live(program: &Program, template: &Template) -> Bits {
    let mut live = Bits::new(program.rules.len());
    let positions = 0..program.rules.len();
    positions.filter(|at| template.status(*at as u32) == Status::Live).for_each(|at| live.insert(at));
    live
}

/// The patterns whose macros no request changes, as far as one can tell.
fn patterns(program: &Program, template: &Template) -> Vec<Compiled> {
    let links = program.rules.iter().enumerate().flat_map(|(at, rule)| rule.links.iter().map(move |link| (at, link)));
    let compiled = links.filter_map(|(at, link)| match &link.test.as_ref()?.operator {
        Operator::RxText(text, remembered) => {
            Some(remembered.of_site(text.constant(|id| template.value(id, at as u32))?))
        }
        _ => None,
    });
    compiled.collect()
}

/// What others with the same key have, or a new one.
fn shared<K: Eq + Hash, V>(all: &Mutex<HashMap<K, Weak<V>>>, key: K, make: impl FnOnce(&K) -> V) -> Arc<V> {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.get(&key).and_then(Weak::upgrade) {
        return known;
    }
    let made = Arc::new(make(&key));
    all.retain(|_, other| other.strong_count() > 0);
    all.insert(key, Arc::downgrade(&made));
    made
}
