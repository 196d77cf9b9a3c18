//! Consistency of the tables with the language and with each other.

use std::collections::HashSet;

use super::action::ACTIONS;
use super::control::CONTROLS;
use super::directive::DIRECTIVES;
use super::operator::OPERATORS;
use super::variable::VARIABLES;
use super::{Row, Status, find, guess};
use crate::seclang::ir::Variable;

fn names<K: Copy>(rows: &'static [Row<K>]) -> Vec<&'static str> {
    rows.iter().flat_map(|row| std::iter::once(&row.name).chain(row.aliases)).copied().collect()
}

fn sound<K: Copy>(rows: &'static [Row<K>]) {
    let mut seen = HashSet::new();
    for name in names(rows) {
        assert!(seen.insert(name.to_ascii_lowercase()), "{name} is there twice");
        assert!(find(rows, &name.to_ascii_uppercase()).is_some(), "{name}");
    }
    for row in rows {
        assert!(!row.meaning.ends_with('.') && !row.meaning.is_empty(), "{}", row.name);
        if let Status::NoEffect(why) | Status::OffByDefault(why) | Status::Unsupported(why) = row.status {
            assert!(!why.is_empty() && !why.ends_with('.'), "{}", row.name);
        }
    }
}

#[test]
fn names_are_unique_and_rows_are_complete() {
    sound(DIRECTIVES);
    sound(VARIABLES);
    sound(OPERATORS);
    sound(ACTIONS);
    sound(CONTROLS);
}

#[test]
fn every_variable_has_one_row() {
    for &variable in Variable::ALL {
        let rows = VARIABLES.iter().filter(|row| row.kind.variable == Some(variable)).count();
        assert_eq!(rows, 1, "{variable:?}");
    }
    for row in VARIABLES {
        assert_eq!(row.kind.variable.is_none(), matches!(row.status, Status::Unsupported(_)), "{}", row.name);
    }
}

#[test]
fn near_names_are_guessed() {
    assert_eq!(guess(DIRECTIVES, "SecRuel").as_deref(), Some("did you mean `SecRule`?"));
    assert_eq!(guess(VARIABLES, "REQUEST_HEADER").as_deref(), Some("did you mean `REQUEST_HEADERS`?"));
    assert_eq!(guess(ACTIONS, "zzzzzzzz"), None);
}
