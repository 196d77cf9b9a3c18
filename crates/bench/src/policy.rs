//! Weir's policies, made from the table of rules that also makes the Lua peers' rules.
//!
//! The policy `rs` lies in the repository (`bench/policies/rs.yaml`), so that people can read and try
//! it; a test keeps it in step.

use std::fmt::Write as _;

use crate::rules::{RULES, Rule, Subject};

/// The policy `rs`.
#[cfg(test)]
fn rs() -> String {
    let mut text = String::from(
        "# What the bench and `weir ablate --policy rs` measure: a list of addresses, a country, and 40 rules over\n\
         # path, arguments, user agent, cookie, referer and form. Made by crates/bench/src/policy.rs from the table\n\
         # that also makes the Lua peers' rules; `blocked.txt` and `country.mmdb` are generated beside a copy of it.\n\
         client_address:\n  trusted: [127.0.0.0/8]\n  from: x-forwarded-for\n\
         geo: {country: country.mmdb}\n\
         lists:\n  blocked: {kind: addresses, file: blocked.txt}\n\
         policies:\n  - id: rs\n    mode: on\n    rules:\n",
    );
    let countries: Vec<String> =
        weir_measure::workload::BLOCKED_COUNTRIES.iter().map(|code| format!("\"{code}\"")).collect();
    push_rule(&mut text, "blocked-address", "ip.src in $blocked", "block");
    push_rule(&mut text, "blocked-country", &format!("ip.src.country in {{{}}}", countries.join(" ")), "block");
    for rule in RULES {
        push_rule(&mut text, rule.id, &rule.subject.condition(rule.pattern), "block");
    }
    text
}

/// A policy that only looks the client up in the list.
#[must_use]
pub fn list_only() -> String {
    let mut text = String::from(
        "client_address:\n  trusted: [127.0.0.0/8]\n  from: x-forwarded-for\n\
         lists:\n  blocked: {kind: addresses, file: blocked.txt}\n\
         policies:\n  - id: rs\n    mode: on\n    rules:\n",
    );
    push_rule(&mut text, "blocked-address", "ip.src in $blocked", "block");
    text
}

/// The RS rules alone, without list and geo.
#[must_use]
pub fn rules_only() -> String {
    let mut text = String::from("policies:\n  - id: rs\n    mode: on\n    rules:\n");
    for rule in RULES {
        push_rule(&mut text, rule.id, &rule.subject.condition(rule.pattern), "block");
    }
    text
}

/// A policy of `count` rules: the 40 of RS again and again, each copy with a word of its own in
/// its pattern, so that no two are alike and none can be shared.
#[must_use]
pub fn many_rules(count: usize) -> String {
    let mut text = String::from("policies:\n  - id: rs\n    mode: on\n    rules:\n");
    for index in 0..count {
        let rule = &RULES[index % RULES.len()];
        push_rule(&mut text, &format!("{}-{index}", rule.id), &rule.subject.condition(&varied(rule, index)), "block");
    }
    text
}

/// The pattern of copy number `index`. Signatures of products differ by the name of the thing
/// that is attacked: so do these, in the three shapes that such rules have.
fn varied(rule: &Rule, index: usize) -> String {
    let copy = index / RULES.len();
    if copy == 0 {
        return rule.pattern.to_owned();
    }
    let word = word(index);
    match (rule.subject, copy % 3) {
        (Subject::Path, _) => format!(r"(?i)/{word}(?:-\d+)?/(?:admin|install|setup|upload)\.(?:php|jsp|aspx?)$"),
        (Subject::Agent, _) => format!(r"(?i)\b{word}(?:bot|scan|crawler)?/\d"),
        (Subject::Referer | Subject::Cookie, _) => format!(r"(?i)\b{word}[-_.](?:session|exploit|payload)\b"),
        (_, 0) => format!(r"(?i)\b{word}\s*\(\s*[^)]{{0,40}}\)"),
        (_, 1) => format!(r"(?i)[;|&`]\s*{word}\b"),
        (_, _) => format!(r"(?i)<\s*{word}\b|\b{word}_(?:schema|tables|users)\b"),
    }
}

/// A pronounceable word that differs for every index.
fn word(index: usize) -> String {
    const SYLLABLES: [&str; 16] =
        ["ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "wu", "xa"];
    (0..4).map(|place| SYLLABLES[(index.wrapping_mul(7919) >> (4 * place)) % SYLLABLES.len()]).collect::<String>() + "q"
}

fn push_rule(text: &mut String, id: &str, condition: &str, action: &str) {
    let quoted = condition.replace('\'', "''");
    let _ = writeln!(text, "      - id: {id}\n        when: '{quoted}'\n        action: {action}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use weir_measure::addresses;
    use weir_measure::placement::Placement;
    use weir_measure::site::Site;
    use weir_policy::Snapshot;

    /// Set `WEIR_BLESS=1` to write the file anew.
    #[test]
    fn the_policy_in_the_repository_is_the_one_measured() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/policies/rs.yaml");
        if std::env::var_os("WEIR_BLESS").is_some() {
            std::fs::write(path, rs()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), rs(), "run with WEIR_BLESS=1 to write it anew");
    }

    #[test]
    fn many_rules_are_all_different() {
        let text = many_rules(10_000);
        let conditions: std::collections::HashSet<&str> = text.lines().filter(|line| line.contains("when:")).collect();
        assert_eq!(conditions.len(), 10_000);
    }

    #[test]
    fn weir_accepts_every_generated_policy() {
        let site = Site::create(Placement::default(), None, PathBuf::new()).unwrap();
        for (name, text, rules) in [("rules", many_rules(1_000), 1_000), ("list", list_only(), 1)] {
            let path = site.write_policy(name, &text, &addresses::list(10)).unwrap();
            let snapshot = Snapshot::load(&path).unwrap_or_else(|errors| panic!("{name}: {errors}"));
            assert_eq!(snapshot.rules().len(), rules, "{name}");
            assert!(snapshot.plan(&["rs"]).is_ok(), "{name}");
        }
    }
}
