//! Operators: what a value is tested for.

use super::Row;
use crate::seclang::ir::{Comparison, Verify};

/// What the parser does with an operator.
#[derive(Clone, Copy, Debug)]
pub(in crate::seclang) enum Kind {
    /// Takes no parameter.
    Plain(Plain),
    /// Takes a text with macros.
    Text(Text),
    /// Takes a pattern; whether all matches are captured.
    Rx(bool),
    /// Takes phrases.
    Pm,
    /// Takes a file of phrases.
    PmFromFile,
    /// Takes addresses and networks.
    IpMatch,
    /// Takes a file of them.
    IpMatchFromFile,
    /// Takes numbers of bytes and ranges.
    ByteRange,
    /// Takes a number with macros.
    Compare(Comparison),
    /// Takes a pattern of numbers with check digits.
    Verify(Verify),
    /// Takes the zone of a blocking list.
    Rbl,
    /// Not here.
    Lacking,
}

/// Operators without parameter.
#[derive(Clone, Copy, Debug)]
pub(in crate::seclang) enum Plain {
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
pub(in crate::seclang) enum Text {
    Within,
    Contains,
    ContainsWord,
    StrMatch,
    BeginsWith,
    EndsWith,
    StrEq,
}

type Operator = Row<Kind>;

const fn row(name: &'static str, kind: Kind, meaning: &'static str) -> Operator {
    Row::new(name, kind, meaning)
}

const fn lacking(name: &'static str, meaning: &'static str, why: &'static str) -> Operator {
    Row::new(name, Kind::Lacking, meaning).unsupported(why)
}

const NO_SCHEMAS: &str = "XML is read for its texts and attributes only";

/// All operators, by name.
#[rustfmt::skip]
pub(in crate::seclang) const OPERATORS: &[Operator] = &[
    row("beginsWith", Kind::Text(Text::BeginsWith), "the value begins with the parameter"),
    row("contains", Kind::Text(Text::Contains), "the parameter occurs in the value"),
    row("containsWord", Kind::Text(Text::ContainsWord), "the parameter occurs in the value as a word of its own"),
    row("detectSQLi", Kind::Plain(Plain::DetectSqli), "the value is SQL injection, by libinjection's rules"),
    row("detectXSS", Kind::Plain(Plain::DetectXss), "the value is XSS, by libinjection's rules"),
    row("endsWith", Kind::Text(Text::EndsWith), "the value ends with the parameter"),
    row("eq", Kind::Compare(Comparison::Eq), "the value, as a number, is the parameter"),
    lacking("fuzzyHash", "the value is like one of a list of files", "there is no list of fuzzy hashes"),
    row("ge", Kind::Compare(Comparison::Ge), "the value, as a number, is at least the parameter"),
    row("geoLookup", Kind::Plain(Plain::GeoLookup), "the value is an address whose place is known; fills `GEO`")
        .off("never matches unless the policy names a geographic database"),
    lacking("gsbLookup", "the value holds an address that Google Safe Browsing lists", "ModSecurity v3 does not have it either"),
    row("gt", Kind::Compare(Comparison::Gt), "the value, as a number, is greater than the parameter"),
    lacking("inspectFile", "a script judges an upload", "rules run no programs"),
    row("ipMatch", Kind::IpMatch, "the value is an address of the list, or in one of its networks"),
    row("ipMatchFromFile", Kind::IpMatchFromFile, "the same with a list in a file: one a line, `#` begins a comment")
        .alias(&["ipMatchF"]),
    row("le", Kind::Compare(Comparison::Le), "the value, as a number, is at most the parameter"),
    row("lt", Kind::Compare(Comparison::Lt), "the value, as a number, is less than the parameter"),
    row("noMatch", Kind::Plain(Plain::NoMatch), "never matches"),
    row("pm", Kind::Pm, "one of the phrases occurs in the value, whatever the case"),
    row("pmFromFile", Kind::PmFromFile, "the same with phrases in a file: one a line, lines that begin with `#` are comments")
        .alias(&["pmf"]),
    row("rbl", Kind::Rbl, "the value is an address that a DNS blocking list has")
        .off("never matches: a request does not wait for DNS"),
    lacking("rsub", "replaces in the body", "ModSecurity v3 does not have it either"),
    row("rx", Kind::Rx(false), "the pattern matches; what a rule without operator means"),
    row("rxGlobal", Kind::Rx(true), "the pattern matches; all its matches are captured"),
    row("streq", Kind::Text(Text::StrEq), "the value is the parameter"),
    row("strmatch", Kind::Text(Text::StrMatch), "the parameter occurs in the value"),
    row("unconditionalMatch", Kind::Plain(Plain::UnconditionalMatch), "matches always"),
    row("validateByteRange", Kind::ByteRange, "a byte of the value is not in the ranges"),
    lacking("validateDTD", "an XML body does not follow the DTD", NO_SCHEMAS),
    lacking("validateHash", "a link's hash is wrong", "ModSecurity v3 does not have it either"),
    lacking("validateSchema", "an XML body does not follow the schema", NO_SCHEMAS),
    row("validateUrlEncoding", Kind::Plain(Plain::ValidateUrlEncoding), "an escape of the value is wrong"),
    row("validateUtf8Encoding", Kind::Plain(Plain::ValidateUtf8Encoding), "the value is no UTF-8"),
    row("verifyCC", Kind::Verify(Verify::CreditCard), "the pattern finds a number of a payment card"),
    row("verifyCPF", Kind::Verify(Verify::Cpf), "the pattern finds a Brazilian taxpayer's number"),
    row("verifySSN", Kind::Verify(Verify::Ssn), "the pattern finds a US social security number"),
    row("verifySVNR", Kind::Verify(Verify::Svnr), "the pattern finds an Austrian social security number"),
    row("within", Kind::Text(Text::Within), "the value occurs in the parameter"),
];
