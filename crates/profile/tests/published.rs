//! Comparison of folded stacks with those of the tools that introduced the formats, on their own
//! inputs.
//!
//! Their files are not part of this repository (other licences). `WEIR_STACKCOLLAPSE_DIR` names a
//! directory with `NAME.txt`, the output of `perf script`, and `results/NAME-collapsed-all.txt`,
//! the output of their folder; without it, this test prints a note and passes. Names may differ as
//! [`tidied`] describes; few weights and shapes of stacks may.

#![allow(clippy::unwrap_used, reason = "in a test it is the assertion, in its helpers too")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use weir_profile::format::{self, Format, FormatError};

/// Weights by stack.
type Stacks = BTreeMap<String, u64>;

/// Share of the stacks of all inputs that must be the same.
const SAME_SHARE: f64 = 0.99;

#[test]
fn published_inputs_fold_as_their_tools_fold_them() {
    let Some(directory) = std::env::var_os("WEIR_STACKCOLLAPSE_DIR") else {
        eprintln!("skipped: WEIR_STACKCOLLAPSE_DIR is not set");
        return;
    };
    let (mut same, mut all) = (0, 0);
    let mut inputs: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    for input in inputs {
        let name = input.file_stem().unwrap().to_string_lossy().into_owned();
        let expected = Path::new(&directory).join(format!("results/{name}-collapsed-all.txt"));
        let (true, Ok(expected)) = (input.is_file(), fs::read(&expected)) else { continue };
        let input = fs::read(&input).unwrap();
        let here = compared(&name, &input, &stacks(&expected));
        same += here.0;
        all += here.1;
    }
    eprintln!("{same} of {all} stacks are the same");
    assert!(all > 0 && f64::from(same) >= SAME_SHARE * f64::from(all), "{same} of {all} stacks in {directory:?}");
}

/// The number of equal stacks, and of all stacks.
fn compared(name: &str, input: &[u8], expected: &Stacks) -> (u32, u32) {
    // One of the tools drops a last sample that is not followed by a blank line; Weir and the other
    // tool count it.
    let end = input.windows(2).rposition(|window| window == b"\n\n").unwrap_or(input.len());
    let (ours, cut) = (folded(input), folded(&input[..end]));
    let theirs = tidied(expected);
    let different = |ours: &Stacks| {
        let ours = tidied(ours);
        let only = |these: &Stacks, others: &Stacks| -> Vec<String> {
            let differ = these.iter().filter(|(stack, weight)| others.get(*stack) != Some(weight));
            differ.map(|(stack, weight)| format!("{stack} {weight}")).collect()
        };
        (only(&ours, &theirs), only(&theirs, &ours))
    };
    let (only, missing) =
        [different(&ours), different(&cut)].into_iter().min_by_key(|(a, b)| a.len() + b.len()).unwrap();
    let exact = cut.iter().filter(|(stack, weight)| expected.get(*stack) == Some(weight)).count();
    eprintln!("{name}: {} stacks, {exact} equal as written, {} differ", theirs.len(), only.len().max(missing.len()));
    for stack in
        only.iter().map(|stack| format!("ours: {stack}")).chain(missing.iter().map(|stack| format!("theirs: {stack}")))
    {
        eprintln!("  {stack}");
    }
    let differ = u32::try_from(only.len().max(missing.len())).unwrap();
    let all = u32::try_from(theirs.len()).unwrap();
    (all.saturating_sub(differ), all)
}

/// Weir's folding; empty if there is nothing to read.
fn folded(input: &[u8]) -> Stacks {
    let mut folded = Vec::new();
    match format::read(input) {
        Ok(profile) => format::write(&profile, Format::Folded, &mut folded).unwrap(),
        Err(FormatError::Empty) => {}
        Err(error) => eprintln!("{error}"),
    }
    stacks(&folded)
}

fn stacks(folded: &[u8]) -> Stacks {
    let mut stacks = Stacks::new();
    for line in String::from_utf8_lossy(folded).lines() {
        let (stack, weight) = line.rsplit_once(' ').unwrap();
        *stacks.entry(stack.to_owned()).or_default() += weight.parse::<u64>().unwrap();
    }
    stacks
}

/// Removes intended differences: suffixes and brackets, quotes in names, and how much of a C++ name
/// in parentheses is kept.
fn tidied(stacks: &Stacks) -> Stacks {
    let mut tidied = Stacks::new();
    for (stack, weight) in stacks {
        let frames: Vec<String> = stack.split(';').map(tidy).collect();
        *tidied.entry(frames.join(";")).or_default() += weight;
    }
    tidied
}

fn tidy(frame: &str) -> String {
    let name = ["_[k]", "_[j]", "_[i]"].iter().fold(frame, |name, mark| name.strip_suffix(mark).unwrap_or(name));
    let name = name.replace("[[", "[").replace("]]", "]").replace(['"', '\''], "");
    let kept = name.replace("(anonymous namespace)", "\u{1}");
    let end = if kept.contains(".(") { kept.len() } else { kept.find('(').unwrap_or(kept.len()) };
    kept[..end].to_owned()
}
