//! Assertions about time in test code. They fail on a busy machine and let slow code through on a fast one, so tests
//! count events or work instead.
//!
//! A condition is about time if it reads a clock (`elapsed`, `duration_since`, `Instant::now`), names something that was
//! computed from such a reading, or puts a duration in an order. That two durations are equal is not about time: only
//! what was configured can be. A condition that ends in `< PATIENCE`, a constant of 10 s or more, is a limit on waiting
//! for something that may hang, and allowed.

use std::collections::BTreeSet;
use std::path::Path;

use crate::tokens::{Token, numbered};

mod pieces;

use pieces::{Piece, group, item, parts, starts_with, until, value};

/// The shortest limit on waiting: a machine that is merely busy stays below it.
const SHORTEST_PATIENCE_S: u64 = 10;

/// Types in results of functions that may be times.
const MEASURES: [&str; 6] = ["Duration", "Instant", "f64", "u32", "u64", "u128"];
/// The ends of `as_millis` and its like.
const UNITS: [&str; 4] = ["secs", "millis", "micros", "nanos"];

type Names = BTreeSet<String>;

/// The lines of a file at which test code asserts time.
#[must_use]
pub fn assertions(path: &Path, text: &str) -> BTreeSet<usize> {
    let spelt = |token| match token {
        Token::Word(word) => word,
        Token::Path => "::".to_owned(),
        Token::Sign(sign) => sign.to_string(),
    };
    let pieces: Vec<Piece> = numbered(text).into_iter().map(|(token, line)| (spelt(token), line)).collect();
    let mut found = BTreeSet::new();
    for part in test_code(path, &pieces) {
        let functions = functions(part);
        let mut timed = Names::new();
        // Until nothing is added: a function may call one that stands further down.
        while functions.iter().fold(false, |more, function| more | function.is_timed(&mut timed)) {}
        for function in &functions {
            let names = bound(function.body, &timed);
            found.extend((0..function.body.len()).filter_map(|at| offence(&function.body[at..], &names)));
        }
        found.extend((0..part.len()).filter_map(|at| hasty(&part[at..])));
    }
    found
}

/// Whether a line of a Java test asserts time.
#[must_use]
pub fn asserts_in_java(line: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    let reads = has(&["nanoTime()", "currentTimeMillis()", "Instant.now()"]) && has(&["check(", "assert"]);
    (reads || has(&["assertTimeout(", "assertTimeoutPreemptively("])) && !line.contains("PATIENCE")
}

/// All of a file of tests, or what stands below `#[cfg(test)]`.
fn test_code<'p>(path: &Path, pieces: &'p [Piece]) -> Vec<&'p [Piece]> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if path.iter().any(|part| part == "tests") || name.ends_with("tests.rs") {
        return vec![pieces];
    }
    let starts = (0..pieces.len()).filter(|at| starts_with(&pieces[*at..], &["#", "[", "cfg", "(", "test", ")", "]"]));
    starts.map(|at| &pieces[at..at + 7 + item(&pieces[at + 7..])]).collect()
}

struct Function<'p> {
    name: &'p str,
    /// Whether the result may be a time or a number.
    measures: bool,
    body: &'p [Piece],
}

/// The functions that stand in no other one.
fn functions(pieces: &[Piece]) -> Vec<Function<'_>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < pieces.len() {
        let length = if pieces[at].0 == "fn" { item(&pieces[at..]) } else { 1 };
        if let [_, (name, _), ..] = &pieces[at..at + length] {
            let head = until(&pieces[at..at + length], &["{", ";"]);
            let signature = &pieces[at..at + head];
            let arrow = signature.windows(2).rposition(|pair| pair[0].0 == "-" && pair[1].0 == ">");
            let result = &signature[arrow.unwrap_or(head)..];
            let measures = result.iter().any(|(word, _)| MEASURES.contains(&word.as_str()));
            found.push(Function { name, measures, body: &pieces[at + head..at + length] });
        }
        at += length;
    }
    found
}

impl Function<'_> {
    /// Adds its name to `timed` if its result depends on a clock; true if it was not there.
    fn is_timed(&self, timed: &mut Names) -> bool {
        let is_timed = self.measures && is_timed(&value(self.body), &bound(self.body, timed));
        is_timed && timed.insert(self.name.to_owned())
    }
}

/// `timed`, with the variables of a body that depend on a clock.
fn bound(body: &[Piece], timed: &Names) -> Names {
    let mut names = timed.clone();
    loop {
        let before = names.len();
        for (target, expression) in (0..body.len()).filter_map(|at| assignment(body, at)) {
            let (targets, values) = (parts(target), parts(expression));
            let pairs = if targets.len() == values.len() {
                targets.into_iter().zip(values).collect()
            } else {
                vec![(target, expression)]
            };
            let known = names.clone();
            for (target, _) in pairs.into_iter().filter(|(_, expression)| is_timed(&value(expression), &known)) {
                let words = target.iter().map(|(word, _)| word).filter(|word| word.starts_with(char::is_lowercase));
                names.extend(words.filter(|word| !["mut", "ref"].contains(&word.as_str())).cloned());
            }
        }
        if names.len() == before {
            return names;
        }
    }
}

/// What gets a value here, and the value: by `let`, `=`, `+=` or `push`.
fn assignment(body: &[Piece], at: usize) -> Option<(&[Piece], &[Piece])> {
    let rest = &body[at..];
    let before = body[..at].last().map_or("", |(piece, _)| piece.as_str());
    let is_let = rest[0].0 == "let";
    if !is_let && ![";", "{", "}"].contains(&before) {
        return None;
    }
    let sign = match rest {
        [_, (dot, _), (push, _), (open, _), ..] if dot == "." && push == "push" && open == "(" => 3,
        _ => until(rest, &["=", ";", "{"]),
    };
    let value = rest.get(sign + 1..).filter(|_| ["=", "("].contains(&rest[sign].0.as_str()))?;
    let end = if ["if", "while", "&"].contains(&before) { "{" } else { ";" };
    let is_comparison = value.first().is_none_or(|(next, _)| next == "=" || next == ">");
    let target = &rest[usize::from(is_let)..sign];
    (!is_comparison).then(|| (&target[..until(target, &[":"])], &value[..until(value, &[end])]))
}

/// The line of an assertion that begins here and is about time.
fn offence(pieces: &[Piece], names: &Names) -> Option<usize> {
    let (name, line) = pieces.first().filter(|_| pieces.get(1).is_some_and(|(sign, _)| sign == "!"))?;
    // The arguments that are compared; others are for the message.
    let count = match name.trim_start_matches("debug_").trim_start_matches("prop_") {
        "assert" => 1,
        "assert_eq" | "assert_ne" | "assert_matches" => 2,
        _ => return None,
    };
    let mut left = pieces.get(3..2 + group(&pieces[2..]) - 1)?;
    let mut condition = Vec::new();
    for _ in 0..count {
        let length = until(left, &[","]);
        condition.extend(value(&left[..length]));
        left = left.get(length + 1..).unwrap_or_default();
    }
    let outer = outside_calls(&condition);
    let is_order = |at: usize| match outer[at] {
        "<" | ">" => at > 0 && !["=", "-", "::"].contains(&outer[at - 1]),
        word => word == "contains",
    };
    let is_duration = |at: usize| match outer[at] {
        word if word.starts_with("from_") => at > 1 && outer[at - 2] == "Duration",
        word => word.starts_with("as_") && UNITS.iter().any(|unit| word.contains(unit)),
    };
    let any = |holds: &dyn Fn(usize) -> bool| (0..outer.len()).any(holds);
    let is_wait = condition.last().is_some_and(|last| last.contains("PATIENCE"))
        && condition
            .rsplit(|piece| *piece == "<")
            .next()
            .is_some_and(|limit| limit.iter().all(|piece| *piece == "::" || piece.starts_with(char::is_alphabetic)));
    let is_about_time = is_timed(&condition, names) || (any(&is_order) && any(&is_duration));
    (is_about_time && !is_wait).then_some(*line)
}

/// The line of a limit on waiting that begins here and is too short for one.
fn hasty(pieces: &[Piece]) -> Option<usize> {
    let [(word, line), (name, _), ..] = pieces else { return None };
    let value = &pieces[..until(pieces, &[";"])];
    let from = value.iter().position(|(word, _)| word.starts_with("from_"))?;
    let seconds = value.get(from + 2).and_then(|(number, _)| number.replace('_', "").parse::<u64>().ok());
    let is_long = value[from].0 == "from_secs" && seconds.is_some_and(|seconds| seconds >= SHORTEST_PATIENCE_S);
    (word == "const" && name.contains("PATIENCE") && !is_long).then_some(*line)
}

/// Whether an expression reads a clock or one of these names. The date is not a clock: nobody measures with it.
fn is_timed(expression: &[&str], names: &Names) -> bool {
    let at = |index: Option<usize>| index.and_then(|index| expression.get(index)).copied().unwrap_or_default();
    (0..expression.len()).any(|index| {
        let before = at(index.checked_sub(1));
        match expression[index] {
            "elapsed" => at(Some(index + 1)) == "(" && at(index.checked_sub(2)) != "UNIX_EPOCH",
            "duration_since" => {
                expression[index..].iter().take_while(|piece| **piece != ")").last() != Some(&"UNIX_EPOCH")
            }
            "now" => before == "::" && at(index.checked_sub(2)) == "Instant",
            word => before != "." && at(Some(index + 1)) != ":" && names.contains(word),
        }
    })
}

/// An expression without the arguments of its calls, but for those of `contains`.
fn outside_calls<'p>(expression: &[&'p str]) -> Vec<&'p str> {
    let (mut kept, mut skipped) = (Vec::new(), 0_usize);
    for (at, piece) in expression.iter().enumerate() {
        let is_call = |word: &&str| word.starts_with(|c: char| c.is_alphanumeric() || c == '_') && *word != "contains";
        match *piece {
            "(" if skipped > 0 || expression[..at].last().is_some_and(is_call) => skipped += 1,
            ")" if skipped > 0 => skipped -= 1,
            piece if skipped == 0 => kept.push(piece),
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests;
