//! Operators of rules.

use super::Row;
use crate::seclang::ir::{Comparison, Verify};

/// Operators as the parser distinguishes them.
#[derive(Clone, Copy, Debug)]
pub(in crate::seclang) enum OperatorKind {
    /// Takes no parameter.
    Plain(PlainOperator),
    /// Takes a text with macros.
    Text(TextOperator),
    /// Takes a pattern; whether all matches are captured.
    Rx(bool),
    /// Takes phrases.
    Pm,
    /// Takes a file of phrases.
    PmFromFile,
    /// Takes addresses and networks.
    IpMatch,
    /// Takes a file of addresses and networks.
    IpMatchFromFile,
    /// Takes bytes and ranges of bytes.
    ByteRange,
    /// Takes a number with macros.
    Compare(Comparison),
    /// Takes a pattern of numbers with check digits.
    Verify(Verify),
    /// Takes the zone of a DNS blocking list.
    Rbl,
    /// Not supported.
    Lacking,
}

/// Operators without parameter.
#[derive(Clone, Copy, Debug)]
pub(in crate::seclang) enum PlainOperator {
    UnconditionalMatch,
    NoMatch,
    DetectSqli,
    DetectXss,
    ValidateUrlEncoding,
    ValidateUtf8Encoding,
    GeoLookup,
}

/// Operators on a text.
#[derive(Clone, Copy, Debug)]
pub(in crate::seclang) enum TextOperator {
    Within,
    Contains,
    ContainsWord,
    StrMatch,
    BeginsWith,
    EndsWith,
    StrEq,
}

type Operator = Row<OperatorKind>;

const fn row(name: &'static str, kind: OperatorKind, meaning: &'static str) -> Operator {
    Row::new(name, kind, meaning)
}

const fn lacking(name: &'static str, meaning: &'static str, why: &'static str) -> Operator {
    Row::new(name, OperatorKind::Lacking, meaning).unsupported(why)
}

const NO_SCHEMAS: &str = "XML is read for its texts and attributes only";

/// All operators, by name.
#[rustfmt::skip]
pub(in crate::seclang) const OPERATORS: &[Operator] = &[
    row("beginsWith", OperatorKind::Text(TextOperator::BeginsWith), "the value begins with the parameter"),
    row("contains", OperatorKind::Text(TextOperator::Contains), "the parameter occurs in the value"),
    row("containsWord", OperatorKind::Text(TextOperator::ContainsWord), "the parameter occurs in the value as a whole word"),
    row("detectSQLi", OperatorKind::Plain(PlainOperator::DetectSqli), "the value is SQL injection, by libinjection's rules"),
    row("detectXSS", OperatorKind::Plain(PlainOperator::DetectXss), "the value is XSS, by libinjection's rules"),
    row("endsWith", OperatorKind::Text(TextOperator::EndsWith), "the value ends with the parameter"),
    row("eq", OperatorKind::Compare(Comparison::Eq), "the value, as a number, equals the parameter"),
    lacking("fuzzyHash", "the value resembles one of a list of files", "there is no list of fuzzy hashes"),
    row("ge", OperatorKind::Compare(Comparison::Ge), "the value, as a number, is at least the parameter"),
    row("geoLookup", OperatorKind::Plain(PlainOperator::GeoLookup), "the value is an address whose location is known; fills `GEO`")
        .off("never matches unless the policy names a geographic database"),
    lacking("gsbLookup", "the value contains a URL listed by Google Safe Browsing", "not in ModSecurity v3 either"),
    row("gt", OperatorKind::Compare(Comparison::Gt), "the value, as a number, is greater than the parameter"),
    lacking("inspectFile", "a script judges an upload", "rules cannot run programs"),
    row("ipMatch", OperatorKind::IpMatch, "the value is an address in the list or in one of its networks"),
    row("ipMatchFromFile", OperatorKind::IpMatchFromFile, "the same with a list in a file: one per line, `#` begins a comment")
        .alias(&["ipMatchF"]),
    row("le", OperatorKind::Compare(Comparison::Le), "the value, as a number, is at most the parameter"),
    row("lt", OperatorKind::Compare(Comparison::Lt), "the value, as a number, is less than the parameter"),
    row("noMatch", OperatorKind::Plain(PlainOperator::NoMatch), "never matches"),
    row("pm", OperatorKind::Pm, "one of the phrases occurs in the value, ignoring case"),
    row("pmFromFile", OperatorKind::PmFromFile, "the same with phrases in a file: one per line, lines that begin with `#` are comments")
        .alias(&["pmf"]),
    row("rbl", OperatorKind::Rbl, "the value is an address on a DNS blocking list")
        .off("never matches: a request does not wait for DNS"),
    lacking("rsub", "replaces text in the body", "not in ModSecurity v3 either"),
    row("rx", OperatorKind::Rx(false), "the pattern matches; the default operator"),
    row("rxGlobal", OperatorKind::Rx(true), "the pattern matches; all its matches are captured"),
    row("streq", OperatorKind::Text(TextOperator::StrEq), "the value equals the parameter"),
    row("strmatch", OperatorKind::Text(TextOperator::StrMatch), "the parameter occurs in the value"),
    row("unconditionalMatch", OperatorKind::Plain(PlainOperator::UnconditionalMatch), "always matches"),
    row("validateByteRange", OperatorKind::ByteRange, "a byte of the value is not in the ranges"),
    lacking("validateDTD", "an XML body does not follow the DTD", NO_SCHEMAS),
    lacking("validateHash", "a link's hash is wrong", "not in ModSecurity v3 either"),
    lacking("validateSchema", "an XML body does not follow the schema", NO_SCHEMAS),
    row("validateUrlEncoding", OperatorKind::Plain(PlainOperator::ValidateUrlEncoding), "the value contains a malformed escape"),
    row("validateUtf8Encoding", OperatorKind::Plain(PlainOperator::ValidateUtf8Encoding), "the value is not UTF-8"),
    row("verifyCC", OperatorKind::Verify(Verify::CreditCard), "the pattern finds a payment card number"),
    row("verifyCPF", OperatorKind::Verify(Verify::Cpf), "the pattern finds a Brazilian taxpayer number"),
    row("verifySSN", OperatorKind::Verify(Verify::Ssn), "the pattern finds a US social security number"),
    row("verifySVNR", OperatorKind::Verify(Verify::Svnr), "the pattern finds an Austrian social security number"),
    row("within", OperatorKind::Text(TextOperator::Within), "the value occurs in the parameter"),
];
