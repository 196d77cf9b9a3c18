//! The Core Rule Set loads completely: Debian's, if it is installed, and any other given by
//! `CRS_RULES` (its directory of rules) and `CRS_SETUP` (its setup file).

use std::path::{Path, PathBuf};

use weir_rules::seclang::ir::RuleSetEntry;
use weir_rules::seclang::{Options, RuleSource, Severity, load};

const DEBIAN_RULES: &str = "/usr/share/modsecurity-crs/rules";
const DEBIAN_SETUP: &str = "/etc/modsecurity/crs/crs-setup.conf";

/// Lines that begin a rule, an action or a marker, counted without any parser.
fn plain_count(files: &[PathBuf], directive: &str) -> usize {
    let begins =
        |line: &&str| line.trim_start().strip_prefix(directive).is_some_and(|rest| rest.starts_with([' ', '\\']));
    let count = |path: &PathBuf| {
        let bytes = std::fs::read(path).expect("readable");
        String::from_utf8_lossy(&bytes).lines().filter(begins).count()
    };
    files.iter().map(count).sum()
}

fn check(rules: &Path, setup: &Path) {
    let roots = [RuleSource::File(setup.to_path_buf()), RuleSource::File(rules.join("*.conf"))];
    let loaded = load(&roots, &Options::default()).unwrap_or_else(|problems| {
        let text: Vec<String> = problems.iter().map(ToString::to_string).collect();
        panic!("{}", text.join("\n"));
    });
    let listed = std::fs::read_dir(rules).expect("a directory").map(|entry| entry.expect("readable").path());
    let mut files: Vec<PathBuf> = listed.filter(|path| path.extension().is_some_and(|end| end == "conf")).collect();
    files.push(setup.to_path_buf());

    let (mut links, mut actions, mut markers) = (0, 0, 0);
    for entry in &loaded.set.entries {
        match entry {
            RuleSetEntry::Marker(_) => markers += 1,
            RuleSetEntry::Rule(rule) => {
                links += rule.links.iter().filter(|link| link.test.is_some()).count();
                actions += rule.links.iter().filter(|link| link.test.is_none()).count();
            }
        }
    }
    assert_eq!(links, plain_count(&files, "SecRule"));
    assert_eq!(actions, plain_count(&files, "SecAction"));
    assert_eq!(markers, plain_count(&files, "SecMarker"));
    let warnings: Vec<String> =
        loaded.warnings.iter().filter(|one| one.severity == Severity::Warning).map(ToString::to_string).collect();
    assert!(warnings.is_empty(), "{}", warnings.join("\n"));
    println!("{}: {links} rules, {actions} actions, {markers} markers", rules.display());
}

#[test]
fn debians_rules_load_untouched() {
    check(Path::new(DEBIAN_RULES), Path::new(DEBIAN_SETUP));
}

/// A checkout of CRS 4: `CRS_PATH=/path/to/coreruleset cargo test ... -- --ignored any_checkout`.
#[test]
#[ignore = "needs a checkout of CRS: `make conformance CRS_TESTS=FOLDER`"]
fn any_checkout_loads_untouched() {
    let checkout = PathBuf::from(std::env::var_os("CRS_PATH").expect("CRS_PATH says where the checkout is"));
    check(&checkout.join("rules"), &checkout.join("crs-setup.conf.example"));
}
