//! Everyone who runs the Core Rule Set, one row each.
//!
//! All block, with CRS's own thresholds but for paranoia 2 and 4: ordinary texts with quotes score up
//! to 25 points at 2 and the attack 146; at 4 spaces and umlauts score too, and the JSON document has
//! 262 points, the attack 322. A site that runs at these levels tunes them, as is done here with the
//! threshold; the work does not depend on it.

use std::path::Path;

use super::coraza;
use crate::conformance::case::is_checkout;
use crate::conformance::engine::{CRS, SETUP, modsecurity_rules};
use weir_measure::error::MeasureError;
use weir_measure::nginx::{self, NginxParts};
use weir_measure::server::Server;
use weir_measure::site::{Site, write};

/// The row that all ratios refer to.
pub const BASELINE: &str = "nginx";
/// The row that the growth groups look at.
pub const USUAL: &str = "weir-pl1";
const MODSECURITY_MODULE: &str = "ngx_http_modsecurity_module.so";

/// A row of the comparison.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Its name in the results.
    pub name: &'static str,
    /// The engine that runs the rules.
    pub kind: Engine,
}

/// The engine that runs the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Nothing: the bare proxy.
    Nginx,
    /// ModSecurity v3 in nginx, paranoia 1.
    ModSecurity,
    /// Coraza behind Go's proxy, with the CRS 4 of its own module, paranoia 1.
    Coraza,
    /// Weir.
    Weir {
        /// Whether it runs CRS 4, that of Coraza's row or of a checkout, and not the packaged one.
        crs4: bool,
        /// Paranoia level.
        paranoia: u8,
        /// Score at which a request is refused.
        threshold: u32,
    },
}

/// The table.
pub const VARIANTS: &[Variant] = &[
    Variant { name: BASELINE, kind: Engine::Nginx },
    Variant { name: "modsecurity", kind: Engine::ModSecurity },
    Variant { name: "coraza", kind: Engine::Coraza },
    Variant { name: USUAL, kind: Engine::Weir { crs4: false, paranoia: 1, threshold: 5 } },
    Variant { name: "weir-pl2", kind: Engine::Weir { crs4: false, paranoia: 2, threshold: 50 } },
    Variant { name: "weir-pl4", kind: Engine::Weir { crs4: false, paranoia: 4, threshold: 310 } },
    Variant { name: "weir-crs4", kind: Engine::Weir { crs4: true, paranoia: 1, threshold: 5 } },
];

impl Variant {
    /// Whether it refuses attacks.
    #[must_use]
    pub fn refuses(&self) -> bool {
        self.kind != Engine::Nginx
    }

    /// Starts it under the name of a row in front of the origin. `checkout` may be one of CRS 4.
    /// [`MeasureError::Missing`] if it is not installed here.
    pub fn start(&self, site: &Site, name: &str, checkout: &Path) -> Result<Server, MeasureError> {
        match self.kind {
            Engine::Nginx => nginx::start_proxy(site, name, NginxParts::default()),
            Engine::ModSecurity => modsecurity(site, name),
            Engine::Coraza => coraza::start(site, name),
            Engine::Weir { crs4, paranoia, threshold } => {
                let action = match crs4 {
                    true => crs4_action(site, checkout, paranoia, threshold)?,
                    false => packaged(paranoia, threshold)?,
                };
                weir(site, name, &weir_policy(&action), "weir_apply crs;")
            }
        }
    }
}

fn packaged_rules() -> Result<(), MeasureError> {
    match Path::new(CRS).exists() {
        true => Ok(()),
        false => Err(MeasureError::Missing(format!("{CRS} is not there; `scripts/setup.sh bench` installs it"))),
    }
}

/// The action that runs the packaged CRS; [`MeasureError::Missing`] if that is not installed.
pub fn packaged(paranoia: u8, threshold: u32) -> Result<String, MeasureError> {
    packaged_rules().map(|()| crs_action(paranoia, threshold, ""))
}

/// The action that runs CRS 4: of the checkout that the conformance cases come from, if it is one, else the rules that
/// Coraza's row has.
fn crs4_action(site: &Site, checkout: &Path, paranoia: u8, threshold: u32) -> Result<String, MeasureError> {
    let (rules, setup) = match is_checkout(checkout) {
        true => (std::fs::canonicalize(checkout).map_err(MeasureError::file(checkout))?, "crs-setup.conf.example"),
        false => (coraza::rules(site)?, "crs-setup.conf"),
    };
    Ok(action(&rules, &rules.join(setup), paranoia, threshold, ""))
}

fn modsecurity(site: &Site, name: &str) -> Result<Server, MeasureError> {
    packaged_rules()?;
    let modules = site.nginx_modules(&[MODSECURITY_MODULE])?;
    let rules = site.directory_of(name)?.join("rules.conf");
    write(&rules, &modsecurity_rules("On", Path::new(CRS), Path::new(SETUP)))?;
    let server = format!("    modsecurity on;\n    modsecurity_rules_file {};\n", rules.display());
    nginx::start_proxy(site, name, NginxParts { modules, server, ..NginxParts::default() })
}

/// Starts nginx with Weir and a policy.
pub fn weir(site: &Site, name: &str, policy: &str, apply: &str) -> Result<Server, MeasureError> {
    let file = site.write_policy(name, policy, &[])?;
    let runtime = site.directory_of(name)?.join("run");
    let parts = NginxParts {
        modules: vec![site.module_of(name)?],
        http: format!("  weir_policy {};\n  weir_runtime {};\n", file.display(), runtime.display()),
        // The body rows want a megabyte inspected, not waved through.
        server: format!("    weir on;\n    {apply}\n    weir_body_limit 2m;\n"),
        ..NginxParts::default()
    };
    nginx::start_proxy(site, name, parts)
}

/// A policy of this one action.
#[must_use]
pub fn weir_policy(action: &str) -> String {
    format!(
        "policies:\n  - id: crs\n    rules:\n      - id: crs\n        when: \"true\"\n        action: {{{action}}}\n"
    )
}

/// The action that runs CRS as Debian packages it. `more` is added to its settings.
#[must_use]
pub fn crs_action(paranoia: u8, threshold: u32, more: &str) -> String {
    action(Path::new(CRS), Path::new(SETUP), paranoia, threshold, more)
}

fn action(rules: &Path, setup: &Path, paranoia: u8, threshold: u32, more: &str) -> String {
    let (rules, setup) = (rules.display(), setup.display());
    format!(
        "crs: {{path: {rules}, setup: {setup}, paranoia: {paranoia}, inbound_threshold: {threshold}, outbound_threshold: 4{more}}}"
    )
}

/// A policy of `count` sites, told apart by host, each with its own paranoia, threshold and
/// exclusions over the one rule set.
#[must_use]
pub fn sites_policy(count: usize) -> String {
    let mut text = String::from("policies:\n  - id: crs\n    selectors:\n");
    for index in 0..count {
        let more = format!(
            ", exclude: [{{rule: 942100, target: \"ARGS:comment{index}\", when: 'http.request.uri.path eq \"/post/{index}\"'}}, \
             {{rule: 941100, target: \"ARGS:html{index}\"}}]"
        );
        text.push_str(&format!(
            "      - id: site-{index}\n        when: 'http.host eq \"site-{index}.example.com\"'\n        rules:\n          \
             - id: crs-{index}\n            when: \"true\"\n            action: {{{}}}\n",
            crs_action(1, 5 + u32::try_from(index % 10).unwrap_or(0), &more)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_policy::Snapshot;

    #[test]
    fn weir_accepts_the_policy_of_every_row_and_of_many_sites() {
        let policies = [weir_policy(&crs_action(1, 5, "")), weir_policy(&crs_action(4, 310, "")), sites_policy(20)];
        for text in policies {
            let snapshot = Snapshot::parse(&text, Path::new("policy.yaml")).unwrap_or_else(|errors| panic!("{errors}"));
            assert!(snapshot.plan(&["crs"]).is_ok());
        }
    }
}
