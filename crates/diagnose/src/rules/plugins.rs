//! `modsecurity-share`, `weir-share`: the cost of inspection. Inspection is intended, so the
//! finding states its cost and where to look closer, not that it is wrong.

use super::nginx::again;
use super::stacks::Stacks;
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Confidence, Finding, Severity, percent};

pub(super) const MODSECURITY: Rule = Rule {
    id: "modsecurity-share",
    title: "ModSecurity takes much of the CPU",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time below `ngx_http_modsecurity_*` and in libmodsecurity",
    threshold: "from 15 % of the CPU: from there on, the way rules are run determines how many requests a machine serves",
    check: modsecurity,
};

pub(super) const WEIR: Rule = Rule {
    id: "weir-share",
    title: "Weir takes much of the CPU",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time in Weir's module",
    threshold: "from 20 % of the CPU: a policy with a few rules takes 1 to 3 %, the Core Rule Set at paranoia level 1 more",
    check: weir,
};

fn modsecurity(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let library = stacks.in_module(&["libmodsecurity", "ngx_http_modsecurity_module"]);
    let named = stacks.named(&["ngx_http_modsecurity_*", "msc_*", "modsecurity::*", "_ZN11modsecurity*"]);
    let part = stacks.part(|stack| library.any(stack) || named.any(stack));
    part.reaches(0.15, 10).then(|| {
        Finding::new(MODSECURITY.id, format!("{} of the CPU goes to ModSecurity.", percent(part.share)))
            .severity(Severity::Note)
            .confidence(Confidence::Certain)
            .share(part.share)
            .with(stacks.call_paths(&named, 3))
            .fix(
                "see which rules cost most and exclude them where they do not apply (ctl:ruleRemoveById); do not pass bodies that need no \
                 inspection (SecRequestBodyAccess, SecResponseBodyAccess Off); Weir runs the same rules: docs/from-modsecurity.md",
            )
            .verify(again(facts, MODSECURITY.id))
    })
}

fn weir(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let module = stacks.in_module(&["ngx_http_weir_module", "libweir_nginx"]);
    let named = stacks.named(&[
        "weir_engine::*",
        "weir_nginx::*",
        "weir_rules::*",
        "weir_policy::*",
        "weir_http::*",
        "weir_detect::*",
        "weir_transform::*",
    ]);
    let part = stacks.part(|stack| module.any(stack) || named.any(stack));
    part.reaches(0.2, 10).then(|| {
        Finding::new(WEIR.id, format!("{} of the CPU goes to Weir.", percent(part.share)))
            .severity(Severity::Note)
            .confidence(Confidence::Certain)
            .share(part.share)
            .with(stacks.call_paths(&named, 3))
            .fix("weir cost ranks rules by CPU time; weir ablate measures the effect of each under load")
            .verify("weir cost --top 10")
    })
}
