//! Weir's policy and the Lua peers' tables, both made from the same rules.
//!
//! `bench/policies/rs.yaml` is this module's output, kept in the repository so that people can
//! read and try it; a test keeps it in step.

use std::fmt::Write as _;

use crate::rules::{RULES, Rule, Subject};

/// Countries that the policy blocks. The generated geo database knows one network of theirs,
/// 175.0.0.0/8, from which the load never comes.
pub const BLOCKED_COUNTRIES: &[&str] = &["KP"];
/// Name of the country database beside the policy.
pub const COUNTRY_FILE: &str = "country.mmdb";
/// Name of the address list beside the policy.
pub const ADDRESS_FILE: &str = "blocked.txt";

/// The RS policy.
#[must_use]
pub fn rs() -> String {
    let mut text = String::from(
        "# The policy of story 1 (RS): an address list, a country, and 40 rules over path, arguments,\n\
         # user agent, cookie, referer and form. Made by crates/lab from the table that also makes the\n\
         # Lua peers' rules; `blocked.txt` and `country.mmdb` are generated beside it by `weir bench`.\n\
         client_address:\n  trusted: [127.0.0.0/8]\n  from: x-forwarded-for\n\
         geo: {country: country.mmdb}\n\
         lists:\n  blocked: {kind: addresses, file: blocked.txt}\n\
         policies:\n  - id: rs\n    mode: on\n    rules:\n",
    );
    let countries: Vec<String> = BLOCKED_COUNTRIES.iter().map(|code| format!("\"{code}\"")).collect();
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

/// `rules.lua` of the peers: the same rules and countries.
#[must_use]
pub fn lua_rules() -> String {
    let mut text = String::from("return {\n  countries = { ");
    for code in BLOCKED_COUNTRIES {
        let _ = write!(text, "{code} = true, ");
    }
    text.push_str("},\n  list = {\n");
    for Rule { id, subject, pattern, .. } in RULES {
        let _ =
            writeln!(text, "    {{ id = \"{id}\", subject = \"{}\", pattern = [==[{pattern}]==] }},", subject.key());
    }
    text.push_str("  },\n}\n");
    text
}

/// `blocked.lua` of the peers: the same addresses as a hash table.
#[must_use]
pub fn lua_addresses(addresses: &[std::net::Ipv4Addr]) -> String {
    let mut text = String::from("return {\n");
    for address in addresses {
        let _ = writeln!(text, "  [\"{address}\"] = true,");
    }
    text.push_str("}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn lua_gets_the_same_rules() {
        let text = lua_rules();
        assert_eq!(text.matches("pattern = [==[").count(), RULES.len());
        assert!(
            RULES.iter().all(|rule| text.contains(rule.pattern) && rs().contains(&rule.pattern.replace('\'', "''")))
        );
    }
}
