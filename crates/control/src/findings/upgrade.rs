//! What a store from before routes and policies had their present order means now: said once, when control starts.
//!
//! Expressions used to lose to every prefix, and lists of policies were sorted by id.

use weir_gateway::resource::{PathMatch, Route};
use weir_gateway::shadow::{Budget, Candidate};
use weir_resource::ResourceKind;

use super::{resource, routes};
use crate::state::{Key, State};

/// The mark of states whose differences have been said.
pub const MARK: &str = "order_said";

/// Lines that are said at most.
const MAX_LINES: usize = 1_000;
/// Routes of a site that are compared.
const MAX_ROUTES: usize = 5_000;
/// Paths that are made into automata.
const MAX_AUTOMATA: usize = 20_000;

/// What differs, a line each.
#[must_use]
pub fn differences(state: &State) -> Vec<String> {
    let mut lines: Vec<String> = policies(state).collect();
    let budget = Budget::new(MAX_AUTOMATA);
    for (site, _) in state.iter(ResourceKind::Sites, None) {
        match routes::of_site(state, site, MAX_ROUTES) {
            Some(routes) => lines.extend(winners(site, &routes, &budget)),
            None => lines.push(format!("the site `{site}` has more than {MAX_ROUTES} routes; compare them yourself")),
        }
    }
    let more = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    if more > 0 {
        lines.push(format!("and {more} differences more"));
    }
    lines
}

/// Lists of policies that are not in the order of ids.
fn policies(state: &State) -> impl Iterator<Item = String> {
    let kinds = [ResourceKind::Settings, ResourceKind::Sites, ResourceKind::Routes];
    let all = kinds.into_iter().flat_map(|kind| state.iter(kind, None).map(move |(id, held)| (kind, id, held)));
    all.filter_map(|(kind, id, held)| {
        // Few documents name policies: the others need not be read.
        let found = held.document.references.iter().any(|one| one.kind == ResourceKind::Policies);
        let resource = found.then(|| resource(held)).flatten()?;
        let names = resource.policies()?;
        let now = names.join(", ");
        (!names.is_sorted()).then(|| {
            let mut before = names.to_vec();
            before.sort_unstable();
            format!("{}: policies run in the order {now}; before, {}", Key::new(kind, id), before.join(", "))
        })
    })
}

/// Expressions that take requests from prefixes.
fn winners(site: &str, routes: &[Candidate], budget: &Budget) -> Vec<String> {
    let is = |one: &&Candidate, wanted: fn(&PathMatch) -> bool| wanted(&one.route().matches.path);
    let prefixes: Vec<&Candidate> =
        routes.iter().filter(|one| is(one, |path| matches!(path, PathMatch::Prefix(_)))).collect();
    let expressions = routes.iter().filter(|one| is(one, |path| matches!(path, PathMatch::Regex(_))));
    let mut lines = Vec::new();
    for one in expressions {
        let same = |other: &&&Candidate| {
            let (own, others) = (one.route(), other.route());
            own.priority == others.priority && share_a_method(own, others) && one.overlaps(other, budget)
        };
        let losers: Vec<&str> = prefixes.iter().filter(same).map(|other| other.route().id.as_str()).collect();
        if !losers.is_empty() {
            lines.push(format!(
                "/routes/{}: its expression now goes before the prefixes of `{}` in the site `{site}`",
                one.route().id,
                losers.join("`, `")
            ));
        }
    }
    lines
}

fn share_a_method(left: &Route, right: &Route) -> bool {
    let (left, right) = (&left.matches.methods, &right.matches.methods);
    left.is_empty() || right.is_empty() || left.iter().any(|method| right.contains(method))
}
