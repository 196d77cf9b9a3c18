//! What `TX` holds in a request in which no rule that looks at the request matches: worked out
//! once, at load, together with the rules that need not be run for it.
//!
//! Half of CRS is configuration: paranoia levels, thresholds, sums of scores, skips over what is
//! switched off. None of it depends on the request, so it is run when the profile is made, and
//! left out of requests ("folded"). As soon as a rule does set a variable, the folded rules that
//! read or write it (its *touchers*) are run after all, so the outcome is exactly that of running
//! everything: `tests.rs` compares both.

use std::collections::HashSet;
use std::sync::Arc;

use memchr::memmem::Finder;
use weir_http::Work;
use weir_rules::seclang::ir::Selector;
use weir_transform::ByteSet;

use super::bits::Bits;
use super::expand::{Text, TextPiece};
use super::matcher::Matcher;
use super::names::{CAPTURES, TxId};
use super::need::Need;
use super::number;
use super::operator::{Operator, Setting};
use super::program::{Assignment, Change, Disrupt, Link, Name, Program, Rule, Test};
use super::scratch::{Scratch, at_load};
use super::variable::Source;

/// Treatment of a rule in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// The rule runs.
    Live,
    /// The rule's outcome is part of the template.
    Folded,
    /// A folded rule jumps over it.
    Skipped,
    /// An exclusion takes it out.
    Removed,
}

type Value = Option<Arc<[u8]>>;

/// The template of one profile.
#[derive(Debug)]
pub(crate) struct Template {
    /// By variable: from which position on it has which value. Positions ascend.
    history: Vec<Vec<(u32, Value)>>,
    /// All of `history`'s positions with their variables, ascending.
    writes: Vec<(u32, TxId)>,
    status: Vec<Status>,
    /// By variable: the folded rules that read or write it, ascending.
    touchers: Vec<Vec<u32>>,
    /// Folded rules that read the variables whose names match.
    wide: Vec<Wide>,
    /// Folded rules that jump.
    jumping: Bits,
}

impl Template {
    /// Runs what can be run of a program, without the rules in `removed`.
    pub(crate) fn new(
        program: &Program,
        variables: &[(Vec<u8>, Vec<u8>)],
        settings: &[(Vec<u8>, Vec<u8>)],
        removed: &Bits,
    ) -> Self {
        let count = program.rules.len();
        let mut fold = Fold {
            program,
            state: vec![None; program.names.len()],
            template: Self {
                history: vec![Vec::new(); program.names.len()],
                writes: Vec::new(),
                status: vec![Status::Live; count],
                touchers: vec![Vec::new(); program.names.len()],
                wide: Vec::new(),
                jumping: Bits::new(count),
            },
        };
        removed.iter().for_each(|position| fold.template.status[position] = Status::Removed);
        fold.assume(0, variables);
        let mut is_settled = false;
        for phase in program.phases.clone() {
            let mut at = phase.start;
            while at < phase.end {
                if !is_settled && at >= program.settings_at {
                    is_settled = true;
                    fold.assume(program.settings_at, settings);
                }
                at = fold.rule(at).unwrap_or(at + 1);
            }
        }
        let mut template = fold.template;
        let changes = template.history.iter().enumerate();
        let mut writes: Vec<(u32, TxId)> =
            changes.flat_map(|(id, list)| list.iter().map(move |change| (change.0, id as TxId))).collect();
        writes.sort_unstable();
        template.writes = writes;
        template.touchers.iter_mut().for_each(|list| list.dedup());
        template
    }

    /// A template with nothing folded: every rule that is not removed is live.
    pub(crate) fn unfolded(
        &self,
        program: &Program,
        variables: &[(Vec<u8>, Vec<u8>)],
        settings: &[(Vec<u8>, Vec<u8>)],
    ) -> Self {
        let live = |status: &Status| if *status == Status::Removed { Status::Removed } else { Status::Live };
        let mut plain = Self {
            history: vec![Vec::new(); program.names.len()],
            writes: Vec::new(),
            status: self.status.iter().map(live).collect(),
            touchers: vec![Vec::new(); program.names.len()],
            wide: Vec::new(),
            jumping: Bits::new(program.rules.len()),
        };
        for (at, pairs) in [(0, variables), (program.settings_at, settings)] {
            for (name, value) in pairs {
                if let Some(id) = program.names.find(name) {
                    plain.history[usize::from(id)].push((at, Some(value.as_slice().into())));
                }
            }
        }
        plain
    }

    /// The value of a variable when the rule at a position begins.
    pub(crate) fn value(&self, id: TxId, at: u32) -> Option<&[u8]> {
        let known = self.history[usize::from(id)].iter().rev().find(|(from, _)| *from <= at);
        known.and_then(|(_, value)| value.as_deref())
    }

    pub(crate) fn status(&self, at: u32) -> Status {
        self.status[at as usize]
    }

    /// Whether a folded rule jumps.
    pub(crate) fn jumps(&self, at: u32) -> bool {
        self.jumping.contains(at as usize)
    }

    /// Variables that folded rules at positions from `begin` (included) to `end` (excluded) set.
    pub(crate) fn writes(&self, begin: u32, end: u32) -> impl Iterator<Item = TxId> {
        // What the rule at a position sets holds from the next one on.
        let first = self.writes.partition_point(|(from, _)| *from <= begin);
        self.writes[first..].iter().take_while(move |(from, _)| *from <= end).map(|(_, id)| *id)
    }

    /// The folded rules that have to be run once a variable has been set by a live one.
    pub(crate) fn touchers(&self, id: TxId) -> &[u32] {
        &self.touchers[usize::from(id)]
    }

    /// Those that read variables by patterns.
    pub(crate) fn wide(&self) -> &[Wide] {
        &self.wide
    }
}

/// Folded rules that read variables by a pattern.
#[derive(Debug)]
pub(crate) struct Wide {
    pattern: Arc<Matcher>,
    /// What every name that matches contains, folded; empty if nothing is known.
    literal: Finder<'static>,
    pub(crate) rules: Vec<u32>,
}

impl Wide {
    fn new(pattern: &Arc<Matcher>) -> Self {
        let literal: &[u8] = match &pattern.need {
            Need::Literals(literals, _) if literals.len() == 1 => &literals[0],
            _ => b"",
        };
        Self { pattern: Arc::clone(pattern), literal: Finder::new(literal).into_owned(), rules: Vec::new() }
    }

    /// The last of the rules.
    pub(crate) fn last(&self) -> u32 {
        self.rules.last().copied().unwrap_or(0)
    }

    /// Whether a look at its length and for one byte lets a name pass, as hardly any.
    pub(crate) fn may_read(&self, name: &[u8]) -> bool {
        let (Need::Literals(_, bytes) | Need::Bytes(bytes)) = &self.pattern.need else { return true };
        let has_first = |set: &ByteSet| name.iter().any(|byte| set.contains(*byte));
        name.len() >= bytes.min_length && bytes.sets.first().is_none_or(has_first)
    }

    /// Whether they read the variable of that name, in which these bytes occur; `folded` is the name
    /// folded.
    pub(crate) fn reads(&self, name: &[u8], occurring: &ByteSet, folded: &[u8], scratch: Scratch<'_>) -> bool {
        let may = match &self.pattern.need {
            Need::Literals(_, bytes) | Need::Bytes(bytes) => bytes.met(occurring, name.len()),
            _ => true,
        };
        may && self.literal.find(folded).is_some() && self.pattern.is_match(name, scratch)
    }
}

/// Result of running a rule at load.
enum Ahead {
    Depends,
    NoMatch,
    /// It matches this many times.
    Match(usize),
}

struct Fold<'p> {
    program: &'p Program,
    state: Vec<Value>,
    template: Template,
}

impl Fold<'_> {
    fn assume(&mut self, at: u32, pairs: &[(Vec<u8>, Vec<u8>)]) {
        for (name, value) in pairs {
            if let Some(id) = self.program.names.find(name) {
                self.set(id, at, Some(value.as_slice().into()));
            }
        }
    }

    fn set(&mut self, id: TxId, from: u32, value: Value) {
        self.state[usize::from(id)] = value.clone();
        let history = &mut self.template.history[usize::from(id)];
        match history.last_mut() {
            Some(last) if last.0 == from => last.1 = value,
            _ => history.push((from, value)),
        }
    }

    /// Runs the rule at a position if that is possible; where to go on if it jumps.
    fn rule(&mut self, at: u32) -> Option<u32> {
        if self.template.status[at as usize] == Status::Removed {
            return None;
        }
        let program = self.program;
        let rule = &program.rules[at as usize];
        let mut seen = Seen::default();
        let times = match self.ahead(rule, &mut seen) {
            Ahead::Depends => return None,
            Ahead::NoMatch => 0,
            Ahead::Match(times) => times,
        };
        if times > 0 {
            for link in &rule.links {
                for assignment in (0..times).flat_map(|_| &link.assignments) {
                    self.assign(assignment, at + 1, &mut seen);
                }
            }
        }
        self.template.status[at as usize] = Status::Folded;
        for id in seen.ids {
            self.template.touchers[usize::from(id)].push(at);
        }
        for pattern in seen.wide {
            let wide = &mut self.template.wide;
            let known = wide.iter().position(|one| Arc::ptr_eq(&one.pattern, &pattern)).unwrap_or_else(|| {
                wide.push(Wide::new(&pattern));
                wide.len() - 1
            });
            wide[known].rules.push(at);
        }
        let jump = rule.jump.filter(|_| times > 0)?;
        self.template.jumping.insert(at as usize);
        for skipped in at + 1..jump {
            if self.template.status[skipped as usize] == Status::Live {
                self.template.status[skipped as usize] = Status::Skipped;
            }
        }
        Some(jump)
    }

    fn ahead(&self, rule: &Rule, seen: &mut Seen) -> Ahead {
        let mut depends = false;
        let mut has_assigned = false;
        let mut times = 1;
        for (number, link) in rule.links.iter().enumerate() {
            let mut reads = Seen::default();
            let values = self.link(link, &mut reads);
            // Each match sets variables at once, which later values and links see.
            let targets = link.test.as_ref().map_or(0, |test| test.targets.len());
            let several = targets > 1 || values.is_some_and(|(values, _)| values > 1);
            let before = &rule.links[..number + usize::from(several)];
            if before.iter().flat_map(|link| &link.assignments).any(|one| self.is_read(one, &reads)) {
                return Ahead::Depends;
            }
            seen.ids.extend(reads.ids);
            seen.wide.extend(reads.wide);
            match values.map(|(_, matches)| matches) {
                None => depends = true,
                // What the links before it set, they set although the chain fails here.
                Some(0) if has_assigned => return Ahead::Depends,
                Some(0) => return Ahead::NoMatch,
                Some(count) => times = count,
            }
            has_assigned |= !link.assignments.is_empty() || link.capture;
            let several = times > 1 && rule.links.len() > 1 && !link.assignments.is_empty();
            depends |= link.capture || !link.effects.is_empty() || several;
            depends |= !link.assignments.iter().all(is_static);
        }
        let severity = self.program.infos[rule.info as usize].severity;
        let acts = rule.log || severity.is_some() || !matches!(rule.disruption, Disrupt::Pass);
        if depends || acts { Ahead::Depends } else { Ahead::Match(times) }
    }

    /// Whether what an assignment sets is among what has been read.
    fn is_read(&self, assignment: &Assignment, reads: &Seen) -> bool {
        let Name::Tx(id) = assignment.name else { return true };
        let name = self.program.names.name(id);
        let finds = |pattern: &Arc<Matcher>| at_load(|scratch| pattern.is_match(name, scratch));
        reads.ids.contains(&id) || reads.wide.iter().any(finds)
    }

    /// Number of values of a link, and of those that match; `None` if that depends on the request.
    fn link(&self, link: &Link, seen: &mut Seen) -> Option<(usize, usize)> {
        let Some(test) = &link.test else { return Some((1, 1)) };
        if !link.stages.is_empty() || !test.exclusions.is_empty() || !is_foreseen(&test.operator) {
            return None;
        }
        let (arena, work) = (bumpalo::Bump::new(), Work::unbounded());
        let scratch = Scratch { arena: &arena, work: &work };
        let text = match test.operator.text() {
            Some(text) => self.expand(text, seen)?,
            None => Vec::new(),
        };
        let text = arena.alloc_slice_copy(&text);
        let (values, mut count) = (self.values(test, seen)?, 0);
        let all = values.len();
        for value in values {
            let value = self.program.pipelines.apply(link.pipeline, &arena, arena.alloc_slice_copy(&value));
            let found = test.operator.find(value, &Setting { scratch, text, capture: false, verdict_only: true });
            count += usize::from(found.is_some() != test.negated);
        }
        Some((all, count))
    }

    /// The values of a test that looks at `TX` only.
    fn values(&self, test: &Test, seen: &mut Seen) -> Option<Vec<Vec<u8>>> {
        let mut values = Vec::new();
        for target in &test.targets {
            if target.source != Source::Tx {
                return None;
            }
            let before = values.len();
            match &target.selector {
                Selector::Name(name) => {
                    let id = self.program.names.find(name)?;
                    seen.read(id)?;
                    values.extend(self.state[usize::from(id)].as_deref().map(<[u8]>::to_vec));
                }
                Selector::All => return None, // captures are among them
                Selector::Pattern(_) => {
                    let pattern = target.pattern.as_ref()?;
                    seen.wide.push(Arc::clone(pattern));
                    for id in 0..self.state.len() as TxId {
                        if !at_load(|scratch| pattern.is_match(self.program.names.name(id), scratch)) {
                            continue;
                        }
                        seen.read(id)?;
                        values.extend(self.state[usize::from(id)].as_deref().map(<[u8]>::to_vec));
                    }
                }
            }
            if target.count {
                let count = values.len() - before;
                values.truncate(before);
                values.push(count.to_string().into_bytes());
            }
        }
        Some(values)
    }

    fn expand(&self, text: &Text, seen: &mut Seen) -> Option<Vec<u8>> {
        if let Text::Plain(text) = text {
            return Some(text.to_vec());
        }
        let mut expanded = Vec::new();
        for piece in text.pieces() {
            match piece {
                TextPiece::Plain(text) => expanded.extend_from_slice(text),
                TextPiece::Tx(id) => {
                    seen.read(*id)?;
                    expanded.extend_from_slice(self.state[usize::from(*id)].as_deref().unwrap_or_default());
                }
                TextPiece::Variable(..) => return None,
            }
        }
        Some(expanded)
    }

    fn assign(&mut self, assignment: &Assignment, from: u32, seen: &mut Seen) {
        let Name::Tx(id) = assignment.name else { return };
        let known = self.state[usize::from(id)].as_deref().map_or(0, number::parse);
        seen.ids.insert(id);
        let mut text = |text: &Text| self.expand(text, seen).expect("static assignments read known variables only");
        let value: Value = match &assignment.change {
            Change::Set(value) => Some(text(value).into()),
            Change::Add(delta) => {
                Some(known.saturating_add(number::parse(&text(delta))).to_string().into_bytes().into())
            }
            Change::Subtract(delta) => {
                Some(known.saturating_sub(number::parse(&text(delta))).to_string().into_bytes().into())
            }
            Change::Unset => None,
        };
        self.set(id, from, value);
    }
}

/// Dependencies of a folded rule.
#[derive(Default)]
struct Seen {
    ids: HashSet<TxId>,
    wide: Vec<Arc<Matcher>>,
}

impl Seen {
    /// Notes a variable; `None` if it is a capture, which requests decide.
    fn read(&mut self, id: TxId) -> Option<()> {
        self.ids.insert(id);
        (id >= CAPTURES).then_some(())
    }
}

/// Whether an assignment depends on nothing but `TX`, captures apart.
fn is_static(assignment: &Assignment) -> bool {
    let text = match &assignment.change {
        Change::Set(text) | Change::Add(text) | Change::Subtract(text) => Some(text),
        Change::Unset => None,
    };
    matches!(assignment.name, Name::Tx(id) if id >= CAPTURES)
        && !assignment.scores
        && text.is_none_or(|text| !text.reads_more_than_tx() && text.reads().all(|id| id >= CAPTURES))
}

/// Whether an operator's outcome is decided by value and text alone, cheaply.
fn is_foreseen(operator: &Operator) -> bool {
    !matches!(operator, Operator::GeoLookup)
}
