//! The table itself.

use super::*;

#[test]
fn every_rule_has_its_own_id_and_all_its_words() {
    for (index, rule) in RULES.iter().enumerate() {
        assert!(RULES[..index].iter().all(|other| other.id != rule.id), "{} twice", rule.id);
        assert!(rule.id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{}", rule.id);
        for words in [rule.title, rule.looks_at, rule.threshold] {
            assert!(words.len() > 10 && !words.ends_with('.') && !words.contains("  "), "{}: {words}", rule.id);
        }
        assert!(reference().contains(&format!("## `{}`\n", rule.id)));
    }
}

#[test]
fn no_rule_speaks_of_nothing() {
    for rule in RULES {
        assert_eq!((rule.check)(&Facts::default()), None, "{}", rule.id);
    }
}
