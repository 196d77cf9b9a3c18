//! What a rule set remembers while a transaction lasts.

use bumpalo::Bump;
use weir_http::{Transaction, Work};
use weir_rules::seclang::ir::{AllowScope, Collection, Engine};
use weir_transform::ByteSet;

use super::bits;
use super::names::TxId;
use super::profile::Profile;
use super::program::Pick;
use super::scratch::Scratch;
use super::sift::Hit;
use super::template::{Status, Template};
use super::variable::Source;
use crate::GeoLocation;

/// A variable of `TX`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot<'a> {
    /// As in the template.
    Template,
    /// Set by a rule of this transaction, or unset.
    Own(Option<&'a [u8]>),
}

/// A value that has matched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matched<'a> {
    /// The variable's name.
    pub(crate) variable: &'static str,
    /// Its member's; empty if there are none.
    pub(crate) member: &'a [u8],
    /// After transformations.
    pub(crate) value: &'a [u8],
    /// The part that the operator found.
    pub(crate) range: Option<(u32, u32)>,
}

/// A value that there was no work left for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused<'a> {
    /// The rule that would have tested it; `None` if the filter gave up, for all rules.
    pub(crate) rule: Option<u32>,
    pub(crate) matched: Matched<'a>,
}

/// Targets that rules do not look at any more.
#[derive(Debug)]
pub(crate) struct RemovedTarget<'a> {
    /// One bit for each rule.
    pub(crate) rules: &'a [u64],
    pub(crate) pick: Pick,
}

/// The state.
pub(crate) struct State<'a> {
    pub(crate) arena: &'a Bump,
    pub(crate) work: &'a Work,
    /// What there was no work left for, unless it has been reported.
    pub(crate) refused: Option<Refused<'a>>,
    slots: &'a mut [Slot<'a>],
    /// Variables of `TX` that no rule names, set through macros. Names in lower case.
    pub(crate) others: Vec<(&'a [u8], Option<&'a [u8]>)>,
    /// One bit for each rule that is to be run.
    pub(crate) candidates: &'a mut [u64],
    pub(crate) hits: Vec<Hit<'a>>,
    /// One bit for each rule that has to look at all values.
    pub(crate) whole: &'a mut [u64],
    removed: &'a mut [u64],
    pub(crate) removed_targets: Vec<RemovedTarget<'a>>,
    pub(crate) matched: Vec<Matched<'a>>,
    /// The record of each persistent collection in use.
    pub(crate) records: Vec<(Collection, &'a [u8])>,
    pub(crate) engine: Engine,
    pub(crate) allowed: Option<AllowScope>,
    /// What the last `@geoLookup` has found.
    pub(crate) location: Option<GeoLocation>,
    /// 255 before any rule has matched.
    pub(crate) highest_severity: u8,
    pub(crate) request_body: bool,
    pub(crate) response_body: bool,
    /// Added to the score by the rule being run.
    pub(crate) scored: i64,
}

/// Variables that only macros name, kept for one transaction.
const MAX_OTHERS: usize = 256;

impl<'a> State<'a> {
    pub(crate) fn new(transaction: &Transaction<'a>, profile: &Profile) -> Self {
        let arena = transaction.arena();
        let words = profile.sifter().ungated.0.len();
        Self {
            arena,
            work: transaction.work(),
            refused: None,
            slots: arena.alloc_slice_fill_copy(profile.program.names.len(), Slot::Template),
            others: Vec::new(),
            candidates: arena.alloc_slice_copy(&profile.sifter().ungated.0),
            hits: Vec::new(),
            whole: arena.alloc_slice_fill_copy(words, 0),
            removed: arena.alloc_slice_fill_copy(words, 0),
            removed_targets: Vec::new(),
            matched: Vec::new(),
            records: Vec::new(),
            engine: profile.engine(),
            allowed: None,
            location: None,
            highest_severity: 255,
            request_body: profile.request_body(),
            response_body: profile.response_body(),
            scored: 0,
        }
    }

    pub(crate) fn scratch(&self) -> Scratch<'a> {
        Scratch { arena: self.arena, work: self.work }
    }

    /// Whether there was no work left for a step since the last call; the first such value of a phase is kept.
    pub(crate) fn is_refused(
        &mut self,
        rule: Option<u32>,
        variable: &'static str,
        member: &'a [u8],
        value: &'a [u8],
    ) -> bool {
        let is_refused = self.work.take_refusal();
        if is_refused && self.refused.is_none() {
            self.refused = Some(Refused { rule, matched: Matched { variable, member, value, range: None } });
        }
        is_refused
    }

    /// A variable as the rule at a position sees it.
    pub(crate) fn tx<'e>(&self, template: &'e Template, id: TxId, at: u32) -> Option<&'e [u8]>
    where
        'a: 'e,
    {
        match self.slots[usize::from(id)] {
            Slot::Template => template.value(id, at),
            Slot::Own(value) => value,
        }
    }

    /// Sets a variable by the rule before position `from`; folded rules from there on that read or
    /// write it are run now.
    pub(crate) fn set_tx(&mut self, profile: &Profile, id: TxId, value: Option<&'a [u8]>, from: u32) {
        let slot = &mut self.slots[usize::from(id)];
        let was_template = matches!(slot, Slot::Template);
        *slot = Slot::Own(value);
        if was_template {
            self.touch(profile, profile.program.names.name(id), Some(id), from.saturating_sub(1), from);
        }
    }

    /// Sets a variable that no rule names.
    pub(crate) fn set_other(&mut self, profile: &Profile, name: &'a [u8], value: Option<&'a [u8]>, from: u32) {
        match self.others.iter().position(|other| other.0 == name) {
            Some(known) => self.others[known].1 = value,
            None if self.others.len() < MAX_OTHERS => self.others.push((name, value)),
            None => return,
        }
        self.touch(profile, name, None, from.saturating_sub(1), from);
    }

    /// A variable is not as in the template: folded rules from position `from` on that read or
    /// write it are run, and so on for what these would have set. Values are as at position `at`.
    fn touch(&mut self, profile: &Profile, name: &[u8], id: Option<TxId>, at: u32, from: u32) {
        let template = profile.template();
        let mut due = bumpalo::collections::Vec::new_in(self.arena);
        self.unfold_wide(profile, name, at, from, &mut due);
        due.extend(id);
        // Each variable comes here at most once: when it ceases to be the template's.
        let mut is_first = true;
        while let Some(id) = due.pop() {
            for rule in template.touchers(id).iter().filter(|rule| **rule >= from) {
                self.unfold(profile, *rule, at, &mut due);
            }
            if !is_first {
                self.unfold_wide(profile, profile.program.names.name(id), at, from, &mut due);
            }
            is_first = false;
        }
    }

    /// Unfolds the rules that read the variable of that name by a pattern.
    fn unfold_wide(
        &mut self,
        profile: &Profile,
        name: &[u8],
        at: u32,
        from: u32,
        due: &mut bumpalo::collections::Vec<'a, TxId>,
    ) {
        let mut all =
            profile.template().wide().iter().filter(|wide| wide.last() >= from && wide.may_read(name)).peekable();
        if all.peek().is_none() {
            return;
        }
        let folded = self.arena.alloc_slice_fill_iter(name.iter().map(|byte| byte | 0x20));
        let occurring = ByteSet::of(name);
        let scratch = self.scratch();
        for wide in all.filter(|wide| wide.reads(name, &occurring, folded, scratch)) {
            for rule in wide.rules.iter().filter(|rule| **rule >= from) {
                self.unfold(profile, *rule, at, due);
            }
        }
    }

    /// A folded rule is to be run: what it sets is this transaction's own from now on. Adds these
    /// variables to `due`.
    fn unfold(&mut self, profile: &Profile, rule: u32, at: u32, due: &mut bumpalo::collections::Vec<'a, TxId>) {
        if is_set(self.candidates, rule) {
            return;
        }
        set(self.candidates, rule);
        for id in profile.template().writes(rule, rule + 1) {
            if self.keep(profile, id, at) {
                due.push(id);
            }
        }
    }

    /// Applies the profile's settings to what rules have set before.
    pub(crate) fn settle(&mut self, profile: &Profile) {
        for (id, value) in profile.settings() {
            if let slot @ Slot::Own(_) = &mut self.slots[usize::from(id)] {
                *slot = Slot::Own(Some(self.arena.alloc_slice_copy(value)));
            }
        }
    }

    /// After a jump from `at` to `to`: what folded rules in between would have set, they have not.
    pub(crate) fn jumped(&mut self, profile: &Profile, at: u32, to: u32) {
        let template = profile.template();
        if template.status(at) == Status::Folded && template.jumps(at) {
            return; // the template has jumped as well
        }
        self.passed(profile, at + 1, to);
    }

    /// Rules from `begin` (included) to `end` (excluded) are not run: what folded ones among them
    /// would have set, they have not, nor have they jumped.
    pub(crate) fn passed(&mut self, profile: &Profile, begin: u32, end: u32) {
        let template = profile.template();
        // All of them before any rule is run for one of them.
        let mut kept = bumpalo::collections::Vec::new_in(self.arena);
        kept.extend(template.writes(begin, end).filter(|id| self.keep(profile, *id, begin)));
        for id in kept {
            self.touch(profile, profile.program.names.name(id), Some(id), begin, end);
        }
        for rule in (begin..end).filter(|rule| template.jumps(*rule)) {
            if let Some(jump) = profile.program.rules[rule as usize].jump {
                self.stayed(profile, rule, jump);
            }
        }
    }

    /// Makes a variable, as it is at a position, this transaction's own; whether it was not yet.
    fn keep(&mut self, profile: &Profile, id: TxId, at: u32) -> bool {
        let slot = &mut self.slots[usize::from(id)];
        let was_template = matches!(slot, Slot::Template);
        if was_template {
            *slot = Slot::Own(profile.template().value(id, at).map(|value| &*self.arena.alloc_slice_copy(value)));
        }
        was_template
    }

    /// A folded rule that jumps does not match after all: the rules that it jumped over are run.
    pub(crate) fn stayed(&mut self, profile: &Profile, at: u32, jump: u32) {
        if !profile.template().jumps(at) {
            return;
        }
        for rule in at + 1..jump {
            if profile.template().status(rule) == Status::Skipped {
                set(self.candidates, rule);
            }
        }
    }

    /// These rules are not run any more, from a position on.
    pub(crate) fn remove(&mut self, profile: &Profile, rules: &[u64], from: u32) {
        let mut at = from as usize;
        while let Some(rule) = bits::next(rules, at) {
            at = rule + 1;
            set(self.removed, rule as u32);
            if profile.template().status(rule as u32) != Status::Folded {
                continue;
            }
            self.undo(profile, rule as u32, from);
            if let Some(jump) = profile.program.rules[rule].jump {
                self.stayed(profile, rule as u32, jump);
            }
        }
    }

    /// Undoes a folded rule's part of the template.
    fn undo(&mut self, profile: &Profile, rule: u32, from: u32) {
        let at = from.saturating_sub(1);
        for id in profile.template().writes(rule, rule + 1) {
            if self.keep(profile, id, at) {
                self.touch(profile, profile.program.names.name(id), Some(id), at, from);
            }
        }
    }

    /// These rules do not look at a target any more, from a position on: those that have been
    /// folded with it are run after all.
    pub(crate) fn remove_target(&mut self, profile: &Profile, rules: &'a [u64], pick: &Pick, from: u32) {
        let mut at = if pick.source == Source::Tx { from as usize } else { usize::MAX };
        while let Some(rule) = bits::next(rules, at) {
            at = rule + 1;
            if profile.template().status(rule as u32) != Status::Folded {
                continue;
            }
            self.undo(profile, rule as u32, from);
            set(self.candidates, rule as u32);
        }
        self.removed_targets.push(RemovedTarget { rules, pick: pick.clone() });
    }

    pub(crate) fn is_removed(&self, rule: u32) -> bool {
        is_set(self.removed, rule)
    }
}

/// Sets a bit.
pub(crate) fn set(words: &mut [u64], number: u32) {
    words[number as usize / 64] |= 1 << (number % 64);
}

/// Whether a bit is set.
pub(crate) fn is_set(words: &[u64], number: u32) -> bool {
    words[number as usize / 64] >> (number % 64) & 1 != 0
}
