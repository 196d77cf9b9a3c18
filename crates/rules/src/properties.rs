//! Properties of all expressions: the printed form parses to the same form, and no text, however
//! malformed, makes the parser panic or report a position outside it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::ir::{Access, Comparison, Expr, Literal, Predicate, Quantifier, Test, ValueExpr};
use crate::set::{self, AddressRange};
use crate::{FIELDS, FieldInfo, Function, ListKind, Shape, ValueType, fold, parse, parse_value};

fn lists() -> std::collections::BTreeMap<String, ListKind> {
    [("addresses", ListKind::Addresses), ("strings", ListKind::Strings), ("integers", ListKind::Integers)]
        .map(|(name, kind)| (name.to_owned(), kind))
        .into()
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 0..6), "[a-z\"\\\\ #*\u{e9}\u{85}\r\n\t]{0,6}".prop_map(String::into_bytes)]
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from(bits))),
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from(bits))),
        any::<u8>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from(u128::from(bits)))),
    ]
}

fn access(row: FieldInfo) -> impl Strategy<Value = Access> {
    (option::of(bytes()), option::of(0u32..5)).prop_map(move |(key, index)| {
        let key = key.filter(|_| row.shape == Shape::Map);
        let key = if row.field.folds_names() { key.map(|key| key.to_ascii_lowercase()) } else { key };
        let indexed = row.shape == Shape::Array || key.is_some();
        Access { field: row.field, key, index: index.filter(|_| indexed) }
    })
}

fn field(ty: ValueType) -> impl Strategy<Value = ValueExpr> {
    let rows: Vec<FieldInfo> = FIELDS.iter().filter(|row| row.ty == ty).copied().collect();
    select(rows).prop_flat_map(access).prop_map(ValueExpr::Field)
}

fn constant() -> impl Strategy<Value = ValueExpr> {
    prop_oneof![
        bytes().prop_map(Literal::Bytes),
        any::<i64>().prop_map(Literal::Int),
        any::<bool>().prop_map(Literal::Bool),
        address().prop_map(Literal::Ip),
    ]
    .prop_map(ValueExpr::Literal)
}

/// A non-constant value of type bytes.
fn text_value() -> impl Strategy<Value = ValueExpr> {
    field(ValueType::Bytes).prop_recursive(4, 12, 3, |inner| {
        let same = select(vec![
            Function::Lower,
            Function::Upper,
            Function::UrlDecode,
            Function::RemoveSpaces,
            Function::ToString,
        ]);
        let convertible = prop_oneof![inner.clone(), constant(), field(ValueType::Int), field(ValueType::Ip)];
        prop_oneof![
            (same, inner.clone()).prop_map(|(function, value)| ValueExpr::Call(function, vec![value])),
            vec(convertible, 1..4).prop_map(|all| ValueExpr::Call(Function::Concat, all)),
            (inner, vec(any::<i64>(), 1..=2)).prop_map(|(value, ends)| {
                let ends = ends.into_iter().map(|end| ValueExpr::Literal(Literal::Int(end)));
                ValueExpr::Call(Function::Substring, std::iter::once(value).chain(ends).collect())
            }),
        ]
    })
}

fn comparison() -> impl Strategy<Value = Comparison> {
    select(vec![Comparison::Eq, Comparison::Ne, Comparison::Lt, Comparison::Le, Comparison::Gt, Comparison::Ge])
}

fn pattern() -> impl Strategy<Value = String> {
    let parts = vec!["a", r"\s+", "\"", "\\\"", r"\\", "[\"#]", "é", "(?i)", "#", "\n", "\"##", r"\xff", "(?u:\\w)"];
    vec(select(parts), 0..6).prop_map(|parts| parts.concat())
}

fn wildcard() -> impl Strategy<Value = Vec<u8>> {
    vec(select(vec![b"*".as_slice(), b"a", b"\\*", b"\\\\", b"\"", b"\xff"]), 0..6).prop_map(|mut parts| {
        parts.dedup_by(|next, last| *next == b"*" && *last == b"*");
        parts.concat()
    })
}

fn range() -> impl Strategy<Value = AddressRange> {
    (address(), address()).prop_map(|(one, other)| {
        AddressRange::between(one.min(other), one.max(other)).unwrap_or_else(|| AddressRange::network(one.into()))
    })
}

fn bytes_test() -> impl Strategy<Value = (ValueExpr, Predicate)> {
    let predicate = prop_oneof![
        (comparison(), bytes()).prop_map(|(comparison, bytes)| Predicate::Bytes(comparison, bytes)),
        bytes().prop_map(Predicate::Contains),
        bytes().prop_map(Predicate::StartsWith),
        bytes().prop_map(Predicate::EndsWith),
        pattern().prop_map(Predicate::Matches),
        (wildcard(), any::<bool>()).prop_map(|(pattern, strict)| Predicate::Wildcard { pattern, strict }),
        vec(bytes(), 1..4).prop_map(|all| Predicate::BytesIn(set::strings(all))),
        Just(Predicate::InList("strings".to_owned())),
    ];
    (text_value(), predicate)
}

fn int_test() -> impl Strategy<Value = (ValueExpr, Predicate)> {
    let value =
        prop_oneof![field(ValueType::Int), text_value().prop_map(|value| ValueExpr::Call(Function::Len, vec![value]))];
    let ranges = vec((any::<i64>(), 0i64..5), 1..4)
        .prop_map(|all| set::integers(all.into_iter().map(|(low, more)| (low, low.saturating_add(more))).collect()));
    let predicate = prop_oneof![
        (comparison(), any::<i64>()).prop_map(|(comparison, integer)| Predicate::Int(comparison, integer)),
        ranges.prop_map(Predicate::IntIn),
        Just(Predicate::InList("integers".to_owned())),
    ];
    (value, predicate)
}

fn ip_test() -> impl Strategy<Value = (ValueExpr, Predicate)> {
    let equality = select(vec![Comparison::Eq, Comparison::Ne]);
    let predicate = prop_oneof![
        (equality, address()).prop_map(|(comparison, address)| Predicate::Ip(comparison, address)),
        vec(range(), 1..3).prop_map(|all| Predicate::IpIn(set::networks(all))),
        Just(Predicate::InList("addresses".to_owned())),
    ];
    (field(ValueType::Ip), predicate)
}

fn bool_test() -> impl Strategy<Value = (ValueExpr, Predicate)> {
    let dynamic = (text_value(), text_value(), select(vec![Function::StartsWith, Function::EndsWith]));
    prop_oneof![
        field(ValueType::Bool),
        dynamic.prop_map(|(value, part, function)| ValueExpr::Call(function, vec![value, part]))
    ]
    .prop_map(|value| (value, Predicate::IsTrue))
}

fn expr() -> impl Strategy<Value = Expr> {
    let test = prop_oneof![4 => bytes_test(), 2 => int_test(), 1 => ip_test(), 1 => bool_test()];
    let leaf = (test, any::<bool>()).prop_map(|((value, predicate), all)| {
        let mut several = false;
        value.fields(&mut |access| several |= access.field.info().shape != Shape::Scalar);
        let quantifier = if all && several { Quantifier::All } else { Quantifier::Any };
        Expr::Test(Test { value, quantifier, predicate })
    });
    prop_oneof![12 => leaf, 1 => any::<bool>().prop_map(Expr::Const)].prop_recursive(5, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(fold::not),
            vec(inner.clone(), 0..4).prop_map(fold::and),
            vec(inner.clone(), 0..4).prop_map(fold::or),
            (inner.clone(), inner).prop_map(|(left, right)| fold::xor(left, right)),
        ]
    })
}

/// Fragments of expressions in any order, nearly always malformed.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        select(vec![
            "http.host",
            "ip.src",
            "ssl",
            "tcp.dstport",
            "http.request.headers",
            "any",
            "all",
            "lower",
            "substring",
            "in",
            "eq",
            "matches",
            "wildcard",
            "strict",
            "not",
            "and",
            "or",
            "xor",
            "AND",
            "(",
            ")",
            "[",
            "]",
            "[*]",
            "[0]",
            "{",
            "}",
            ",",
            "\"",
            "\"a\"",
            "'",
            "r\"",
            "r#\"",
            "\\",
            "\\x",
            "#",
            "$strings",
            "$",
            "10..20",
            "1.2.3.4",
            "::/0",
            "=",
            "==",
            "&",
            "~",
            "!",
            "“",
            "é",
            "*",
            "\n",
            "-1",
            "\"(\"",
            "true",
            "false",
            "\0",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    (vec(piece, 0..24), any::<bool>()).prop_map(|(pieces, spaced)| pieces.join(if spaced { " " } else { "" }))
}

fn check_text(text: &str) -> Result<(), TestCaseError> {
    match parse(text, &lists()) {
        Ok(expr) => prop_assert_eq!(parse(&expr.to_string(), &lists()), Ok(expr)),
        Err(errors) => {
            prop_assert!(!errors.is_empty());
            for error in errors {
                prop_assert!(text.get(error.span.clone()).is_some(), "{error:?}");
                prop_assert!(!error.message.contains(char::is_control));
                prop_assert!(!error.hint.iter().any(|hint| hint.contains(char::is_control)));
                prop_assert!(!error.explain(text).is_empty());
            }
        }
    }
    if let Ok(value) = parse_value(text) {
        prop_assert_eq!(parse_value(&value.to_string()), Ok(value));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_printed_condition_parses_to_itself(expr in expr()) {
        let printed = expr.to_string();
        prop_assert_eq!(parse(&printed, &lists()), Ok(expr), "{}", printed);
    }

    #[test]
    fn a_printed_value_parses_to_itself(value in prop_oneof![text_value(), constant(), field(ValueType::Ip)]) {
        let printed = value.to_string();
        prop_assert_eq!(parse_value(&printed), Ok(value), "{}", printed);
    }

    #[test]
    fn any_text_is_read_or_explained(text in prop_oneof![soup(), any::<String>()]) {
        check_text(&text)?;
    }

    #[test]
    fn a_broken_expression_is_read_or_explained(expr in expr(), at in any::<Index>(), insert in soup(), cut in 0usize..4) {
        let mut characters: Vec<char> = expr.to_string().chars().collect();
        let at = at.index(characters.len() + 1);
        let end = (at + cut).min(characters.len());
        characters.splice(at..end, insert.chars());
        check_text(&characters.into_iter().collect::<String>())?;
    }

    #[test]
    fn networks_cover_exactly_their_ranges(ranges in vec(range(), 1..4), probe in address(), pick in any::<Index>()) {
        let networks = set::networks(ranges.clone());
        let edge = match pick.get(&ranges) {
            AddressRange::V4(_, high) => IpAddr::V4(Ipv4Addr::from(high.wrapping_add(1))),
            AddressRange::V6(_, high) => IpAddr::V6(Ipv6Addr::from(high.wrapping_add(1))),
        };
        for address in [probe, edge] {
            let inside = ranges.iter().any(|range| match (*range, address) {
                (AddressRange::V4(low, high), IpAddr::V4(address)) => (low..=high).contains(&address.into()),
                (AddressRange::V6(low, high), IpAddr::V6(address)) => (low..=high).contains(&address.into()),
                _ => false,
            });
            prop_assert_eq!(networks.iter().any(|network| network.contains(&address)), inside);
        }
    }
}
