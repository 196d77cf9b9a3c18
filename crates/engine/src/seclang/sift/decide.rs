//! Which of a value's hits stand the exact test.
//!
//! Words of everyday text open rules ("selected", "update") whose patterns then find nothing. Where
//! the operator's answer depends on the value alone it is worked out here, so that it is remembered
//! with the value and not asked again in the next request.

use super::super::expand::Text;
use super::super::operator::Setting;
use super::super::scratch::Scratch;
use super::{Hit, Sifter};

impl Sifter {
    /// Whether a value that opened a rule may match it; not where there is no work left to tell.
    pub(super) fn stands<'a>(&self, hit: &Hit<'a>, scratch: Scratch<'a>) -> bool {
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
