//! Shared code of the rule tests: facts made from text, and the evaluation of a rule.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::io;

use weir_diagnose::facts::nginx::{Files, Limits, NginxFacts, load};
use weir_diagnose::facts::{Facts, KernelFacts, ProcessFacts};
use weir_diagnose::finding::Finding;
use weir_diagnose::rules::{RULES, rule};
use weir_profile::Profile;

/// A profile of folded stacks.
pub fn profile(folded: &str) -> Profile {
    weir_profile::format::read(folded.as_bytes()).unwrap_or_else(|error| panic!("{error}: {folded}"))
}

/// Facts that consist of a profile of folded stacks.
pub fn folded(text: &str) -> Facts {
    Facts { seconds: 10.0, ..Facts::of_profile(profile(text)) }
}

/// An nginx of a version with a configuration.
pub fn nginx(version: &str, configuration: &str) -> NginxFacts {
    struct One<'t>(&'t str);
    impl Files for One<'_> {
        fn read(&self, path: &str, _: u64) -> io::Result<Vec<u8>> {
            if path == "/etc/nginx/nginx.conf" { Ok(self.0.into()) } else { Err(io::ErrorKind::NotFound.into()) }
        }
        fn list(&self, _: &str) -> io::Result<Vec<String>> {
            Err(io::ErrorKind::NotFound.into())
        }
    }
    let configuration = load(&One(configuration), "/etc/nginx/nginx.conf", "/etc/nginx", Limits::default());
    assert_eq!(configuration.errors, Vec::<String>::new());
    NginxFacts { version: version.into(), flavour: "nginx".into(), configuration, ..NginxFacts::default() }
}

/// Facts of a process.
pub fn process(process: ProcessFacts) -> Facts {
    Facts { seconds: 10.0, process: Some(process), ..Facts::default() }
}

/// Facts of a kernel.
pub fn kernel(kernel: KernelFacts) -> Facts {
    Facts { seconds: 10.0, kernel: Some(kernel), ..Facts::default() }
}

/// The finding of a rule, evaluated as in `weir diagnose`: only if its requirements are met.
pub fn ask(id: &str, facts: &Facts) -> Option<Finding> {
    let rule = rule(id).unwrap_or_else(|| panic!("no rule {id}"));
    if rule.needs.missing(facts).is_empty() { (rule.check)(facts) } else { None }
}

/// Ids of all rules with a finding.
pub fn speak(facts: &Facts) -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.id).filter(|id| ask(id, facts).is_some()).collect()
}

/// The whole text of a finding, for searching.
pub fn all_text(finding: &Finding) -> String {
    format!("{finding:?}")
}
