//! Which of a value's hits stand the exact test.
//!
//! Words of everyday text open rules ("selected", "update") whose patterns then find nothing. Where
//! the operator's answer depends on the value alone it is worked out here, so that it is remembered
//! with the value and not asked again in the next request. Where a value opens several rules, one search for
//! parts of their patterns spares nearly all of the tests (`factors.rs`).

use super::super::expand::Text;
use super::super::operator::Setting;
use super::super::scratch::Scratch;
use super::factors::Place;
use super::{Event, Hit, Sifter};

/// Parts of patterns that a value has.
struct Searched<'a> {
    value: &'a [u8],
    group: u8,
    found: u32,
}

impl Sifter {
    /// Drops the hits from `first` on, which are all those of one member, that do not stand the exact test. The first rule
    /// that there was no work left for.
    pub(super) fn decide<'a>(
        &self,
        first: usize,
        scratch: Scratch<'a>,
        hits: &mut Vec<Hit<'a>>,
        meter: &mut impl FnMut(Event),
    ) -> Option<u32> {
        let (mut kept, mut refused) = (first, None);
        let mut searched = bumpalo::collections::Vec::new_in(scratch.arena);
        for number in first..hits.len() {
            let hit = hits[number];
            if !self.may_match(&hit, &mut searched, scratch) {
                continue;
            }
            meter(Event::RuleBegins);
            let stands = self.stands(&hit, scratch);
            if scratch.work.take_refusal() {
                refused.get_or_insert(hit.rule);
            }
            if stands {
                hits[kept] = hit;
                kept += 1;
            } else {
                meter(Event::RuleEnds(hit.rule));
            }
        }
        hits.truncate(kept);
        refused
    }

    /// Whether the value has the part of the rule's pattern.
    fn may_match<'a>(
        &self,
        hit: &Hit<'a>,
        searched: &mut bumpalo::collections::Vec<'a, Searched<'a>>,
        scratch: Scratch<'a>,
    ) -> bool {
        let Some(place @ Place { group, .. }) = self.factors.place(hit.rule) else { return true };
        if let Some(known) = searched.iter().find(|one| one.group == group && std::ptr::eq(one.value, hit.value)) {
            return place.is_among(known.found);
        }
        let found = self.factors.search(group, hit.value, scratch);
        searched.push(Searched { value: hit.value, group, found });
        place.is_among(found)
    }

    /// Whether a value that opened a rule may match it; not where there is no work left to tell.
    fn stands<'a>(&self, hit: &Hit<'a>, scratch: Scratch<'a>) -> bool {
        let Some(gate) = self.gate(hit.rule) else { return true };
        let link = &self.program.rules[hit.rule as usize].links[gate.link];
        let Some(test) = link.test.as_ref().filter(|test| !test.negated && link.stages.is_empty()) else { return true };
        let text: &[u8] = match test.operator.text() {
            None => b"",
            Some(Text::Plain(text)) => text,
            Some(Text::Pieces(_)) => return true, // macros differ from request to request
        };
        test.operator.find(hit.value, &Setting { scratch, text, capture: false, verdict_only: true }).is_some()
    }
}
