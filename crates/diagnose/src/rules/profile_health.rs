//! `profile-incomplete`: the other rules are only as good as the profile.

use weir_profile::Health;

use super::nginx::again;
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Confidence, Finding, Severity, percent};
use weir_profile::amount::counted;

pub(super) const INCOMPLETE: Rule = Rule {
    id: "profile-incomplete",
    title: "The profile is incomplete",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "numbers of samples, lost samples, cut or not unwound stacks, frames without a name, unread Lua stacks",
    threshold: "below 100 samples (a share of 5 % is then 3 to 7 %); from 1 % lost, 5 % of the stacks incomplete, half of the frames \
                nameless, or 5 % of the Lua stacks unread: from there on shares shift by as much as the other rules' thresholds",
    check,
};

/// Below this number of samples, shares are random.
const FEW: u64 = 100;

fn check(facts: &Facts) -> Option<Finding> {
    let profile = facts.profile.as_ref()?;
    let samples: u64 = profile.samples.iter().map(|sample| sample.count).sum();
    let defects = defects(&profile.health, samples);
    let (first, fix) = defects.first().map(|defect| (defect.0.clone(), defect.1))?;
    let mut finding = Finding::new(
        INCOMPLETE.id,
        format!("The profile is incomplete, and other findings may be wrong or missing: {first}."),
    )
    .severity(Severity::Note)
    .confidence(Confidence::Certain)
    .figure("samples", samples);
    for (defect, _) in &defects[1..] {
        finding = finding.figure("also", defect);
    }
    Some(finding.fix(fix).verify(again(facts, INCOMPLETE.id)))
}

/// The defects of the profile, worst first, with advice.
fn defects(health: &Health, samples: u64) -> Vec<(String, &'static str)> {
    #[allow(clippy::cast_precision_loss, reason = "counts of samples")]
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let broken = health.truncated + health.failed;
    let (lost, incomplete) =
        (share(health.lost, health.samples + health.lost), share(broken, health.complete + broken));
    let (unknown, unread) =
        (share(health.unknown_frames, health.frames), share(health.lua - health.lua_read.min(health.lua), health.lua));
    [
        (samples < FEW, format!("only {}", counted(samples, "sample")), "sample longer (--seconds 30), and while it is under load"),
        (lost > 0.01, format!("{} of the samples were lost", percent(lost)), "sample fewer processes at once, or less often"),
        (
            incomplete > 0.05,
            format!("{} of the stacks are incomplete ({} cut, {} not unwound)", percent(incomplete), health.truncated, health.failed),
            "if stacks are deep, capture more (weir profile --stack-bytes 65528); if code has no unwind tables, build it with \
             -fasynchronous-unwind-tables",
        ),
        (unknown > 0.5, format!("{} of the frames have no name", percent(unknown)), "install debug symbols (nginx-dbg, libluajit2-5.1-2-dbgsym, debuginfod)"),
        (
            unread > 0.05,
            format!("{} of the Lua stacks could not be read", percent(unread)),
            "check whether Weir supports this LuaJIT: weir profile states which one it found",
        ),
    ]
    .into_iter()
    .filter_map(|(is_so, what, fix)| is_so.then_some((what, fix)))
    .collect()
}
