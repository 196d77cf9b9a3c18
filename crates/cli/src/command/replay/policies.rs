//! The policies that a request gets: those named on the command line; else, of the files of a gateway, those of its
//! route, found as nginx's workers find it; else all of the policy file.

use std::sync::Arc;

use weir_engine::Plan;
use weir_gateway::{Found, Gateway, RequestView, View};
use weir_http::Transaction;

use crate::Failure;
use crate::command::rules::Chosen;

/// Policies for one request.
pub(super) struct Policies {
    /// Their ids.
    pub names: Vec<String>,
    /// All of them, compiled.
    pub plan: Arc<Plan>,
    /// Ids of its site and route in a gateway.
    pub site: Option<String>,
    pub route: Option<String>,
    /// Why it has none.
    pub note: Option<String>,
}

impl Policies {
    /// Those of a request; `named` are ids of the command line.
    pub fn of(chosen: &Chosen, named: &[String], request: &Transaction<'_>) -> Result<Self, Failure> {
        let gateway = chosen.gateway.as_ref().filter(|_| named.is_empty());
        let mut found =
            gateway.map_or_else(|| Place::of_names(named), |files| Place::of(&files.gateway, &View(request)));
        if found.names.is_empty() && gateway.is_none_or(|files| files.gateway.sites().next().is_none()) {
            found.names = chosen.snapshot.policy_names().map(str::to_owned).collect();
        }
        let names: Vec<&str> = found.names.iter().map(String::as_str).collect();
        let plan = chosen.snapshot.plan(&names).map_err(|error| {
            let failure = Failure::new(format!("{}: {error}", chosen.name));
            if named.is_empty() { failure.hint("--policy-id names those to use") } else { failure }
        })?;
        let Place { names, site, route, note } = found;
        Ok(Self { names, plan, site, route, note })
    }

    /// In a line, for people; `None` if it is always the same.
    pub fn sentence(&self) -> Option<String> {
        let of = match (&self.site, &self.route) {
            (Some(site), Some(route)) => format!("route {route} of site {site}"),
            (Some(site), None) => format!("site {site}"),
            (None, _) => return None,
        };
        Some(match self.names.as_slice() {
            [] => format!("{of}: no policy"),
            [only] => format!("{of}: policy {only}"),
            several => format!("{of}: policies {}", several.join(", ")),
        })
    }
}

/// Where a request belongs in a gateway.
#[derive(Default)]
struct Place {
    names: Vec<String>,
    site: Option<String>,
    route: Option<String>,
    note: Option<String>,
}

impl Place {
    fn of_names(names: &[String]) -> Self {
        Self { names: names.to_vec(), ..Self::default() }
    }

    fn of(gateway: &Gateway, request: &dyn RequestView) -> Self {
        let site = gateway.site(request.host());
        let answer = match gateway.route(request) {
            Found::Route(matched) => {
                let (site, route) = (&matched.site.spec().id, &matched.route.spec().id);
                let names = matched.policies(gateway).names().to_vec();
                return Self { names, site: Some(site.clone()), route: Some(route.clone()), note: None };
            }
            Found::NoSite => "has no site for this host and answers 404",
            Found::NoRoute => "has no route for this request and answers 404",
            Found::MethodNotAllowed { .. } => "has no route for this method and answers 405",
        };
        let policies = site.and_then(|site| site.policies()).unwrap_or_else(|| gateway.default_policies());
        let whose = if site.is_some() { "site" } else { "settings" };
        Self {
            names: policies.names().to_vec(),
            site: site.map(|site| site.spec().id.clone()),
            route: None,
            note: gateway.sites().next().map(|_| {
                format!("the gateway {answer} before any rule runs; here it gets the policies of the {whose}")
            }),
        }
    }
}
