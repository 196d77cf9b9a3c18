//! One value on its way through the filter.

use weir_transform::{ByteSet, Transformation};

use super::super::need::Need;
use super::super::pipeline::transform_units;
use super::super::scratch::Scratch;
use super::plan::{MAX_NODES, Nodes, Plan, Step, Wanted};
use super::search::Search;
use super::{Hit, MAX_HITS, Sifted, Sifter};

/// Units of work for a value, and for each byte of a form of it that is looked at.
const VISIT: u64 = 350;
const FORM_BYTE: u64 = 1;
/// Values of this many bytes are not scanned for rules that other bytes refuse already.
const LONG: usize = 256;

/// A value after some of the transformations.
#[derive(Clone, Copy)]
struct Form<'a> {
    value: &'a [u8],
    /// The bytes that occur, and perhaps, unless `is_exact`, some others.
    occurring: ByteSet,
    is_exact: bool,
    /// The nodes that have come to it.
    nodes: Nodes,
    /// The form whose scan serves this one: the scanner does not tell capitals from small letters.
    scanned_as: u8,
}

/// A value of a collection.
pub(super) struct Visit<'s, 'a> {
    pub(super) sifter: &'s Sifter,
    pub(super) search: &'s Search,
    pub(super) plan: &'s Plan,
    pub(super) named: Option<&'s Wanted>,
    pub(super) name: &'a [u8],
    pub(super) raw: &'a [u8],
}

impl<'a> Visit<'_, 'a> {
    pub(super) fn value(&self, scratch: Scratch<'a>, seen: &mut [u64], out: &mut Sifted<'a, '_>) {
        if !scratch.work.charge(VISIT + FORM_BYTE * self.raw.len() as u64) {
            return;
        }
        let arena = scratch.arena;
        let occurring = ByteSet::of(self.raw);
        let raw = Form { value: self.raw, occurring, is_exact: true, nodes: Nodes::MAX, scanned_as: 0 };
        let length = self.raw.len();
        if length < self.plan.always_from && !self.plan.triggers.intersects(&occurring) {
            return self.look(&[raw], seen, out);
        }
        let changing = self
            .plan
            .kinds
            .iter()
            .filter(|kind| length >= kind.min_length && (kind.always || kind.triggers.intersects(&occurring)));
        // Nodes that may differ from the untransformed value.
        let mut left = changing.fold(0, |nodes: Nodes, kind| nodes | kind.nodes);
        if left == 0 {
            return self.look(&[raw], seen, out);
        }
        let mut of_node = [0u8; MAX_NODES];
        // Nodes whose results are too short for any rule.
        let mut dead: Nodes = 0;
        // Of each transformation: the form that it was last applied to (counted from 1), and the result.
        let mut done = [(0u8, 0u8); Transformation::ALL.len()];
        let mut forms = bumpalo::collections::Vec::with_capacity_in(4, arena);
        forms.push(raw);
        while left != 0 {
            let place = left.trailing_zeros();
            left &= left - 1;
            let Step { parent, transformation, min_length, worthwhile, needed, .. } =
                &self.plan.steps[place as usize - 1];
            if !worthwhile.intersects(&occurring) && *worthwhile != ByteSet::ALL {
                continue;
            }
            let from = of_node[usize::from(*parent)];
            let form = &forms[usize::from(from)];
            if dead >> parent & 1 != 0 || *needed > 0 && form.is_exact && transformation.empties(&form.occurring) {
                dead |= 1 << place;
                continue;
            }
            let transformation = transformation.simplest(&form.occurring);
            let mut to = from;
            let done = &mut done[transformation as usize];
            if done.0 == from + 1 {
                to = done.1;
            } else if form.value.len() >= *min_length && transformation.may_change(&form.occurring) {
                if !scratch
                    .work
                    .charge(transform_units(transformation, form.value.len()) + FORM_BYTE * form.value.len() as u64)
                {
                    return;
                }
                let value = transformation.apply(arena, form.value);
                if !std::ptr::eq(value, form.value) {
                    to = form_of(&mut forms, value, usize::from(from), transformation);
                }
                *done = (from + 1, to);
            }
            if forms[usize::from(to)].value.len() < *needed {
                dead |= 1 << place;
            } else if to != 0 {
                of_node[place as usize] = to;
                forms[usize::from(to)].nodes |= 1 << place;
                forms[0].nodes &= !(1 << place);
            }
        }
        forms[0].nodes &= !dead;
        self.look(&forms, seen, out);
    }

    /// Looks at all forms of the value.
    fn look(&self, forms: &[Form<'a>], seen: &mut [u64], out: &mut Sifted<'a, '_>) {
        seen.fill(0);
        for wanted in std::iter::once(&self.plan.all).chain(self.named) {
            for form in forms {
                self.without_scan(wanted, form, seen, out);
            }
        }
        let has_literals = self.plan.all.has_literals() || self.named.is_some_and(Wanted::has_literals);
        if !has_literals {
            return;
        }
        for (number, form) in forms.iter().enumerate() {
            if usize::from(form.scanned_as) == number && self.is_awaited(forms, number) {
                self.scan(forms, number, seen, out);
            }
        }
    }

    /// Whether a rule waits for a literal in one of the forms that a scan serves.
    fn is_awaited(&self, forms: &[Form<'a>], number: usize) -> bool {
        let served = || forms.iter().filter(|form| usize::from(form.scanned_as) == number);
        let awaits = |wanted: &Wanted| {
            served().any(|form| wanted.awaits_literals(form.nodes, &form.occurring, form.value.len()))
        };
        let length = forms[number].value.len();
        // Of short values a scan costs less than to ask whether it is worth it.
        length >= self.search.shortest
            && served().any(|form| self.plan.awaits(form.nodes, &form.occurring))
            && (length < LONG || std::iter::once(&self.plan.all).chain(self.named).any(awaits))
    }

    fn without_scan(&self, wanted: &Wanted, form: &Form<'a>, seen: &mut [u64], out: &mut Sifted<'a, '_>) {
        let here = |(_, nodes): &&(u32, Nodes)| nodes & form.nodes != 0;
        for (rule, _) in wanted.any.iter().filter(here) {
            self.hit(*rule, form, seen, out);
        }
        if wanted.special.intersects(&form.occurring) {
            wanted.opened(&form.occurring, |waiting| {
                if waiting.nodes & form.nodes != 0 && waiting.is_met(&form.occurring, form.value.len()) {
                    self.hit(waiting.rule, form, seen, out);
                }
            });
        }
        for (rule, _) in wanted.sqli.iter().filter(here) {
            if weir_detect::sqli_possible_with(form.value, form.occurring.words()) {
                self.hit(*rule, form, seen, out);
            }
        }
        for (rule, _) in wanted.xss.iter().filter(here) {
            if weir_detect::xss_possible_with(form.value, form.occurring.words()) {
                self.hit(*rule, form, seen, out);
            }
        }
    }

    /// Finds literals in one form, for all forms that differ from it in case only.
    fn scan(&self, forms: &[Form<'a>], number: usize, seen: &mut [u64], out: &mut Sifted<'a, '_>) {
        self.search.scan(forms[number].value, |rule| {
            if super::super::state::is_set(seen, rule) {
                return;
            }
            let nodes = self.plan.all.literal_nodes(rule) | self.named.map_or(0, |wanted| wanted.literal_nodes(rule));
            if nodes == 0 {
                return;
            }
            for form in forms.iter().filter(|form| usize::from(form.scanned_as) == number) {
                if form.nodes & nodes != 0 && self.has_bytes(rule, form) {
                    self.hit(rule, form, seen, out);
                }
            }
        });
    }

    fn has_bytes(&self, rule: u32, form: &Form<'_>) -> bool {
        match self.sifter.gates[rule as usize].as_ref().map(|gate| &gate.need) {
            Some(Need::Literals(_, bytes)) => bytes.met(&form.occurring, form.value.len()),
            _ => true,
        }
    }

    /// Notes that the value may match a rule, once.
    fn hit(&self, rule: u32, form: &Form<'a>, seen: &mut [u64], out: &mut Sifted<'a, '_>) {
        let (word, bit) = (rule as usize / 64, 1 << (rule % 64));
        if seen[word] & bit != 0 {
            return;
        }
        seen[word] |= bit;
        let is_multi = self.sifter.multi.contains(rule as usize);
        if out.hits.len() >= MAX_HITS {
            out.candidates[word] |= bit;
            out.whole[word] |= bit;
            return;
        }
        // `multiMatch` makes all forms of the untransformed value by itself.
        let value = if is_multi { self.raw } else { form.value };
        out.hits.push(Hit { rule, origin: self.plan.origin, name: self.name, value });
    }
}

/// The number of the form with that value, which a transformation has made of another: a new one if need be.
fn form_of<'a>(
    forms: &mut bumpalo::collections::Vec<'a, Form<'a>>,
    value: &'a [u8],
    from: usize,
    transformation: Transformation,
) -> u8 {
    // The result of another chain is taken into account.
    if let Some(known) = forms.iter().position(|form| form.value == value) {
        return known as u8;
    }
    let (number, from) = (forms.len() as u8, forms[from]);
    let scanned_as = if transformation == Transformation::Lowercase { from.scanned_as } else { number };
    let derived = transformation.bytes_after(&from.occurring);
    let (occurring, is_exact) =
        derived.map_or_else(|| (ByteSet::of(value), true), |(set, is_exact)| (set, is_exact && from.is_exact));
    forms.push(Form { value, occurring, is_exact, nodes: 0, scanned_as });
    number
}
