//! `build-unoptimised`, `build-no-tail-calls`: code built for a debugger costs twice as much.
//!
//! nginx's filters end in a call of the next one. With `-O2` that is a jump and leaves nothing on the stack; at lower
//! levels each filter keeps its frame, which costs memory traffic and makes graphs deep.

use super::nginx::again;
use super::stacks::{Stacks, is_named};
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::facts::build::{BinaryKind, BuildFacts, OptimisationLevel, OptimisationSource, TailCalls};
use crate::finding::{Confidence, Evidence, Finding, Severity, percent};

pub(super) const UNOPTIMISED: Rule = Rule {
    id: "build-unoptimised",
    title: "A binary was built without optimisation",
    needs: RuleNeeds::All(&[FactSource::Binaries]),
    looks_at: "the compiler's flags in the debug information, otherwise patterns in the machine code (arguments and \
               locals in memory, jumps at the end of functions), of the executable, its modules, LuaJIT, and libraries with CPU time",
    threshold: "when a binary was built with `-O0` at a confidence of 0.7; libraries only from 2 % of the CPU, because \
                others do not matter",
    check: unoptimised,
};

pub(super) const NO_TAIL_CALLS: Rule = Rule {
    id: "build-no-tail-calls",
    title: "A binary was built without optimised tail calls (-O1, -Og)",
    needs: RuleNeeds::Any(&[FactSource::Profile, FactSource::Binaries]),
    looks_at: "the same, and the number of nginx filters on one stack",
    threshold: "when a binary has no tail calls at a confidence of 0.7, or at least 7 filters are on one stack in 1 % of the CPU: \
                with tail calls there are at most 5",
    check: no_tail_calls,
};

/// Minimum confidence for judging a binary.
const CONFIDENCE: f64 = 0.7;
/// Minimum share of CPU at which a library matters.
const LIBRARY_SHARE: f64 = 0.02;
/// Number of filters on one stack that proves that their final calls are not jumps.
const FILTERS: usize = 7;

fn unoptimised(facts: &Facts) -> Option<Finding> {
    let (worst, share) = worst(facts, |build| build.optimisation.level == OptimisationLevel::O0)?;
    let sentence = format!("{} was built without optimisation (-O0).", worst.path);
    Some(describe(facts, UNOPTIMISED.id, worst, share, sentence).severity(Severity::Serious))
}

fn no_tail_calls(facts: &Facts) -> Option<Finding> {
    let found = worst(facts, |build| {
        build.optimisation.tail_calls == TailCalls::Missing && build.optimisation.level != OptimisationLevel::O0
    });
    if let Some((worst, share)) = found {
        let sentence = format!("{} was built without optimised tail calls (-O1 or -Og, not -O2).", worst.path);
        return Some(
            describe(facts, NO_TAIL_CALLS.id, worst, share, sentence).with(filters(facts).map(|found| found.1)),
        );
    }
    // If a binary could be judged, its code is better evidence than the depth of stacks.
    let judged = facts.executable().is_some_and(|build| build.optimisation.level != OptimisationLevel::Unknown);
    let (share, evidence) = filters(facts).filter(|_| !judged)?;
    Some(
        Finding::new(NO_TAIL_CALLS.id, "nginx's filters are nested on the stack: it was built without tail calls.")
            .confidence(Confidence::Possible)
            .share(share)
            .with([evidence])
            .fix("build nginx with -O2: ./configure --with-cc-opt='-O2' ...")
            .verify(again(facts, NO_TAIL_CALLS.id)),
    )
}

/// The binary with most CPU time among those that satisfy a test.
fn worst(facts: &Facts, bad: impl Fn(&BuildFacts) -> bool) -> Option<(&BuildFacts, Option<f64>)> {
    let share = |build: &BuildFacts| own_share(facts, &build.path);
    let mut found: Vec<_> = facts
        .binaries
        .iter()
        .filter(|build| bad(build) && build.optimisation.confidence >= CONFIDENCE)
        .map(|build| (build, share(build)))
        .filter(|(build, share)| {
            let ours = matches!(build.kind, BinaryKind::Executable | BinaryKind::NginxModule);
            ours || share.is_some_and(|share| share >= LIBRARY_SHARE)
        })
        .collect();
    found.sort_by(|one, other| other.1.unwrap_or(0.0).total_cmp(&one.1.unwrap_or(0.0)));
    found.into_iter().next()
}

/// The share of time in a binary's own code.
fn own_share(facts: &Facts, path: &str) -> Option<f64> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let own = stacks.frames(|frame| frame.module == path);
    Some(stacks.part(|stack| own.leaf(stack)).share)
}

fn describe(facts: &Facts, rule: &'static str, build: &BuildFacts, share: Option<f64>, sentence: String) -> Finding {
    let optimisation = &build.optimisation;
    let mut finding = Finding::new(rule, sentence)
        .confidence(match optimisation.source {
            OptimisationSource::DebugInformation => Confidence::Certain,
            _ if optimisation.confidence >= 0.9 => Confidence::Certain,
            _ => Confidence::Likely,
        })
        .figure("why", format!("{} (confidence {:.2})", optimisation.reason, optimisation.confidence))
        .fix("build it with -O2 (gcc and clang): for nginx ./configure --with-cc-opt='-O2' ..., for a module the same, for Rust \
              cargo build --release")
        .verify(again(facts, rule));
    if let Some(share) = share {
        finding = finding.share(share).figure("CPU in its own code", percent(share));
    }
    let flags = &build.configured_flags;
    if flags.is_empty() { finding } else { finding.figure("nginx -V asks for", flags) }
}

/// The time with many filters on the stack, and an example of such a stack.
fn filters(facts: &Facts) -> Option<(f64, Evidence)> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let filter = stacks.frames(|frame| is_named(&frame.name, &["ngx_http_*"]) && is_named(&frame.name, &["*_filter"]));
    let deep = stacks.part(|stack| stack.iter().filter(|&&frame| filter.has(frame)).count() >= FILTERS);
    let figure = Evidence::Figure {
        name: format!("{FILTERS} or more filters on the stack"),
        value: format!("in {} of the CPU", percent(deep.share)),
    };
    deep.reaches(0.01, 5).then_some((deep.share, figure))
}
