//! Routes that no request reaches.

use std::collections::BTreeSet;

use weir_gateway::shadow::Candidate;
use weir_resource::ResourceKind;

use super::{Search, route};
use crate::state::{Key, State};

/// The routes of a site; `None` if there are more than `most`.
pub(super) fn of_site(state: &State, site: &str, most: usize) -> Option<Vec<Candidate>> {
    let mut keys: Vec<&Key> = state.referrers(ResourceKind::Sites, site).take(most + 1).collect();
    if keys.len() > most {
        return None;
    }
    keys.sort_unstable();
    Some(keys.into_iter().filter_map(|key| Candidate::new(route(state, key)?)).collect())
}

impl Search<'_> {
    /// Finds the touched routes of a site that others shadow, and those that touched ones shadow.
    pub(super) fn shadowed(&mut self, site: &str, touched: &BTreeSet<String>) {
        let Some(routes) = of_site(self.state, site, self.bounds.routes) else { return };
        let is_touched = |one: &Candidate| touched.contains(&one.route().id);
        for one in &routes {
            let (key, id) = (Key::new(ResourceKind::Routes, &one.route().id), &one.route().id);
            if is_touched(one) && one.is_empty(&self.budget) {
                let message = format!("the route `{id}` is never chosen: its expression matches no path");
                self.add(key, "/path", message, "it must match the whole path, which begins with `/`");
                continue;
            }
            let mut others = routes.iter().filter(|other| is_touched(one) || is_touched(other));
            if let Some(other) = others.find(|other| other.shadows(one, &self.budget)) {
                let (by, why) = (&other.route().id, other.reason(one));
                let message = format!(
                    "the route `{id}` is never chosen: the route `{by}` takes every request that it matches ({why})"
                );
                let hint = format!("give `{id}` a `priority` above {}, or delete one of them", other.route().priority);
                self.add(key, "/path", message, hint);
            }
        }
    }
}
