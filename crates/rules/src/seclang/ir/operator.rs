//! Operators with their parameters.

use std::sync::Arc;

use ipnet::IpNet;

use super::Macro;
use crate::seclang::pattern::Pattern;

/// Operators with their parameters.
#[derive(Clone, Debug)]
pub enum Operator {
    /// `@unconditionalMatch`.
    UnconditionalMatch,
    /// `@noMatch`.
    NoMatch,
    /// `@rx`, and `@rxGlobal` where `global`. Without macros the pattern is ready.
    Rx {
        /// The pattern.
        pattern: PatternText,
        /// Whether all matches are captured, not only the first.
        global: bool,
    },
    /// `@pm`, `@pmf`, `@pmFromFile`: phrases, of which one occurs whatever the case. In the order
    /// of the file, not empty.
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
    /// `@validateByteRange`: bytes that are allowed, bit `b % 64` of word `b / 64`.
    ValidateByteRange([u64; 4]),
    /// `@validateUrlEncoding`.
    ValidateUrlEncoding,
    /// `@validateUtf8Encoding`.
    ValidateUtf8Encoding,
    /// `@verifyCC`, `@verifySSN`, `@verifyCPF`, `@verifySVNR`.
    Verify(Verify, Arc<Pattern>),
    /// `@geoLookup`.
    GeoLookup,
    /// `@rbl`: never matches unless look-ups are switched on, which nothing does yet.
    Rbl(String),
}

/// A pattern, perhaps only known in the request.
#[derive(Clone, Debug)]
pub enum PatternText {
    /// Known.
    Ready(Arc<Pattern>),
    /// With macros in it.
    Macro(Macro),
}

/// How numbers are compared.
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

/// Numbers with check digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verify {
    /// Payment cards.
    CreditCard,
    /// US social security.
    Ssn,
    /// Brazilian taxpayers.
    Cpf,
    /// Austrian social security.
    Svnr,
}
