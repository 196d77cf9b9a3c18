//! The rule languages, parsed into typed intermediate forms that the engine compiles.
//!
//! Expressions are the conditions of Weir's own rules; [`seclang`] is the language of ModSecurity
//! and of the OWASP Core Rule Set. Each has its own intermediate form ([`ir`], [`seclang::ir`]): an
//! expression has no state, while a rule set is a program with variables and jumps.

mod advice;
mod check;
pub mod confined;
mod constant;
mod error;
mod field;
mod fold;
mod function;
#[cfg(test)]
#[path = "../../../tests/harness/hang.rs"]
mod hang;
pub mod ir;
mod lexer;
pub mod limits;
mod lists;
mod misspelt;
mod operand;
mod operator;
mod parse;
mod parser;
mod pattern;
mod print;
#[cfg(test)]
mod properties;
mod quoted;
pub mod seclang;
mod set;
mod suggest;
mod syntax;

pub use error::ExpressionError;
pub use field::{FIELDS, Field, FieldInfo, Phase, Shape, ValueType};
pub use function::{FUNCTIONS, Function, FunctionInfo};
pub use lists::{ListKind, ListKinds, NoLists};
pub use operator::{OPERATORS, Operands, Operator, OperatorInfo};
pub use parse::{parse, parse_value};
pub use pattern::regex_parser;
pub use suggest::{counted, nearest};
