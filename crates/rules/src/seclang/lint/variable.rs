//! Variables that are written but not read, and unused captures.

use std::collections::HashSet;

use crate::seclang::chain::{Chain, Step};
use crate::seclang::diagnostic::{Report, Severity, shown};
use crate::seclang::draft::Link;
use crate::seclang::ir::{Change, Collection, Effect, Macro, Operator, PatternText, Piece, Selector, Variable};

/// The members of `TX` that rules read.
#[derive(Default)]
struct Reads<'s> {
    names: HashSet<&'s [u8]>,
    /// The longest literal word of each name pattern, in lower case.
    words: HashSet<String>,
    /// Whether all members are read.
    all: bool,
}

impl<'s> Reads<'s> {
    fn text(&mut self, text: &'s Macro) {
        for piece in &text.0 {
            match piece {
                Piece::Variable(Variable::Tx, Some(name)) => drop(self.names.insert(name)),
                Piece::Variable(Variable::Tx, None) => self.all = true,
                _ => {}
            }
        }
    }

    fn link(&mut self, link: &'s Link) {
        let test = link.test.iter();
        for target in test.clone().flat_map(|test| &test.targets.targets) {
            match &target.selector {
                _ if target.variable != Variable::Tx => {}
                Selector::All => self.all = true,
                Selector::Name(name) => drop(self.names.insert(name)),
                Selector::Pattern(pattern) => drop(self.words.insert(longest_word(pattern.source()))),
            }
        }
        for written in test.filter_map(|test| test.operator.as_ref()) {
            match &written.operator {
                Operator::Within(text)
                | Operator::Contains(text)
                | Operator::ContainsWord(text)
                | Operator::StrMatch(text)
                | Operator::BeginsWith(text)
                | Operator::EndsWith(text)
                | Operator::StrEq(text)
                | Operator::Compare(_, text)
                | Operator::Rx { pattern: PatternText::Macro(text), .. } => self.text(text),
                _ => {}
            }
        }
        let actions = &link.actions;
        actions.message.iter().chain(&actions.log_data).for_each(|(text, _)| self.text(text));
        for (effect, _) in actions.set.iter().chain(&actions.effects) {
            match effect {
                Effect::SetVariable { name, change, .. } => {
                    self.text(name);
                    match change {
                        Change::Set(text) | Change::Add(text) | Change::Subtract(text) => self.text(text),
                        Change::Unset => {}
                    }
                }
                Effect::ExpireVariable { name, seconds, .. } => {
                    self.text(name);
                    self.text(seconds);
                }
                Effect::InitCollection(_, text) => self.text(text),
                Effect::SetEnvironment(name, value) => {
                    self.text(name);
                    self.text(value);
                }
                Effect::Control(_) => {}
            }
        }
    }

    fn has(&self, name: &[u8]) -> bool {
        let text = String::from_utf8_lossy(name);
        self.all || self.names.contains(name) || self.words.iter().any(|word| text.contains(word.as_str()))
    }
}

fn longest_word(pattern: &str) -> String {
    let source = pattern.trim_start_matches("(?i)");
    let words = source.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    words.max_by_key(|word| word.len()).unwrap_or_default().to_ascii_lowercase()
}

pub(super) fn check(steps: &[Step], report: &mut Report) {
    let chains = || steps.iter().filter_map(|step| if let Step::Chain(chain) = step { Some(chain) } else { None });
    let mut reads = Reads::default();
    chains().flat_map(|chain| &chain.links).for_each(|link| reads.link(link));
    let mut told = HashSet::new();
    for (effect, spot) in chains().flat_map(|chain| &chain.links).flat_map(|link| &link.actions.set) {
        let Effect::SetVariable { collection: Collection::Tx, name, change } = effect else { continue };
        let Some(name) = name.as_text().filter(|_| *change != Change::Unset) else { continue };
        if !reads.has(name) && told.insert(name) {
            let name = shown(name);
            report.note(*spot, &name, format!("no rule reads TX:{name}"));
        }
    }
    chains().for_each(|chain| captures(chain, report));
}

/// `capture` in a chain that does not read the captures.
fn captures(chain: &Chain, report: &mut Report) {
    let Some(spot) = chain.links.iter().find_map(|link| link.actions.capture) else { return };
    let mut reads = Reads::default();
    chain.links.iter().for_each(|link| reads.link(link));
    if !(b'0'..=b'9').any(|digit| reads.has(&[digit])) {
        let hint = "remove it, unless a later rule reads TX:0 to TX:9";
        report.add(
            Severity::Note,
            spot,
            "capture",
            "this rule does not read what it captures".into(),
            Some(hint.into()),
        );
    }
}
