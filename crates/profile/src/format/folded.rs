//! Folded stacks: one line `thread;root;...;leaf weight` per stack, the format that most tools can read or write.
//!
//! The written numbers are weights (nanoseconds for times), not sample counts, which would be wrong for a profile
//! with several rates or of off-CPU time. The first frame is the thread's name, as other folding tools write it; it
//! is read as an ordinary frame, because a file does not say whether its first frame is a thread.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write;

use crate::label::{UNKNOWN, frame, label};
use crate::{Profile, Thread};

use super::intake::Intake;
use super::{FilePosition, Format, FormatError};
use crate::amount::counted;

/// Maximum number of decimals; further digits are cut off.
const MAX_DECIMALS: usize = 6;
const EXPECTED: &str = "expected lines such as `main;work 12`: frames from the root, separated by semicolons, \
    and a weight; or perf script with its default fields";

/// Any text: this format is tried last.
pub(super) fn sniff(bytes: &[u8]) -> bool {
    super::pprof::is_text(bytes)
}

pub(super) fn read(bytes: &[u8]) -> Result<Profile, FormatError> {
    let decimals = lines(bytes).filter_map(|(_, line)| parse(line)).map(|line| line.decimals()).max().unwrap_or(0);
    let mut intake = Intake::new(Format::Folded);
    let thread = intake.thread(&FilePosition::Line(1), Thread::default())?;
    // Unreadable lines and the first of them; lines that end in two numbers; readable lines.
    let (mut bad, mut pairs, mut good) = ((0_u64, 0_u64), 0_u64, 0_u64);
    let mut stack = Vec::new();
    for (number, line) in lines(bytes) {
        let Some(parsed) = parse(line) else {
            bad = (bad.0 + 1, if bad.0 == 0 { number } else { bad.1 });
            continue;
        };
        let place = FilePosition::Line(number);
        let weight = parsed.weight(decimals).ok_or_else(|| {
            let what = format!("the weight {} is too large", String::from_utf8_lossy(parsed.weight));
            intake.bad(&place, what, "weights are numbers below 2^63, with at most 6 decimals")
        })?;
        good += 1;
        pairs += u64::from(split_number(parsed.stack).is_some());
        stack.clear();
        for name in parsed.stack.split(|byte| *byte == b';') {
            stack.push(intake.frame(&place, frame(String::from_utf8_lossy(name).trim()))?);
        }
        intake.sample(&place, thread, &stack, (if decimals == 0 { weight } else { 1 }, weight))?;
    }
    if let (0, (1.., first)) = (good, bad) {
        return Err(intake.bad(&FilePosition::Line(first), "no weight at the end of the line".into(), EXPECTED));
    }
    remarks(&mut intake, bad, decimals, pairs == good);
    let profile = intake.profile_mut();
    profile.meta.source = "folded".into();
    profile.meta.title = "folded stacks".into();
    intake.finish()
}

fn remarks(intake: &mut Intake, bad: (u64, u64), decimals: usize, pairs: bool) {
    let remarks = &mut intake.profile_mut().meta.remarks;
    if bad.0 > 0 {
        remarks.push(format!("skipped {} without a weight, the first is line {}", counted(bad.0, "line"), bad.1));
    }
    if decimals > 0 {
        remarks.push(format!("weights have fractions: they are multiplied by {}", 10_u64.pow(decimals as u32)));
    }
    if pairs {
        remarks.push(
            "every line ends in two numbers: if this is a difference of two profiles, the first number has become part of the names"
                .into(),
        );
    }
}

/// Lines that are not blank and not comments, with their numbers.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let all = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    (1..).zip(all).filter(|(_, line)| !line.is_empty() && !line.starts_with(b"# "))
}

#[derive(Clone, Copy)]
struct Line<'a> {
    stack: &'a [u8],
    weight: &'a [u8],
}

fn parse(line: &[u8]) -> Option<Line<'_>> {
    split_number(line).map(|(stack, weight)| Line { stack, weight })
}

/// Splits a text into the part before its last space and the number after it.
fn split_number(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = text.iter().rposition(u8::is_ascii_whitespace)?;
    let (before, number) = (text[..space].trim_ascii_end(), &text[space + 1..]);
    let digits = number.iter().filter(|byte| byte.is_ascii_digit()).count();
    let points = number.iter().filter(|byte| **byte == b'.').count();
    let is_number = number.first().is_some_and(u8::is_ascii_digit) && points <= 1 && digits + points == number.len();
    (is_number && !before.is_empty()).then_some((before, number))
}

impl Line<'_> {
    fn parts(&self) -> (&[u8], &[u8]) {
        let point = self.weight.iter().position(|byte| *byte == b'.').unwrap_or(self.weight.len());
        (&self.weight[..point], self.weight.get(point + 1..).unwrap_or_default())
    }

    /// Number of decimals, without trailing zeros.
    fn decimals(&self) -> usize {
        let (_, fraction) = self.parts();
        let kept = &fraction[..fraction.len().min(MAX_DECIMALS)];
        kept.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1)
    }

    /// The weight times ten to the power of `decimals`.
    fn weight(&self, decimals: usize) -> Option<u64> {
        let (whole, fraction) = self.parts();
        let digits = fraction.iter().copied().chain(std::iter::repeat(b'0')).take(decimals);
        whole
            .iter()
            .copied()
            .chain(digits)
            .try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
    }
}

/// Writes stacks in the order of their frames' labels, merging threads of the same name.
///
/// Lines are created one at a time, because together they can be far larger than the profile.
pub(super) fn write(profile: &Profile, out: &mut dyn Write) -> Result<(), FormatError> {
    let frames: Vec<String> = profile.frames.iter().map(|frame| plain(&label(frame))).collect();
    let threads: Vec<String> = profile.threads.iter().map(|thread| plain(&thread.name).replace(' ', "_")).collect();
    let names: BTreeSet<&str> = frames.iter().chain(&threads).map(String::as_str).chain([UNKNOWN]).collect();
    let number_of: HashMap<&str, u32> = names.iter().copied().zip(0..).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let mut weights: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
    for sample in &profile.samples {
        let thread = threads[sample.thread.0 as usize].as_str();
        let stack = profile.stack(sample.stack).iter().map(|id| number_of[frames[id.0 as usize].as_str()]);
        let named = (!thread.is_empty()).then(|| number_of[thread]);
        let mut key: Vec<u32> = named.into_iter().chain(stack).collect();
        // A line that consists only of a weight is unreadable.
        if key.iter().all(|name| names[*name as usize].is_empty()) && key.len() < 2 {
            key = vec![number_of[UNKNOWN]];
        }
        let weight = weights.entry(key).or_default();
        *weight = weight.saturating_add(sample.weight);
    }
    for (stack, weight) in weights {
        for (at, name) in stack.iter().enumerate() {
            let separator = if at == 0 { "" } else { ";" };
            write!(out, "{separator}{}", names[*name as usize])?;
        }
        writeln!(out, " {weight}")?;
    }
    Ok(())
}

/// A name without characters that end a frame or a line.
fn plain(name: &str) -> String {
    let shown = |c: char| match c {
        ';' => ':',
        c if c.is_control() => ' ',
        c => c,
    };
    name.chars().map(shown).collect::<String>().trim().to_owned()
}
