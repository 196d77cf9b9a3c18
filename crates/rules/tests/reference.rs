//! The tables, the page made from them and the examples in them agree with the parser.

use std::collections::HashSet;

use weir_rules::{FIELDS, FUNCTIONS, ListKind, OPERATORS, Operator, Phase, completions, parse, reference};

#[test]
fn every_name_occurs_once() {
    let names = completions();
    let distinct: HashSet<&str> = names.iter().copied().collect();
    assert_eq!(distinct.len(), names.len());
    assert_eq!(names.len(), FIELDS.len() + FUNCTIONS.len() + OPERATORS.len() + 4);
}

#[test]
fn tables_are_in_the_order_of_their_enums() {
    assert!(FIELDS.iter().all(|row| row.field.info().name == row.name));
    assert!(FUNCTIONS.iter().all(|row| row.function.info().name == row.name));
    assert!(OPERATORS.iter().all(|row| row.operator.info().name == row.name));
}

#[test]
fn every_operator_is_found_by_all_its_names_and_its_example_parses() {
    let lists = std::collections::BTreeMap::from([("office".to_owned(), ListKind::Addresses)]);
    for row in OPERATORS {
        for name in std::iter::once(&row.name).chain(row.aliases) {
            assert_eq!(Operator::from_text(name), Some(row.operator), "{name}");
        }
        assert!(row.example.contains(row.name));
        assert!(parse(row.example, &lists).is_ok(), "{}", row.example);
    }
}

#[test]
fn the_page_names_everything() {
    let page = reference();
    for name in completions().into_iter().filter(|name| !["true", "false"].contains(name)) {
        assert!(page.contains(&format!("`{name}")), "{name}");
    }
    for row in page.lines().filter(|line| line.starts_with('|')) {
        let cells = row.replace("\\|", "").matches('|').count();
        assert!((3..=6).contains(&cells), "{row}");
    }
}

#[test]
fn an_expression_belongs_to_the_latest_phase_that_it_reads() {
    let phase = |text: &str| parse(text, &weir_rules::NoLists).map(|expr| expr.phase());
    assert_eq!(phase("ssl"), Ok(Phase::Request));
    assert_eq!(phase("ssl and http.request.body.size gt 5"), Ok(Phase::Body));
    assert_eq!(
        phase("http.response.code eq 200 or any(http.request.body.form.values[*] eq \"\")"),
        Ok(Phase::Response)
    );
}
