//! Prints the typed form as text that parses to the same form again. Logs use it to name variables,
//! tests and the fuzzer to check the parser, and `weir` to show rules.
//!
//! Values print without `[*]`, as in `http.request.uri.args.values`; it is written only inside the
//! `any(...)` and `all(...)` of a condition, as in Cloudflare's language.

use std::fmt::{self, Display, Formatter, Write};

use crate::ir::{Access, Comparison, Expr, Literal, Predicate, Quantifier, Test, ValueExpr};
use crate::{Function, Operator, Shape};

/// Binding strength, from loose to tight.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Precedence {
    Or,
    Xor,
    And,
    Unary,
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_expr(f, self, Precedence::Or)
    }
}

/// Writes `expr` where an expression that binds at least as tightly as `least` is allowed.
fn write_expr(f: &mut Formatter<'_>, expr: &Expr, least: Precedence) -> fmt::Result {
    let level = match expr {
        Expr::Or(_) => Precedence::Or,
        Expr::Xor(..) => Precedence::Xor,
        Expr::And(_) => Precedence::And,
        Expr::Const(_) | Expr::Not(_) | Expr::Test(_) => Precedence::Unary,
    };
    if level < least {
        f.write_char('(')?;
        write_expr(f, expr, Precedence::Or)?;
        return f.write_char(')');
    }
    match expr {
        Expr::Const(truth) => write!(f, "{truth}"),
        Expr::Test(test) => test.fmt(f),
        Expr::Not(inner) => {
            write!(f, "{} ", Operator::Not.info().name)?;
            write_expr(f, inner, Precedence::Unary)
        }
        Expr::And(all) => write_chain(f, all, Operator::And, Precedence::Unary),
        Expr::Or(all) => write_chain(f, all, Operator::Or, Precedence::Xor),
        Expr::Xor(left, right) => {
            write_expr(f, left, Precedence::Xor)?;
            write!(f, " {} ", Operator::Xor.info().name)?;
            write_expr(f, right, Precedence::And)
        }
    }
}

fn write_chain(f: &mut Formatter<'_>, all: &[Expr], operator: Operator, least: Precedence) -> fmt::Result {
    for (at, one) in all.iter().enumerate() {
        if at > 0 {
            write!(f, " {} ", operator.info().name)?;
        }
        write_expr(f, one, least)?;
    }
    Ok(())
}

impl Display for Test {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let quantifier = match self.quantifier {
            Quantifier::All => "all",
            Quantifier::Any if is_many(&self.value) => "any",
            Quantifier::Any => return write_test(f, self, StarStyle::Hidden),
        };
        write!(f, "{quantifier}(")?;
        write_test(f, self, StarStyle::Shown)?;
        f.write_char(')')
    }
}

/// Whether there may be several values.
fn is_many(value: &ValueExpr) -> bool {
    let mut many = false;
    value.fields(&mut |access| many |= has_star(access));
    many
}

fn has_star(access: &Access) -> bool {
    access.index.is_none() && access.field.info().shape != Shape::Scalar
}

fn write_test(f: &mut Formatter<'_>, test: &Test, stars: StarStyle) -> fmt::Result {
    let value = Starred(&test.value, stars);
    let name = |operator: Operator| operator.info().name;
    match &test.predicate {
        Predicate::IsTrue => value.fmt(f),
        Predicate::StartsWith(part) => write!(f, "{}({value}, {})", Function::StartsWith.info().name, Quote(part)),
        Predicate::EndsWith(part) => write!(f, "{}({value}, {})", Function::EndsWith.info().name, Quote(part)),
        Predicate::Bytes(comparison, bytes) => write!(f, "{value} {comparison} {}", Quote(bytes)),
        Predicate::Int(comparison, integer) => write!(f, "{value} {comparison} {integer}"),
        Predicate::Ip(comparison, address) => write!(f, "{value} {comparison} {address}"),
        Predicate::Contains(part) => write!(f, "{value} {} {}", name(Operator::Contains), Quote(part)),
        Predicate::Wildcard { pattern, strict: false } => {
            write!(f, "{value} {} {}", name(Operator::Wildcard), Quote(pattern))
        }
        Predicate::Wildcard { pattern, strict: true } => {
            write!(f, "{value} {} {}", name(Operator::StrictWildcard), Quote(pattern))
        }
        Predicate::Matches(pattern) => {
            write!(f, "{value} {} ", name(Operator::Matches))?;
            write_pattern(f, pattern)
        }
        Predicate::BytesIn(all) => write_set(f, &value, all.iter().map(|bytes| Quote(bytes))),
        Predicate::IntIn(all) => write_set(f, &value, all.iter().map(|&(low, high)| IntRange(low, high))),
        Predicate::IpIn(all) => write_set(f, &value, all.iter().map(Network)),
        Predicate::InList(list) => write!(f, "{value} {} ${list}", name(Operator::In)),
    }
}

fn write_set<T: Display>(f: &mut Formatter<'_>, value: &Starred<'_>, items: impl Iterator<Item = T>) -> fmt::Result {
    write!(f, "{value} {} {{", Operator::In.info().name)?;
    for (at, item) in items.enumerate() {
        if at > 0 {
            f.write_char(' ')?;
        }
        item.fmt(f)?;
    }
    f.write_char('}')
}

/// A pattern verbatim, in a raw string if it contains quotes.
fn write_pattern(f: &mut Formatter<'_>, pattern: &str) -> fmt::Result {
    let Some((_, rest)) = pattern.split_once('"') else {
        return write!(f, "\"{pattern}\"");
    };
    let hashes = |part: &str| part.bytes().take_while(|&byte| byte == b'#').count();
    let most = rest.split('"').map(hashes).max().unwrap_or(0);
    let fence = "#".repeat(most + 1);
    write!(f, "r{fence}\"{pattern}\"{fence}")
}

impl Display for ValueExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Starred(self, StarStyle::Hidden).fmt(f)
    }
}

impl Display for Access {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.field.info().name)?;
        if let Some(key) = &self.key {
            write!(f, "[{}]", Quote(key))?;
        }
        match self.index {
            Some(index) => write!(f, "[{index}]"),
            None => Ok(()),
        }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => Quote(bytes).fmt(f),
            Self::Int(integer) => integer.fmt(f),
            Self::Ip(address) => address.fmt(f),
            Self::Bool(truth) => truth.fmt(f),
        }
    }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let operator = match self {
            Self::Eq => Operator::Eq,
            Self::Ne => Operator::Ne,
            Self::Lt => Operator::Lt,
            Self::Le => Operator::Le,
            Self::Gt => Operator::Gt,
            Self::Ge => Operator::Ge,
        };
        f.write_str(operator.info().name)
    }
}

/// Whether fields with several values are followed by `[*]`.
#[derive(Clone, Copy, PartialEq)]
enum StarStyle {
    Shown,
    Hidden,
}

/// A value, with or without `[*]`.
struct Starred<'v>(&'v ValueExpr, StarStyle);

impl Display for Starred<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            ValueExpr::Literal(literal) => literal.fmt(f),
            ValueExpr::Field(access) => {
                access.fmt(f)?;
                if self.1 == StarStyle::Shown && has_star(access) { f.write_str("[*]") } else { Ok(()) }
            }
            ValueExpr::Call(function, arguments) => {
                write!(f, "{}(", function.info().name)?;
                for (at, argument) in arguments.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", Starred(argument, self.1))?;
                }
                f.write_char(')')
            }
        }
    }
}

/// Bytes as a string in double quotes: UTF-8 verbatim, everything else escaped.
struct Quote<'b>(&'b [u8]);

impl Display for Quote<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                match character {
                    '"' => f.write_str("\\\"")?,
                    '\\' => f.write_str("\\\\")?,
                    '\n' => f.write_str("\\n")?,
                    '\r' => f.write_str("\\r")?,
                    '\t' => f.write_str("\\t")?,
                    control if control.is_control() => {
                        for byte in control.encode_utf8(&mut [0; 4]).bytes() {
                            write!(f, "\\x{byte:02x}")?;
                        }
                    }
                    other => f.write_char(other)?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        f.write_char('"')
    }
}

/// `80` or `80..90`.
struct IntRange(i64, i64);

impl Display for IntRange {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0 == self.1 { self.0.fmt(f) } else { write!(f, "{}..{}", self.0, self.1) }
    }
}

/// A network; one with a single address is printed as that address.
struct Network<'n>(&'n ipnet::IpNet);

impl Display for Network<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.prefix_len() == self.0.max_prefix_len() { self.0.addr().fmt(f) } else { self.0.fmt(f) }
    }
}
