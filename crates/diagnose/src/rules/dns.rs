//! `dns-at-request-time`: host names are resolved while requests wait.

use super::nginx::{again, configuration, place};
use super::stacks::Stacks;
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::facts::nginx::PassTarget;
use crate::finding::{Confidence, Finding, percent};

pub(super) const AT_REQUEST_TIME: Rule = Rule {
    id: "dns-at-request-time",
    title: "Names are resolved at request time",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time in nginx's resolver, `proxy_pass` and similar directives with variables, and `resolver ... valid=`",
    threshold: "from 2 % of the CPU in the resolver: with answers that are valid for more than a few seconds it is negligible, \
                at any load",
    check,
};

fn check(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let resolver = stacks.named(&["ngx_resolver_*", "ngx_resolve_*", "ngx_udp_connect"]);
    let part = stacks.under(&resolver);
    if !part.reaches(0.02, 5) {
        return None;
    }
    let scopes = configuration(facts).map(|configuration| configuration.locations()).unwrap_or_default();
    let pass = scopes.iter().find_map(|scope| {
        let pass = scope.passes().into_iter().find(|pass| matches!(pass.target, PassTarget::Variable(_)))?;
        Some((pass.directive, scope.effective("resolver")))
    });
    let sentence = format!("{} of the CPU goes to resolving names while requests wait for them.", percent(part.share));
    let places = pass.iter().flat_map(|(pass, resolver)| std::iter::once(*pass).chain(*resolver)).map(place);
    Some(
        Finding::new(AT_REQUEST_TIME.id, sentence)
            .confidence(if pass.is_some() { Confidence::Certain } else { Confidence::Likely })
            .share(part.share)
            .with(places)
            .with(stacks.callers(&resolver, 2))
            .fix(
                "name the servers in an upstream block, which nginx resolves when it reads its configuration; or let answers \
                 live longer: resolver ADDRESS valid=60s; and give the upstream block a `zone` and `server NAME resolve;` \
                 (nginx 1.27.3 and later)",
            )
            .verify(again(facts, AT_REQUEST_TIME.id)),
    )
}
