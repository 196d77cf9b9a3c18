//! Expressions that the checker would accept: types always fit.

use std::net::IpAddr;

use ipnet::IpNet;
use weir_rules::ir::{Access, Comparison, Expr, Literal, Predicate, Quantifier, Test, ValueExpr};
use weir_rules::{FIELDS, FUNCTIONS, FieldInfo, FunctionInfo, Phase, Shape, ValueType};

use super::source::Source;

/// How deep expressions nest.
const DEPTH: u8 = 4;

/// Names of items, in rules and traffic.
pub const NAMES: &[&[u8]] = &[b"a", b"b", b"x", b"content-type", b"x-a", b"items.0", b"user-agent"];

/// Addresses in rules and traffic.
pub const ADDRESSES: &[&str] = &["192.0.2.1", "192.0.2.200", "198.51.100.7", "2001:db8::1", "2001:db8:1::2"];

const COMPARISONS: &[Comparison] =
    &[Comparison::Eq, Comparison::Ne, Comparison::Lt, Comparison::Le, Comparison::Gt, Comparison::Ge];

/// A condition that reads fields of `phase` and earlier ones.
pub fn condition(source: &mut Source<'_>, phase: Phase) -> Expr {
    expression(source, phase, DEPTH)
}

fn expression(source: &mut Source<'_>, phase: Phase, depth: u8) -> Expr {
    let kind = if depth == 0 { 0 } else { source.below(12) };
    match kind {
        0..=6 => Expr::Test(test(source, phase)),
        7 => Expr::And(branches(source, phase, depth)),
        8 => Expr::Or(branches(source, phase, depth)),
        9 => Expr::Not(Box::new(expression(source, phase, depth - 1))),
        10 => Expr::Xor(Box::new(expression(source, phase, depth - 1)), Box::new(expression(source, phase, depth - 1))),
        _ => Expr::Const(source.below(2) == 0),
    }
}

fn branches(source: &mut Source<'_>, phase: Phase, depth: u8) -> Vec<Expr> {
    (0..2 + source.below(3)).map(|_| expression(source, phase, depth - 1)).collect()
}

fn test(source: &mut Source<'_>, phase: Phase) -> Test {
    let ty = source.copy(&[
        ValueType::Bytes,
        ValueType::Bytes,
        ValueType::Bytes,
        ValueType::Int,
        ValueType::Ip,
        ValueType::Bool,
    ]);
    let value = value(source, phase, ty, 2);
    let quantifier = if many(&value) { source.copy(&[Quantifier::Any, Quantifier::All]) } else { Quantifier::Any };
    Test { value, quantifier, predicate: predicate(source, ty) }
}

/// Whether the value may have any number of values, so that `all()` makes sense.
fn many(value: &ValueExpr) -> bool {
    match value {
        ValueExpr::Literal(_) => false,
        ValueExpr::Field(access) => {
            access.field.info().shape != Shape::Scalar && access.key.is_none() && access.index.is_none()
        }
        ValueExpr::Call(_, arguments) => arguments.iter().any(many),
    }
}

/// A value of type `ty`, never a bare literal.
pub fn value(source: &mut Source<'_>, phase: Phase, ty: ValueType, depth: u8) -> ValueExpr {
    if depth > 0 && source.below(4) == 0 {
        return call(source, phase, ty, depth - 1);
    }
    // `http.request.anomalies` grows as the request is parsed, and how far it has been parsed
    // when a rule looks is what a plan may optimise.
    let fits = |row: &&FieldInfo| row.ty == ty && row.phase <= phase && row.name != "http.request.anomalies";
    let rows: Vec<&FieldInfo> = FIELDS.iter().filter(fits).collect();
    // Fields of the phase itself are the interesting ones.
    let late: Vec<&FieldInfo> = rows.iter().copied().filter(|row| row.phase == phase).collect();
    let row = if late.is_empty() || source.below(3) == 0 { source.pick(&rows) } else { source.pick(&late) };
    let key = (row.shape == Shape::Map && source.below(3) > 0).then(|| source.pick(NAMES).to_vec());
    let index = (row.shape != Shape::Scalar && source.below(4) == 3).then(|| u32::from(source.below(3)));
    ValueExpr::Field(Access { field: row.field, key, index })
}

/// A call of any function of the table that returns `ty`: a new function is compared as soon as it has a row.
/// Only the first argument may have several values.
fn call(source: &mut Source<'_>, phase: Phase, ty: ValueType, depth: u8) -> ValueExpr {
    let rows: Vec<&FunctionInfo> = FUNCTIONS.iter().filter(|row| row.returns == ty).collect();
    let row = source.pick(&rows);
    let most = if row.variadic { row.parameters.len() + 2 } else { row.parameters.len() };
    let count = row.required + usize::from(source.below((most - row.required) as u8 + 1));
    let arguments = (0..count).map(|at| match row.parameters[at.min(row.parameters.len() - 1)] {
        ValueType::Int => {
            ValueExpr::Literal(Literal::Int(source.copy(&[0, 1, 2, 3, 5, -1, -6, 8, 24, 32, 64, 128, 129])))
        }
        ValueType::Bytes if at > 0 => ValueExpr::Literal(Literal::Bytes(source.text())),
        ValueType::Bytes if row.converts => {
            let ty = source.copy(&[ValueType::Bytes, ValueType::Int, ValueType::Ip]);
            value(source, phase, ty, depth)
        }
        ty => value(source, phase, ty, depth),
    });
    ValueExpr::Call(row.function, arguments.collect())
}

fn predicate(source: &mut Source<'_>, ty: ValueType) -> Predicate {
    let address =
        |source: &mut Source<'_>| source.pick(ADDRESSES).parse::<IpAddr>().expect("the table holds addresses");
    match ty {
        ValueType::Bool => Predicate::IsTrue,
        ValueType::Int => match source.below(3) {
            0 => Predicate::Int(source.copy(COMPARISONS), number(source)),
            1 => Predicate::IntIn(ranges(source)),
            _ => Predicate::InList("ints".into()),
        },
        ValueType::Ip => match source.below(3) {
            0 => Predicate::Ip(source.copy(&[Comparison::Eq, Comparison::Ne]), address(source)),
            1 => Predicate::IpIn(networks(source)),
            _ => Predicate::InList("nets".into()),
        },
        ValueType::Bytes => match source.below(10) {
            0 => Predicate::Bytes(source.copy(COMPARISONS), source.text()),
            1 => Predicate::Contains(source.text()),
            2 => Predicate::StartsWith(source.text()),
            3 => Predicate::EndsWith(source.text()),
            4 => Predicate::Wildcard { pattern: wildcard(source), strict: source.below(2) == 0 },
            5 => {
                let mut all: Vec<Vec<u8>> = (0..=source.below(4)).map(|_| source.text()).collect();
                all.sort();
                all.dedup();
                Predicate::BytesIn(all)
            }
            6 => Predicate::InList("words".into()),
            _ => Predicate::Matches(regex(source)),
        },
    }
}

fn number(source: &mut Source<'_>) -> i64 {
    source.copy(&[0, 1, 2, 3, 42, 80, 200, 404, 443, -7, i64::MAX, i64::MIN])
}

fn ranges(source: &mut Source<'_>) -> Vec<(i64, i64)> {
    let low = i64::from(source.below(8));
    let high = low + i64::from(source.below(200));
    vec![(low, high), (high + 10, high + 300)]
}

/// Some networks.
pub fn networks(source: &mut Source<'_>) -> Vec<IpNet> {
    let network = |source: &mut Source<'_>| {
        let ip: IpAddr = source.pick(ADDRESSES).parse().expect("the table holds addresses");
        let bits = source.below(if ip.is_ipv4() { 33 } else { 129 });
        IpNet::new(ip, bits).expect("bounded by the family").trunc()
    };
    (0..=source.below(3)).map(|_| network(source)).collect()
}

fn wildcard(source: &mut Source<'_>) -> Vec<u8> {
    let piece = |source: &mut Source<'_>| match source.below(4) {
        0 => b"*".to_vec(),
        1 => source.pick(&[b"\\*".as_slice(), b"\\\\", b"**", b"?"]).to_vec(),
        _ => source.text(),
    };
    let mut pattern: Vec<u8> = (0..=source.below(4)).flat_map(|_| piece(source)).collect();
    // A backslash escapes only a star or a backslash; the checker refuses others.
    let mut at = 0;
    while at < pattern.len() {
        if pattern[at] == b'\\' {
            if !matches!(pattern.get(at + 1), Some(b'*' | b'\\')) {
                pattern.insert(at + 1, b'\\');
            }
            at += 1;
        }
        at += 1;
    }
    pattern
}

fn regex(source: &mut Source<'_>) -> String {
    let mut pattern = String::new();
    pattern.push_str(source.pick(&["", "(?i)", "(?s)", "(?-u)", "^", "(?m)^"]));
    for _ in 0..=source.below(4) {
        pattern.push_str(source.pick(ATOMS));
        pattern.push_str(source.pick(&["", "", "", "*", "+", "?", "{2}", "{1,3}", "*?"]));
    }
    pattern.push_str(source.pick(&["", "", "$"]));
    pattern
}

/// Pieces that may be repeated.
const ATOMS: &[&str] = &[
    "a",
    "b",
    "(?:ab)",
    "(?:union|select)",
    "[a-c]",
    "[^a]",
    r"\s",
    r"\d",
    r"\w",
    ".",
    "(?:.)",
    "k",
    "(?:admin|)",
    r"(?:\.\./)",
    "(?:<script)",
    r"\x00",
    "(?:ä|ö)",
    r"(?u:\p{Lu})",
    r"(?:\bselect\b)",
    r"(?-u:\xff)",
    "(?:a|b|[x-z]1)",
    "(?i:UnIoN)",
    "(?:example\\.com)",
    "(?:aaaa)",
    "%",
];
