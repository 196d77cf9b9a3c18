//! What each match of a pattern contains: a part of the pattern that an automaton for many patterns can look for.
//!
//! Literals that patterns need occur in everyday text, too (`select`, `order`), and so do the bytes that others need.
//! Nearly all such values are refused by the surroundings of the literal, which one automaton can test for all patterns
//! at once, as long as its states do not multiply. They do where a pattern goes on over any text (`select.*from`): such a
//! pattern is cut there, and the part that everyday text has least often is taken.

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use crate::literal::frequency;

/// How often a part may begin at a byte of everyday text to be worth looking for.
const MAX_LIKELIHOOD: f64 = 0.02;
/// What everyday text has less often need not go on.
const RARE: f64 = 1e-7;
/// How often a capital letter occurs.
const OF_CAPITAL: f64 = 0.01;
/// More repetitions than this are taken for any number.
const MAX_COUNTED: u32 = 3;

/// Parts in a row that are considered, and of which one is made.
const MAX_PARTS: usize = 64;

/// A part of the pattern that every match contains; `None` if everyday text has each too often.
pub(crate) fn factor(hir: &Hir) -> Option<Hir> {
    let best = best(hir)?;
    (likelihood(&best) <= MAX_LIKELIHOOD).then_some(best)
}

/// The rarest of the parts.
fn best(hir: &Hir) -> Option<Hir> {
    match hir.kind() {
        HirKind::Capture(capture) => best(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => {
            rarer(Some(beginning(hir, 1.0).any()), best(&repetition.sub))
        }
        HirKind::Alternation(branches) => {
            Some(Hir::alternation(branches.iter().map(best).collect::<Option<Vec<_>>>()?))
        }
        HirKind::Concat(parts) => {
            let from_each = (0..parts.len().min(MAX_PARTS)).map(|at| Some(stretch(&parts[at..], 1.0).any()));
            parts.iter().map(best).chain(from_each).fold(None, rarer)
        }
        _ => Some(beginning(hir, 1.0).any()),
    }
}

fn rarer(a: Option<Hir>, b: Option<Hir>) -> Option<Hir> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if likelihood(&b) < likelihood(&a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// What matches begin with: all of the match, or one of the beginnings at which it was cut.
struct Beginning {
    whole: Option<Hir>,
    cut: Vec<Hir>,
}

impl Beginning {
    fn whole(hir: Hir) -> Self {
        Self { whole: Some(hir), cut: Vec::new() }
    }

    fn cut(hir: Hir) -> Self {
        Self { whole: None, cut: vec![hir] }
    }

    fn any(self) -> Hir {
        Hir::alternation(self.whole.into_iter().chain(self.cut).collect())
    }
}

/// What parts in a row begin with: cut where one goes on over any text, or where the beginning is rare enough. `before` is
/// the likelihood of what stands before them.
fn stretch(parts: &[Hir], mut before: f64) -> Beginning {
    let (mut taken, mut all) = (Vec::new(), Vec::new());
    for part in parts {
        if before < RARE || taken.len() == MAX_PARTS {
            all.push(Hir::concat(taken));
            return Beginning { whole: None, cut: all };
        }
        let Beginning { whole, cut } = beginning(part, before);
        if !cut.is_empty() {
            all.push(Hir::concat(taken.iter().cloned().chain([Hir::alternation(cut)]).collect()));
        }
        let Some(whole) = whole else { return Beginning { whole: None, cut: all } };
        before *= likelihood(&whole);
        taken.push(whole);
    }
    Beginning { whole: Some(Hir::concat(taken)), cut: all }
}

/// What matches begin with; `before` is the likelihood of what stands before it.
fn beginning(hir: &Hir, before: f64) -> Beginning {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => Beginning::whole(hir.clone()),
        HirKind::Literal(literal) => {
            let mut before = before;
            let enough = literal.0.iter().position(|byte| {
                let is_rare = before < RARE;
                before *= of_byte(*byte);
                is_rare
            });
            match enough {
                Some(length) => Beginning::cut(Hir::literal(&literal.0[..length])),
                None => Beginning::whole(hir.clone()),
            }
        }
        HirKind::Capture(capture) => beginning(&capture.sub, before),
        HirKind::Concat(parts) => stretch(parts, before),
        HirKind::Alternation(branches) => {
            let branches: Vec<Beginning> = branches.iter().map(|branch| beginning(branch, before)).collect();
            let (mut whole, mut cut) = (Vec::new(), Vec::new());
            for branch in branches {
                whole.extend(branch.whole);
                cut.extend(branch.cut);
            }
            Beginning { whole: (!whole.is_empty()).then(|| Hir::alternation(whole)), cut }
        }
        HirKind::Repetition(repetition) => repeated(repetition, before),
    }
}

fn repeated(repetition: &Repetition, before: f64) -> Beginning {
    let (min, max) = (repetition.min, repetition.max.filter(|max| *max <= MAX_COUNTED));
    let Beginning { whole, cut } = beginning(&repetition.sub, before);
    let never = || (min == 0).then(Hir::empty);
    let Some(sub) = whole else { return Beginning { whole: never(), cut } };
    let times = |min, max| Hir::repetition(Repetition { min, max, greedy: true, sub: Box::new(sub.clone()) });
    if max != Some(1) && goes_on(&sub) {
        return Beginning { whole: None, cut: vec![never().unwrap_or(Hir::alternation([vec![sub], cut].concat()))] };
    }
    let cut = (!cut.is_empty()).then(|| Hir::concat(vec![times(0, None), Hir::alternation(cut)]));
    Beginning { whole: Some(times(min.min(MAX_COUNTED), max)), cut: cut.into_iter().collect() }
}

/// Whether repetitions of it go on over words and what is between them.
fn goes_on(hir: &Hir) -> bool {
    let (mut letters, mut has_space) = (0, false);
    each_byte(hir, &mut |byte| {
        letters += u32::from(byte.is_ascii_lowercase());
        has_space |= byte == b' ';
    });
    letters > 13 && has_space
}

/// Calls `each` with bytes that single-byte parts of it match.
fn each_byte(hir: &Hir, each: &mut impl FnMut(u8)) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => literal.0.iter().for_each(|byte| each(*byte)),
        HirKind::Class(Class::Bytes(class)) => {
            class.ranges().iter().flat_map(|range| range.start()..=range.end()).for_each(each);
        }
        HirKind::Class(Class::Unicode(class)) => {
            let ranges = class.ranges().iter();
            ranges.flat_map(|range| range.start() as u32..=(range.end() as u32).min(0xff)).for_each(|c| each(c as u8));
        }
        HirKind::Repetition(repetition) => each_byte(&repetition.sub, each),
        HirKind::Capture(capture) => each_byte(&capture.sub, each),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().for_each(|part| each_byte(part, each)),
    }
}

/// How often everyday text matches it at a byte, roughly.
fn likelihood(hir: &Hir) -> f64 {
    match hir.kind() {
        HirKind::Empty => 1.0,
        HirKind::Look(Look::Start | Look::StartLF | Look::StartCRLF | Look::End | Look::EndLF | Look::EndCRLF) => 0.03,
        HirKind::Look(_) => 0.5,
        HirKind::Literal(literal) => literal.0.iter().map(|byte| of_byte(*byte)).product(),
        HirKind::Class(_) => {
            let mut sum = 0.0;
            each_byte(hir, &mut |byte| sum += of_byte(byte));
            sum.min(1.0)
        }
        HirKind::Repetition(repetition) if repetition.min == 0 => 1.0,
        HirKind::Repetition(repetition) => likelihood(&repetition.sub).powi(repetition.min.min(3) as i32),
        HirKind::Capture(capture) => likelihood(&capture.sub),
        HirKind::Concat(parts) => parts.iter().map(likelihood).product(),
        HirKind::Alternation(branches) => branches.iter().map(likelihood).sum::<f64>().min(1.0),
    }
}

fn of_byte(byte: u8) -> f64 {
    if byte.is_ascii_uppercase() { OF_CAPITAL } else { frequency(byte) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex_automata::meta;
    use regex_automata::util::syntax;

    fn of(pattern: &str) -> Option<String> {
        factor(&parse(pattern)).map(|hir| hir.to_string())
    }

    fn config() -> syntax::Config {
        syntax::Config::new().utf8(false).unicode(false)
    }

    fn parse(pattern: &str) -> Hir {
        syntax::parse_with(pattern, &config()).unwrap()
    }

    #[test]
    fn takes_what_text_has_least_often_and_cuts_what_goes_on_over_it() {
        let same = |pattern: &str, part: &str| assert_eq!(of(pattern), Some(parse(part).to_string()), "{pattern}");
        same(r"'\s*or\s*=", r"'\s*or\s*=");
        same(r"a.*'\s*x=", r"'\s*x=");
        same(r#"["'].*?select\b[^)]+from"#, "select");
        same(r"(?:;|\|)(?:x=.*\s|!\s*)*(?:ls|id)\b", r"(?:;|\|)(?:!\s*)*(?:(?:ls|id)\b|x=)");
        same("abcdefghijkl", "abcde");
        same("e{2,9}t{2}", "e{2,}t{2}");
        assert_eq!(of(r"\w+"), None);
        assert_eq!(of("(?:qqqq|[a-z])"), None, "a branch that text has all the time");
    }

    #[test]
    fn every_match_contains_it() {
        let alphabet = proptest::collection::vec(proptest::sample::select(b"abx'=;! \n|.ls\xff".to_vec()), 0..24);
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        for pattern in [
            r"'\s*[ab]+\s*=",
            r"(?m)^;.*'=",
            r"\bab\b.*x'",
            r"(?:;|=)(?:x=.*\s|!\s*)*(?:ls|ab)\b",
            "'(?:a.*b|=)+;",
            r"(?:a'|b'){2,5}",
            "(?:'x*){3}",
            r"[^a]*'=$",
        ] {
            let matches = |hir: &Hir| {
                let config = meta::Config::new().utf8_empty(false);
                meta::Builder::new().configure(config).build_from_hir(hir).unwrap()
            };
            let (whole, part) = (matches(&parse(pattern)), matches(&best(&parse(pattern)).unwrap()));
            runner
                .run(&alphabet, |value| {
                    assert!(!whole.is_match(&value) || part.is_match(&value), "{pattern}: {:?}", value.escape_ascii());
                    Ok(())
                })
                .unwrap();
        }
    }
}
