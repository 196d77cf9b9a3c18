//! From a specification to a plan.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use weir_auth::{Authentication, Replay};
use weir_rules::ir::Expr;
use weir_rules::seclang::ir::Phase as SecPhase;
use weir_rules::{Field, Phase};

use crate::check::{BodyKinds, Check, Node, Resolve, Test};
use crate::filter::FilterBuilder;
use crate::gate::{self, Condition, Gate};
use crate::plan::{Lane, LaneTable, PlannedAction, Rule, Selector, Stage};
use crate::rate::limit_identity;
use crate::seclang::Sifter;
use crate::value::Source;
use crate::{
    Action, ActionInfo, AllowScope, LaneInfo, List, Mode, Plan, RuleIndex, RuleSpec, SelectorSpec, Side, Specification,
};

/// Policies of one plan: which of them are done, or have allowed the request, is one machine word. A specification may
/// have any number.
pub const MAX_PLAN_POLICIES: usize = 64;
/// Bytes of automaton that one pattern may take; `a{1000}{1000}` would take gigabytes.
pub const MAX_PATTERN_BYTES: usize = 2 << 20;

/// Why a specification does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// The rule it is about, if one.
    pub rule: Option<RuleIndex>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for CompileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for CompileError {}

struct Compiler<'s> {
    spec: &'s Specification,
    lanes: LaneTable,
    regexes: HashMap<String, Arc<Regex>>,
    /// Whether some rule reads the body.
    reads_body: bool,
    errors: Vec<CompileError>,
}

impl Resolve for Compiler<'_> {
    fn regex(&mut self, pattern: &str) -> Result<Arc<Regex>, String> {
        if let Some(regex) = self.regexes.get(pattern) {
            return Ok(Arc::clone(regex));
        }
        let regex = Regex::builder()
            .syntax(syntax::Config::new().utf8(false).unicode(false))
            // Full DFAs and one-pass automata cost load time and memory for every pattern, and
            // only candidates are ever run.
            .configure(
                Regex::config().utf8_empty(false).dfa(false).onepass(false).nfa_size_limit(Some(MAX_PATTERN_BYTES)),
            )
            .build(pattern)
            .map_err(|error| format!("the pattern does not compile: {error}"))?;
        let regex = Arc::new(regex);
        self.regexes.insert(pattern.to_owned(), Arc::clone(&regex));
        Ok(regex)
    }

    fn list(&self, name: &str) -> Option<List> {
        self.spec.lists.get(name).cloned()
    }
}

impl Plan {
    /// Compiles the policies at the positions `apply` of the specification, in that order.
    ///
    /// # Errors
    /// All that is wrong, in the order of the rules: patterns that are too large, lists that do
    /// not exist, positions that do not, more than [`MAX_PLAN_POLICIES`] policies.
    pub fn compile(spec: &Specification, apply: &[usize]) -> Result<Self, Vec<CompileError>> {
        let lanes = LaneTable::default();
        let mut compiler = Compiler { spec, lanes, regexes: HashMap::new(), reads_body: false, errors: Vec::new() };
        let plan = compiler.plan(apply);
        if compiler.errors.is_empty() { Ok(plan) } else { Err(compiler.errors) }
    }
}

impl Compiler<'_> {
    fn fail(&mut self, rule: Option<RuleIndex>, message: String) {
        self.errors.push(CompileError { rule, message });
    }

    fn plan(&mut self, apply: &[usize]) -> Plan {
        let mut selectors = Vec::new();
        let mut changing_selectors = Vec::new();
        let mut rules = Vec::new();
        let mut gates: Vec<(Phase, Gate)> = Vec::new();
        let spec = self.spec;
        let identified = identified(spec, apply);
        let mut asked = Phase::Request;
        if apply.len() > MAX_PLAN_POLICIES {
            self.fail(None, format!("there are {} policies; at most {MAX_PLAN_POLICIES} are possible", apply.len()));
        }
        for (place, &position) in apply.iter().enumerate().take(MAX_PLAN_POLICIES) {
            let Some(policy) = spec.policies.get(position) else {
                self.fail(None, format!("there is no policy number {position}"));
                continue;
            };
            let mut asked_here = Phase::Request;
            for selector in &policy.selectors {
                let when = selector
                    .when
                    .as_ref()
                    .and_then(|when| self.node(when, selector.rules.first().map(|rule| rule.index)));
                let number = selectors.len() as u32;
                if selector.when.as_ref().is_some_and(|when| gate::reads(when, Field::is_set_by_rules)) {
                    changing_selectors.push(number);
                }
                selectors.push(Selector { when });
                for rule in &selector.rules {
                    let Some(node) = self.node(&rule.when, Some(rule.index)) else { continue };
                    let mut phase = rule.when.phase();
                    let mut gate = gate::gate(&rule.when);
                    if let Some(when) = &selector.when {
                        phase = phase.max(when.phase());
                        gate = gate::best(gate, gate::gate(when));
                    }
                    let mut actions: Vec<PlannedAction> =
                        rule.actions.iter().map(|action| self.action(action, rule.index)).collect();
                    for (place, planned) in actions.iter_mut().enumerate() {
                        planned.limit = limit_identity(&policy.id, &rule.id, place);
                    }
                    phase = rule.actions.iter().map(Action::phase).fold(phase, Phase::max);
                    self.reads_body |= reads(selector, rule, |field| field.info().phase == Phase::Body);
                    let is_set = rule.actions.iter().any(|action| action.info().rule_set.is_some());
                    // What lets a request pass must not overtake a signature that an earlier rule asks for.
                    phase = rule.actions.iter().fold(phase, |phase, action| match action {
                        Action::Allow(AllowScope::Policy) => phase.max(asked_here),
                        Action::Allow(AllowScope::All) => phase.max(asked),
                        _ => phase,
                    });
                    let inspects = rule.actions.iter().any(|action| action.info().inspector.is_some());
                    let of_rule =
                        asked_of(rule).map(|_| phase).chain(inspects.then_some(phase)).max().unwrap_or(Phase::Request);
                    (asked, asked_here) = (asked.max(of_rule), asked_here.max(of_rule));
                    // A rule set does not wait for the consumer: it begins with the head.
                    if phase < identified && !is_set && reads(selector, rule, Field::is_of_consumer) {
                        phase = identified;
                    }
                    gates.push((phase, gate));
                    rules.push(Rule {
                        index: rule.index,
                        id: rule.id.clone(),
                        policy: 1 << place,
                        detect: policy.mode == Mode::Detect,
                        selector: number,
                        node,
                        actions,
                        score: rule.score,
                        verifies_body: asked_of(rule).any(|asked| asked.reads_body()),
                        reads_changing: reads(selector, rule, Field::is_set_by_rules),
                    });
                }
            }
        }
        let mut infos = Vec::new();
        let stages = [Phase::Request, Phase::Body, Phase::Response]
            .map(|phase| self.stage(phase, &mut rules, &gates, &mut infos));
        let mut known: Vec<(*const Sifter, u32)> = Vec::new();
        for planned in rules.iter_mut().flat_map(|rule| &mut rule.actions) {
            let Some(profile) = planned.action.info().rule_set else { continue };
            let sifter = std::ptr::from_ref(profile.sifter());
            // Profiles that share a filter share its lanes.
            if let Some((_, lanes_at)) = known.iter().find(|(of, _)| *of == sifter) {
                planned.lanes_at = *lanes_at;
                continue;
            }
            planned.lanes_at = infos.len() as u32;
            known.push((sifter, planned.lanes_at));
            infos.extend(profile.lanes().map(|(name, rules)| LaneInfo { name, rules }));
        }
        let planned = rules.iter().flat_map(|rule| &rule.actions);
        let actions: Vec<ActionInfo<'_>> = planned.map(|planned| planned.action.info()).collect();
        let changes_response = actions.iter().any(|action| action.changes == Some(Side::Response));
        let rule_sets = [SecPhase::RequestHeaders, SecPhase::RequestBody, SecPhase::ResponseHeaders]
            .map(|phase| actions.iter().filter_map(|action| action.rule_set).any(|profile| profile.has(phase)));
        let of_body = stages[Phase::Body as usize].rules.iter().flat_map(|rule| &rules[*rule as usize].actions);
        let body_sets_fields = of_body.into_iter().any(|planned| planned.action.info().sets_fields);
        let lanes = std::mem::take(&mut self.lanes.lanes);
        let reading = |is_one: fn(Field) -> bool| -> Vec<u32> {
            let reads = |lane: &Lane| gate::value_reads(&lane.value, is_one);
            lanes.iter().enumerate().filter(|(_, lane)| reads(lane)).map(|(number, _)| number as u32).collect()
        };
        let changing_lanes = reading(Field::is_set_by_rules);
        // Whether the body is wanted is asked without making a request id, and bans may end meanwhile; and a rule of
        // the body phase may still set a tag, or find the consumer, that is asked for.
        let mut unforeseen = reading(|field| matches!(field, Field::RequestId | Field::IpBan));
        if body_sets_fields {
            unforeseen.extend(&changing_lanes);
        }
        let refuses = |rule: &Rule| !rule.detect && rule.actions.iter().any(|planned| planned.action.may_refuse());
        let detects = |rule: &Rule| rule.detect || rule.actions.iter().all(|planned| planned.action.only_detects());
        let reads_body = self.reads_body || rule_sets[Phase::Body as usize];
        let inspectors = actions.iter().filter_map(|action| action.inspector);
        let inspected_bytes = inspectors.map(|inspector| inspector.body_bytes).max().unwrap_or(0);
        let enforced = rules.iter().filter(|rule| !rule.detect).flat_map(|rule| &rule.actions);
        let enforced = enforced.filter_map(|planned| planned.action.info().inspector);
        let mut stripped: Vec<String> = enforced.flat_map(|inspector| inspector.sets.iter().cloned()).collect();
        stripped.sort_unstable();
        stripped.dedup();
        Plan {
            reads_body,
            inspected_bytes,
            stripped,
            verifies_body: rules.iter().any(|rule| rule.verifies_body),
            window_ms: rules
                .iter()
                .flat_map(|rule| &rule.actions)
                .filter_map(|planned| planned.action.info().authentication)
                .filter(|asked| asked.replay != Replay::Pass)
                .map(|asked| asked.window_ms)
                .max()
                .unwrap_or(0),
            may_refuse: rules.iter().any(refuses),
            only_detects: rules.iter().all(detects),
            lanes,
            selectors,
            rules,
            stages,
            infos,
            changing_lanes,
            changing_selectors,
            unforeseen,
            geo: spec.geo.clone(),
            inflates: apply.iter().any(|position| spec.policies.get(*position).is_some_and(|policy| policy.inflate)),
            policies: apply.iter().map(|position| *position as u32).collect(),
            changes_response,
            rule_sets,
        }
    }

    fn stage(&mut self, phase: Phase, rules: &mut [Rule], gates: &[(Phase, Gate)], infos: &mut Vec<LaneInfo>) -> Stage {
        let mut stage = Stage::default();
        let mut builders: Vec<(u32, FilterBuilder)> = Vec::new();
        let mut by_lane: HashMap<u32, usize> = HashMap::new();
        for (number, (_, gate)) in gates.iter().enumerate().filter(|(_, (of, _))| *of == phase) {
            let at = stage.rules.len() as u32;
            match gate {
                Gate::Never => continue,
                Gate::AnyOf(openings) => {
                    for opening in openings {
                        let lane = self.lanes.number(&opening.value);
                        let slot = *by_lane.entry(lane).or_insert_with(|| {
                            builders.push((lane, FilterBuilder::default()));
                            builders.len() - 1
                        });
                        match &opening.condition {
                            Condition::Contains(literals) => builders[slot].1.contains(literals, at),
                            Condition::Equals(strings) => builders[slot].1.equals(strings, at),
                            Condition::Within(networks) => builders[slot].1.within(networks, at),
                        }
                    }
                }
                Gate::Always => {
                    let word = at as usize >> 6;
                    stage.ungated.resize(stage.ungated.len().max(word + 1), 0);
                    stage.ungated[word] |= 1 << (at & 63);
                }
            }
            stage.rules.push(number as u32);
        }
        stage.ungated.resize(stage.rules.len().div_ceil(64), 0);
        for rule in &stage.rules {
            rules[*rule as usize].node.tests(&mut |test| {
                let condition = test.condition.take();
                let builder = by_lane.get(&test.lane).map(|slot| &builders[*slot].1);
                test.sifted = builder.zip(condition).is_some_and(|(builder, condition)| builder.notices(&condition));
            });
        }
        for (lane, builder) in builders {
            let filter = builder.build(lane, infos.len() as u32);
            let of_lane = filter.rules().into_iter().map(|at| rules[stage.rules[at as usize] as usize].index).collect();
            let suffix = match phase {
                Phase::Request => "",
                Phase::Body => " (body)",
                Phase::Response => " (response)",
            };
            infos.push(LaneInfo { name: format!("{}{suffix}", self.lanes.lanes[lane as usize].value), rules: of_lane });
            stage.filters.push(filter);
        }
        stage
    }

    fn node(&mut self, expr: &Expr, rule: Option<RuleIndex>) -> Option<Node> {
        Some(match expr {
            Expr::Const(truth) => Node::Const(*truth),
            Expr::Not(inner) => Node::Not(Box::new(self.node(inner, rule)?)),
            Expr::And(parts) => Node::And(self.nodes(parts, rule)?),
            Expr::Or(parts) => Node::Or(self.nodes(parts, rule)?),
            Expr::Xor(left, right) => Node::Xor(Box::new(self.node(left, rule)?), Box::new(self.node(right, rule)?)),
            Expr::Test(test) => {
                let lane = self.lanes.number(&test.value);
                match Check::new(&test.predicate, self) {
                    Ok(check) => Node::Test(Test {
                        lane,
                        quantifier: test.quantifier,
                        check,
                        phase: test.value.phase(),
                        kinds: BodyKinds::of(&test.value),
                        condition: gate::of_test(test),
                        sifted: false,
                    }),
                    Err(message) => {
                        self.fail(rule, message);
                        return None;
                    }
                }
            }
        })
    }

    fn action(&mut self, action: &Action, rule: RuleIndex) -> PlannedAction {
        let info = action.info();
        let exclusions = info.rule_set.map_or(&[][..], |profile| profile.exclusions());
        let mut compile = |when: &Option<Expr>| when.as_ref().and_then(|when| self.node(when, Some(rule)));
        PlannedAction {
            action: action.clone(),
            parameter: info.parameter.map(Source::new),
            limit: 0,
            lanes_at: 0,
            exclusions: exclusions.iter().map(|exclusion| compile(&exclusion.when)).collect(),
        }
    }

    fn nodes(&mut self, parts: &[Expr], rule: Option<RuleIndex>) -> Option<Vec<Node>> {
        // All of them are compiled even if one fails, for its errors.
        let nodes: Vec<Option<Node>> = parts.iter().map(|part| self.node(part, rule)).collect();
        nodes.into_iter().collect()
    }
}

/// What a rule asks about the sender.
fn asked_of(rule: &RuleSpec) -> impl Iterator<Item = &Arc<Authentication>> {
    rule.actions.iter().filter_map(|action| action.info().authentication)
}

/// The phase from which it is known who the consumer is.
fn identified(spec: &Specification, apply: &[usize]) -> Phase {
    let policies = apply.iter().filter_map(|position| spec.policies.get(*position));
    let rules = policies.flat_map(|policy| &policy.selectors).flat_map(|selector| &selector.rules);
    let asked = rules.flat_map(|rule| &rule.actions).filter(|action| action.info().authentication.is_some());
    asked.map(Action::phase).max().unwrap_or(Phase::Request)
}

/// Whether a rule reads a field that is one of these, in a condition or in an action's parameter.
fn reads(selector: &SelectorSpec, rule: &RuleSpec, is_one: fn(Field) -> bool) -> bool {
    let mut conditions = selector.when.iter().chain([&rule.when]);
    let mut parameters = rule.actions.iter().filter_map(|action| action.info().parameter);
    conditions.any(|when| gate::reads(when, is_one)) || parameters.any(|value| gate::value_reads(value, is_one))
}
