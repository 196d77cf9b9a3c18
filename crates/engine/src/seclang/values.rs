//! The values that a target has, for exact evaluation.

use bumpalo::collections::Vec as ArenaVec;
use weir_rules::seclang::ir::{Selector, Variable};

use super::expand::{Text, TextPiece};
use super::gate::Collecting;
use super::matcher::Matcher;
use super::number;
use super::program::{Link, Pick, Target};
use super::run::Machine;
use super::scratch::Scratch;
use super::variable::{self, Origin, Source};

/// A value and the name of the member that has it; empty where there are no members.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) value: &'a [u8],
}

/// Whether a selector picks the member of that name.
pub(crate) fn selects(selector: &Selector, pattern: Option<&Matcher>, name: &[u8], scratch: Scratch<'_>) -> bool {
    match selector {
        Selector::All => true,
        Selector::Name(wanted) => wanted.eq_ignore_ascii_case(name),
        Selector::Pattern(_) => pattern.is_some_and(|pattern| pattern.is_match(name, scratch)),
    }
}

impl Pick {
    /// Whether it picks a value of that source.
    pub(crate) fn picks(&self, source: &Source, name: &[u8], scratch: Scratch<'_>) -> bool {
        let related = match (&self.source, source) {
            (Source::Origins(mine), Source::Origins(theirs)) => mine.iter().any(|origin| theirs.contains(origin)),
            (mine, theirs) => mine == theirs,
        };
        related && selects(&self.selector, self.pattern.as_deref(), name, scratch)
    }
}

impl<'m, 'a> Machine<'m, 'a, '_> {
    /// All values of a target, in order; of a count the one number.
    pub(super) fn members(&self, target: &Target, exclusions: &[Pick], at: u32) -> ArenaVec<'a, Member<'a>> {
        let (arena, scratch) = (self.arena, self.scratch());
        let mut members = ArenaVec::new_in(arena);
        if target.count
            && exclusions.is_empty()
            && let (Source::Origins(origins), Selector::All) = (&target.source, &target.selector)
        {
            let count: usize =
                origins.iter().map(|origin| variable::pairs(&self.run.view, arena, origin.base).len()).sum();
            members.push(Member { name: b"", value: number::format(count as i64, arena) });
            return members;
        }
        let mut add = |name: &'a [u8], value: &'a [u8]| {
            if selects(&target.selector, target.pattern.as_deref(), name, scratch) {
                members.push(Member { name, value });
            }
        };
        match &target.source {
            Source::Origins(origins) => {
                for Origin { base, names } in origins {
                    for pair in variable::pairs(&self.run.view, arena, *base) {
                        add(pair.name, if *names { pair.name } else { pair.value });
                    }
                }
            }
            Source::Listed(variable) => {
                variable::listed(&self.run.view, *variable).iter().for_each(|pair| add(pair.name, pair.value));
            }
            Source::Scalar(variable) => {
                if let Some(value) = variable::scalar(&self.run.view, *variable, arena) {
                    add(b"", value);
                }
            }
            Source::Tx => self.tx_members(target, at, &mut members),
            Source::Stored(collection) => self.stored(*collection, &mut add),
            Source::State(variable) => self.state_members(*variable, &mut add),
        }
        if target.count {
            let out =
                |member: &Member<'_>| exclusions.iter().any(|pick| pick.picks(&target.source, member.name, scratch));
            let count = members.iter().filter(|member| !out(member)).count();
            members.clear();
            members.push(Member { name: b"", value: number::format(count as i64, arena) });
        }
        members
    }

    fn tx_members(&self, target: &Target, at: u32, members: &mut ArenaVec<'a, Member<'a>>) {
        let (arena, scratch, names) = (self.arena, self.scratch(), &self.profile.program.names);
        for id in &target.tx {
            if let Some(value) = self.run.state.tx(self.profile.template(), *id, at) {
                let (name, value) = (arena.alloc_slice_copy(names.name(*id)), arena.alloc_slice_copy(value));
                members.push(Member { name, value });
            }
        }
        for (name, value) in &self.run.state.others {
            if let Some(value) = value
                && selects(&target.selector, target.pattern.as_deref(), name, scratch)
            {
                members.push(Member { name, value });
            }
        }
    }

    fn stored(&self, collection: weir_rules::seclang::ir::Collection, add: &mut dyn FnMut(&'a [u8], &'a [u8])) {
        let record = self.run.state.records.iter().find(|(of, _)| *of == collection);
        if let (Some((_, key)), Some(collections)) = (record, self.outside.collections) {
            collections.read(collection, key, self.outside.now_ms / 1000, &mut |name, value| {
                add(self.arena.alloc_slice_copy(name), self.arena.alloc_slice_copy(value));
            });
        }
    }

    fn state_members(&self, variable: Variable, add: &mut dyn FnMut(&'a [u8], &'a [u8])) {
        use Variable as V;
        let state = &self.run.state;
        let named = |matched: &super::state::Matched<'a>| self.full_name(matched.variable, matched.member);
        match variable {
            V::MatchedVar => state.matched.last().into_iter().for_each(|matched| add(b"", matched.value)),
            V::MatchedVarName => state.matched.last().into_iter().for_each(|matched| add(b"", named(matched))),
            V::MatchedVars => state.matched.iter().for_each(|matched| add(named(matched), matched.value)),
            V::MatchedVarsNames => state.matched.iter().for_each(|matched| add(named(matched), named(matched))),
            V::Rule => self.rule_members(add),
            V::Geo => {
                if let Some(location) = &state.location {
                    add(b"COUNTRY_CODE", self.arena.alloc_slice_copy(location.country.as_bytes()));
                    add(b"COUNTRY_CONTINENT", self.arena.alloc_slice_copy(location.continent.as_bytes()));
                }
            }
            V::HighestSeverity => add(b"", number::format(state.highest_severity.into(), self.arena)),
            V::UniqueId => add(b"", self.arena.alloc_slice_copy(self.outside.request_id)),
            V::SessionId | V::UserId => {
                let of = if variable == V::UserId { V::User } else { V::Session };
                let record =
                    state.records.iter().find(|(collection, _)| Source::new(of) == Source::Stored(*collection));
                record.into_iter().for_each(|(_, key)| add(b"", key));
            }
            V::WebAppId => {
                let id = self.profile.program.settings.web_app_id.as_deref().unwrap_or("default");
                add(b"", self.arena.alloc_slice_copy(id.as_bytes()));
            }
            V::ModsecBuild => add(b"", b"030000900"),
            V::Duration => {
                let passed = self.outside.now_ms.saturating_sub(self.outside.received_ms);
                add(b"", number::format(passed as i64 * 1000, self.arena));
            }
            _ => {
                if let Some(value) = super::clock::part(variable, self.outside.now_ms / 1000, self.arena) {
                    add(b"", value);
                }
            }
        }
    }

    fn rule_members(&self, add: &mut dyn FnMut(&'a [u8], &'a [u8])) {
        let info = self.info();
        add(b"id", number::format(info.id as i64, self.arena));
        add(b"msg", self.arena.alloc_slice_copy(info.message.as_bytes()));
        if let Some(severity) = info.severity {
            add(b"severity", number::format(severity.into(), self.arena));
        }
    }

    /// `ARGS:name`, as logs and `MATCHED_VAR_NAME` have it.
    pub(super) fn full_name(&self, variable: &'static str, member: &[u8]) -> &'a [u8] {
        if member.is_empty() {
            return variable.as_bytes();
        }
        let mut name = ArenaVec::with_capacity_in(variable.len() + 1 + member.len(), self.arena);
        name.extend_from_slice(variable.as_bytes());
        name.push(b':');
        name.extend_from_slice(member);
        name.into_bump_slice()
    }

    /// Whether a rule that collects values has to be run; else all that it would leave behind is left.
    pub(super) fn collects(&mut self, link: &Link, collecting: &Collecting) -> bool {
        let Some(test) = link.test.as_ref().filter(|_| self.run.state.removed_targets.is_empty()) else { return true };
        let (list, scratch) = (self.expand(&collecting.list, self.at), self.scratch());
        let members = test.targets.iter().flat_map(|target| self.members(target, &test.exclusions, self.at));
        let mut last = None;
        for member in members.collect::<Vec<_>>() {
            let value = self.profile.program.pipelines.apply_within(link.pipeline, scratch, member.value);
            if !scratch.work.charge((value.len() + list.len()) as u64) || collecting.is_seen(list, value, scratch) {
                return true;
            }
            last = Some(value);
        }
        if last.is_some() {
            self.run.state.set_tx(self.profile, 0, last, self.at + 1);
        }
        false
    }

    /// A text with its macros expanded, at most [`MAX_EXPANDED`] bytes.
    pub(super) fn expand<'e>(&self, text: &'e Text, at: u32) -> &'e [u8]
    where
        'a: 'e,
        'm: 'e,
    {
        let pieces = match text {
            Text::Plain(text) => return text,
            Text::Pieces(pieces) => pieces,
        };
        if let [TextPiece::Tx(id)] = &**pieces {
            let template = self.profile.template();
            return self.run.state.tx(template, *id, at).unwrap_or_default();
        }
        let mut expanded = ArenaVec::with_capacity_in(EXPANDED, self.arena);
        for piece in pieces {
            let room = MAX_EXPANDED.saturating_sub(expanded.len());
            let mut push = |value: &[u8]| expanded.extend_from_slice(&value[..value.len().min(room)]);
            match piece {
                TextPiece::Plain(text) => push(text),
                TextPiece::Tx(id) => push(self.run.state.tx(self.profile.template(), *id, at).unwrap_or_default()),
                TextPiece::Variable(variable, name) => {
                    let selector = name.as_ref().map_or(Selector::All, |name| Selector::Name(name.to_vec()));
                    let source = Source::new(*variable);
                    let target = Target { source, selector, pattern: None, count: false, name: "", tx: Vec::new() };
                    push(self.members(&target, &[], at).first().map_or(b"", |member| member.value));
                }
            }
        }
        expanded.into_bump_slice()
    }
}

/// Bytes that most expanded texts take.
const EXPANDED: usize = 48;
/// Bytes of an expanded text: what a header may be long.
const MAX_EXPANDED: usize = 16 * 1024;
