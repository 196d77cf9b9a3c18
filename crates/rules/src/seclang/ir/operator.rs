//! Operators with their parameters.

use std::sync::Arc;

use ipnet::IpNet;

use super::Macro;
use crate::seclang::pattern::Pattern;

/// An operator with its parameters.
#[derive(Clone, Debug)]
pub enum Operator {
    /// `@unconditionalMatch`.
    UnconditionalMatch,
    /// `@noMatch`.
    NoMatch,
    /// `@rx`, or `@rxGlobal` if `global`. A pattern without macros is already parsed.
    Rx {
        /// The pattern.
        pattern: PatternText,
        /// Whether all matches are captured, not only the first.
        global: bool,
    },
    /// `@pm`, `@pmf`, `@pmFromFile`: one of these phrases occurs, ignoring case. In the order of the file, not empty.
    Pm(Arc<Vec<Vec<u8>>>),
    /// `@within`: the value occurs in the parameter.
    Within(Macro),
    /// `@contains`.
    Contains(Macro),
    /// `@containsWord`.
    ContainsWord(Macro),
    /// `@strmatch`.
    StrMatch(Macro),
    /// `@beginsWith`.
    BeginsWith(Macro),
    /// `@endsWith`.
    EndsWith(Macro),
    /// `@streq`.
    StrEq(Macro),
    /// `@eq`, `@ge`, `@gt`, `@le`, `@lt`.
    Compare(Comparison, Macro),
    /// `@ipMatch`, `@ipMatchFromFile`, `@ipMatchF`.
    IpMatch(Arc<Vec<IpNet>>),
    /// `@detectSQLi`.
    DetectSqli,
    /// `@detectXSS`.
    DetectXss,
    /// `@validateByteRange`: allowed bytes, as bit `b % 64` of word `b / 64`.
    ValidateByteRange([u64; 4]),
    /// `@validateUrlEncoding`.
    ValidateUrlEncoding,
    /// `@validateUtf8Encoding`.
    ValidateUtf8Encoding,
    /// `@verifyCC`, `@verifySSN`, `@verifyCPF`, `@verifySVNR`.
    Verify(Verify, Arc<Pattern>),
    /// `@geoLookup`.
    GeoLookup,
    /// `@rbl`: never matches, because DNS look-ups are not implemented.
    Rbl(String),
}

/// A pattern, which may depend on the request.
#[derive(Clone, Debug)]
pub enum PatternText {
    /// Known at load time.
    Ready(Arc<Pattern>),
    /// Contains macros.
    Macro(Macro),
}

/// Numeric comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `@eq`.
    Eq,
    /// `@ge`.
    Ge,
    /// `@gt`.
    Gt,
    /// `@le`.
    Le,
    /// `@lt`.
    Lt,
}

/// Kinds of numbers with check digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verify {
    /// Payment card numbers.
    CreditCard,
    /// US social security numbers.
    Ssn,
    /// Brazilian taxpayer numbers.
    Cpf,
    /// Austrian social security numbers.
    Svnr,
}
