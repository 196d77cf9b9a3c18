//! The syntax tree: text with positions, nothing resolved yet.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::Operator;
use crate::error::Span;
use crate::ir::{Literal, Quantifier};
use crate::quoted::Quoted;

/// A condition.
#[derive(Debug)]
pub(crate) enum Node<'t> {
    /// Not parsable; the error has been reported.
    Bad,
    Not(Box<Node<'t>>),
    And(Vec<Node<'t>>),
    Or(Vec<Node<'t>>),
    Xor(Box<Node<'t>>, Box<Node<'t>>),
    /// `any(...)` or `all(...)`.
    Quantified(Quantifier, Span, Box<Node<'t>>),
    /// A lone value, which must be true or false.
    Value(Operand<'t>),
    /// A comparison.
    Compare(Operand<'t>, Operator, Span, RightSide<'t>),
}

/// The right side of a comparison.
#[derive(Debug)]
pub(crate) enum RightSide<'t> {
    /// Not parsable; the error has been reported.
    Bad,
    /// `"example.com"`, `80`, or a mistake such as a field.
    Operand(Operand<'t>),
    /// `{1 2 10..20}`
    Set(Span, Vec<(Span, SetItem<'t>)>),
    /// `$office`
    List(Span, &'t str),
}

/// A value: a constant, a field, or a function of values.
#[derive(Debug)]
pub(crate) struct Operand<'t> {
    /// The whole operand with its indexes.
    pub span: Span,
    pub kind: OperandKind<'t>,
    /// `[*]`, `[0]`, `["name"]`, in the order written.
    pub indexes: Vec<(Span, Index)>,
}

#[derive(Debug)]
pub(crate) enum OperandKind<'t> {
    /// A string.
    Text(Quoted),
    /// Any other token without quotes or brackets.
    Word(Word<'t>),
    /// A function call with the span of its name.
    Call(Span, &'t str, Vec<Operand<'t>>),
}

#[derive(Debug)]
pub(crate) enum Index {
    Each,
    Number(u32),
    Key(Vec<u8>),
}

/// An item of a set.
#[derive(Debug)]
pub(crate) enum SetItem<'t> {
    Text(Quoted),
    Word(Word<'t>),
}

/// The classification of a run of word characters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Word<'t> {
    Literal(IntOrIp),
    Bool(bool),
    /// `10..20`, ends included.
    Integers(i64, i64),
    /// `192.0.2.0/24`
    Network(IpNet),
    /// `192.0.2.1..192.0.2.9`, ends included.
    Addresses(IpAddr, IpAddr),
    /// Anything else: a name, or a mistake.
    Name(&'t str),
}

/// The constants that are words rather than strings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum IntOrIp {
    Int(i64),
    Ip(IpAddr),
}

impl<'t> Word<'t> {
    /// Classifies `text`.
    pub fn classify(text: &'t str) -> Self {
        match text {
            "true" => return Self::Bool(true),
            "false" => return Self::Bool(false),
            _ => {}
        }
        if let Some(literal) = constant(text) {
            return Self::Literal(literal);
        }
        if let Ok(network) = text.parse::<IpNet>() {
            return Self::Network(network);
        }
        if let Some((low, high)) = text.split_once("..") {
            match (constant(low), constant(high)) {
                (Some(IntOrIp::Int(low)), Some(IntOrIp::Int(high))) => return Self::Integers(low, high),
                (Some(IntOrIp::Ip(low)), Some(IntOrIp::Ip(high))) => return Self::Addresses(low, high),
                _ => {}
            }
        }
        Self::Name(text)
    }
}

fn constant(text: &str) -> Option<IntOrIp> {
    // `+5` parses in Rust, but is not an integer in this language.
    if let Ok(integer) = text.parse::<i64>() {
        return (!text.starts_with('+')).then_some(IntOrIp::Int(integer));
    }
    text.parse::<IpAddr>().ok().map(IntOrIp::Ip)
}

impl Operand<'_> {
    /// The constant, if this is one.
    pub fn literal(&self) -> Option<Literal> {
        if !self.indexes.is_empty() {
            return None;
        }
        match &self.kind {
            OperandKind::Text(quoted) => Some(Literal::Bytes(quoted.bytes.clone())),
            OperandKind::Word(Word::Literal(IntOrIp::Int(integer))) => Some(Literal::Int(*integer)),
            OperandKind::Word(Word::Literal(IntOrIp::Ip(address))) => Some(Literal::Ip(*address)),
            OperandKind::Word(Word::Bool(truth)) => Some(Literal::Bool(*truth)),
            OperandKind::Word(_) | OperandKind::Call(..) => None,
        }
    }
}
