//! What is odd about a configuration and refuses nothing: routes that no request reaches, sites without routes or
//! certificates, upstreams without members.
//!
//! A change is looked at after it has been published, while workers apply it, and only where it touches something. What
//! would cost more than [`Bounds`] is not looked for: a change answers in the same time in a gateway of any size.

mod certificates;
mod routes;
pub mod upgrade;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use weir_gateway::op::Op;
use weir_gateway::resource::{Resource, Route, RouteAction, Upstream};
use weir_gateway::shadow::Budget;
use weir_resource::{Fault, ResourceKind};

use crate::state::{Delta, Held, Key, State};

/// How much is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// A site with more routes is not searched for routes that others shadow.
    pub routes: usize,
    /// With more certificates, those without a name (`tls.certificate`) are not looked at.
    pub certificates: usize,
    /// Paths that are made into automata.
    pub automata: usize,
    /// Whether resources that are not there may be elsewhere: in other files, or in the gateway.
    pub is_part: bool,
}

impl Bounds {
    /// For the answer to a change: a millisecond or two.
    pub const CHANGE: Self = Self { routes: 256, certificates: 256, automata: 128, is_part: false };
    /// For a file that a person waits for.
    pub const FILE: Self = Self { routes: 2_000, certificates: 10_000, automata: 10_000, is_part: true };
}

/// Something odd about a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The resource.
    pub key: Key,
    /// What it is; the pointer is one within the document.
    pub fault: Fault,
}

/// Findings that one answer lists at most.
const MAX_FINDINGS: usize = 100;

/// What is odd about the resources that a change has touched, and about others because of it.
#[must_use]
pub fn of(state: &State, deltas: &[Delta], bounds: Bounds) -> Vec<Finding> {
    let mut search = Search { state, bounds, budget: Budget::new(bounds.automata), found: Vec::new() };
    let places = Places::of(state, deltas);
    places.routes.iter().for_each(|(site, touched)| search.shadowed(site, touched));
    places.sites.iter().for_each(|site| search.site_without_routes(site));
    places.upstreams.iter().for_each(|upstream| search.upstream_without_members(upstream));
    search.certificates(&places.tls, &places.certificates);
    search.found
}

/// Where to look, by ids.
#[derive(Default)]
struct Places {
    /// Sites whose routes have changed, and these routes.
    routes: BTreeMap<String, BTreeSet<String>>,
    sites: BTreeSet<String>,
    upstreams: BTreeSet<String>,
    tls: BTreeSet<String>,
    certificates: BTreeSet<String>,
}

impl Places {
    fn of(state: &State, deltas: &[Delta]) -> Self {
        /// Sites that are looked at after a change of the settings.
        const SITES: usize = 256;
        let mut places = Self::default();
        for Delta { key, old, new } in deltas {
            let id = || key.id.to_string();
            match key.kind {
                ResourceKind::Routes => {
                    places.sites.extend(referred(old, ResourceKind::Sites));
                    for site in referred(new, ResourceKind::Sites) {
                        places.routes.entry(site).or_default().insert(id());
                    }
                    places.upstreams.extend(referred(new, ResourceKind::Upstreams));
                }
                ResourceKind::Sites => {
                    places.sites.insert(id());
                    places.tls.insert(id());
                }
                ResourceKind::Upstreams => _ = places.upstreams.insert(id()),
                ResourceKind::Members => places.upstreams.extend(key.upstream().map(str::to_owned)),
                ResourceKind::Certificates => {
                    places.certificates.insert(id());
                    places.tls.extend(certificates::users(state, key, [old, new]));
                }
                ResourceKind::Settings
                    if referred(old, ResourceKind::Certificates) != referred(new, ResourceKind::Certificates) =>
                {
                    places.tls.extend(state.iter(ResourceKind::Sites, None).take(SITES).map(|(id, _)| id.to_string()));
                }
                ResourceKind::Settings
                | ResourceKind::Files
                | ResourceKind::Lists
                | ResourceKind::RuleSets
                | ResourceKind::Inspectors
                | ResourceKind::Consumers
                | ResourceKind::Topics
                | ResourceKind::Policies => {}
            }
        }
        places
    }
}

/// The resources of a kind that a document refers to.
fn referred(held: &Option<Held>, kind: ResourceKind) -> Vec<String> {
    let references = held.iter().flat_map(|held| &held.document.references);
    references.filter(|reference| reference.kind == kind).map(|reference| reference.id.clone()).collect()
}

/// What workers get of a document.
fn resource(held: &Held) -> Option<Resource> {
    match serde_json::from_slice(held.document.frame.as_deref()?).ok()? {
        Op::Put(resource) => Some(resource),
        Op::Delete { .. } | Op::Health { .. } | Op::Addresses { .. } => None,
    }
}

struct Search<'s> {
    state: &'s State,
    bounds: Bounds,
    budget: Budget,
    found: Vec<Finding>,
}

impl Search<'_> {
    fn add(&mut self, key: Key, pointer: &str, message: String, hint: impl Into<String>) {
        let fault = Fault { pointer: pointer.to_owned(), message, hint: Some(hint.into()), ..Fault::default() };
        let finding = Finding { key, fault };
        if self.found.len() < MAX_FINDINGS && !self.found.contains(&finding) {
            self.found.push(finding);
        }
    }

    /// Whether what is not there is really missing.
    fn knows(&self, kind: ResourceKind) -> bool {
        !self.bounds.is_part || self.state.count(kind) > 0
    }

    fn site_without_routes(&mut self, site: &str) {
        let key = Key::new(ResourceKind::Sites, site);
        let has_routes = self.state.referrers(key.kind, site).next().is_some();
        if self.state.get(key.kind, site).is_some() && !has_routes && self.knows(ResourceKind::Routes) {
            let message = format!("the site `{site}` has no routes: every request gets 404");
            self.add(key, "", message, format!("add a route with `site: {site}`, or delete the site"));
        }
    }

    fn upstream_without_members(&mut self, id: &str) {
        let key = Key::new(ResourceKind::Upstreams, id);
        if self.state.members(id).next().is_some() {
            return;
        }
        let Some(Resource::Upstream(Upstream { fallback: None, .. })) = self.state.get(key.kind, id).and_then(resource)
        else {
            return;
        };
        let sends = |route: &Route| match &route.action {
            RouteAction::Forward(forward) => forward.split.iter().any(|side| side.upstream == id && side.weight > 0),
            RouteAction::Redirect { .. } | RouteAction::Respond { .. } | RouteAction::Messages(_) => false,
        };
        let mut routes = self.state.referrers(key.kind, id).filter_map(|user| route(self.state, user));
        if let Some(Route { id: user, .. }) = routes.find(sends) {
            let message =
                format!("the upstream `{id}` has no members: requests of the route `{user}` are answered with 503");
            self.add(key, "", message, "add a member, or a `fallback`");
        }
    }
}

/// A route by its key.
fn route(state: &State, key: &Key) -> Option<Route> {
    match state.get(ResourceKind::Routes, &key.id).filter(|_| key.kind == ResourceKind::Routes).and_then(resource)? {
        Resource::Route(route) => Some(route),
        _ => None,
    }
}

/// Seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
