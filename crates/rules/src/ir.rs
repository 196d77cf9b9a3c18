//! The typed form of an expression, and the engine's only view of it.
//!
//! An expression is a boolean tree over *tests*. A test applies one predicate to one value
//! expression. Value expressions implement equality and hashing, so that the engine can put all
//! tests of the same value (same field, same functions applied) into one lane.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::{Field, Function};

/// A boolean expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// Always true or false.
    Const(bool),
    /// Logical not.
    Not(Box<Expr>),
    /// Conjunction, evaluated left to right until one is false.
    And(Vec<Expr>),
    /// Disjunction, evaluated left to right until one is true.
    Or(Vec<Expr>),
    /// Exclusive or.
    Xor(Box<Expr>, Box<Expr>),
    /// One predicate applied to one value.
    Test(Test),
}

/// One predicate applied to the values of one value expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The tested value.
    pub value: ValueExpr,
    /// How several values combine. A missing item has no values: `Any` is then false.
    pub quantifier: Quantifier,
    /// The predicate.
    pub predicate: Predicate,
}

/// How a predicate combines over several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// True if it holds for at least one value. Also used for single values.
    Any,
    /// True if it holds for every value, and also if there are no values.
    All,
}

/// Something that has values: a field, or a function applied to one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ValueExpr {
    /// A constant; only as a function argument or an action's parameter.
    Literal(Literal),
    /// A field of the transaction.
    Field(Access),
    /// A function applied to arguments. If an argument has several values, so does the call.
    Call(Function, Vec<ValueExpr>),
}

/// A field, and the selected items of fields that have items.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The field.
    pub field: Field,
    /// The item of a map field (`http.request.headers["x"]`); lower case for header names.
    /// `None` on a map field means the values of all items.
    pub key: Option<Vec<u8>>,
    /// The n-th value only (`[0]`); `None` means all of them (`[*]`).
    pub index: Option<u32>,
}

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// Any bytes.
    Bytes(Vec<u8>),
    /// A signed integer.
    Int(i64),
    /// An IP address.
    Ip(IpAddr),
    /// True or false.
    Bool(bool),
}

/// Order comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `eq`, `==`
    Eq,
    /// `ne`, `!=`
    Ne,
    /// `lt`, `<`
    Lt,
    /// `le`, `<=`
    Le,
    /// `gt`, `>`
    Gt,
    /// `ge`, `>=`
    Ge,
}

/// A predicate over one value. The checker guarantees that it fits the value's type.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// The boolean value is true.
    IsTrue,
    /// Byte-wise comparison of bytes (lexicographic for order).
    Bytes(Comparison, Vec<u8>),
    /// Bytes contain these bytes.
    Contains(Vec<u8>),
    /// Bytes begin with these bytes.
    StartsWith(Vec<u8>),
    /// Bytes end with these bytes.
    EndsWith(Vec<u8>),
    /// The whole value matches a wildcard pattern: `*` any bytes, `\*` a star, `\\` a backslash.
    Wildcard {
        /// The pattern as written.
        pattern: Vec<u8>,
        /// `strict wildcard` is case-sensitive. Plain `wildcard` ignores ASCII case.
        strict: bool,
    },
    /// A regular expression (Rust `regex` syntax, bytes, unanchored) matches somewhere.
    Matches(String),
    /// The bytes are one of these, sorted and without duplicates.
    BytesIn(Vec<Vec<u8>>),
    /// Comparison of integers.
    Int(Comparison, i64),
    /// The integer lies in one of these inclusive ranges, sorted and merged.
    IntIn(Vec<(i64, i64)>),
    /// Comparison of addresses (`Eq` and `Ne` only).
    Ip(Comparison, IpAddr),
    /// The address lies in one of these networks.
    IpIn(Vec<IpNet>),
    /// The value is in the named list, whose type matches the value's.
    InList(String),
}

impl Expr {
    /// Calls `see` for every test in the tree, left to right.
    pub fn tests<'e>(&'e self, see: &mut dyn FnMut(&'e Test)) {
        match self {
            Self::Const(_) => {}
            Self::Not(inner) => inner.tests(see),
            Self::And(all) | Self::Or(all) => all.iter().for_each(|one| one.tests(see)),
            Self::Xor(left, right) => {
                left.tests(see);
                right.tests(see);
            }
            Self::Test(test) => see(test),
        }
    }

    /// The latest phase whose data the expression reads.
    #[must_use]
    pub fn phase(&self) -> crate::Phase {
        let mut phase = crate::Phase::Request;
        self.tests(&mut |test| phase = phase.max(test.value.phase()));
        phase
    }
}

impl ValueExpr {
    /// Calls `see` for every field read.
    pub fn fields<'e>(&'e self, see: &mut dyn FnMut(&'e Access)) {
        match self {
            Self::Literal(_) => {}
            Self::Field(access) => see(access),
            Self::Call(_, arguments) => arguments.iter().for_each(|one| one.fields(see)),
        }
    }

    /// The latest phase whose data the value reads.
    #[must_use]
    pub fn phase(&self) -> crate::Phase {
        let mut phase = crate::Phase::Request;
        self.fields(&mut |access| phase = phase.max(access.field.info().phase));
        phase
    }
}
