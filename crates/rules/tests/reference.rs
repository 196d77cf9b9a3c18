//! The tables and the examples in them agree with the parser.

use std::collections::HashSet;

use weir_rules::{FIELDS, FUNCTIONS, ListKind, OPERATORS, Operator, Phase, parse};

#[test]
fn every_name_occurs_once() {
    let fields = FIELDS.iter().map(|row| row.name);
    let names = fields.chain(FUNCTIONS.iter().map(|row| row.name)).chain(OPERATORS.iter().map(|row| row.name));
    let distinct: HashSet<&str> = names.collect();
    assert_eq!(distinct.len(), FIELDS.len() + FUNCTIONS.len() + OPERATORS.len());
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
fn an_expression_belongs_to_the_latest_phase_that_it_reads() {
    let phase = |text: &str| parse(text, &weir_rules::NoLists).map(|expr| expr.phase());
    assert_eq!(phase("ssl"), Ok(Phase::Request));
    assert_eq!(phase("ssl and http.request.body.size gt 5"), Ok(Phase::Body));
    assert_eq!(
        phase("http.response.code eq 200 or any(http.request.body.form.values[*] eq \"\")"),
        Ok(Phase::Response)
    );
}
