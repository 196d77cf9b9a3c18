//! Every operator of the expression language, in one table, from which the lexer, the checker, the
//! reference page and shell completion are generated.

use crate::ValueType;

/// The operands of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// A value and a constant: `http.host eq "example.com"`.
    Constant,
    /// A value and a string that is a pattern: `http.host wildcard "*.example.com"`.
    Pattern,
    /// A value and a set or a named list: `tcp.dstport in {80 443}`, `ip.src in $office`.
    Set,
    /// Two conditions.
    Conditions,
    /// One condition, to the right.
    Condition,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct OperatorInfo {
    /// The operator.
    pub operator: Operator,
    /// Name in English notation.
    pub name: &'static str,
    /// Alternative spellings (C notation).
    pub aliases: &'static [&'static str],
    /// Types of values that it compares; empty for logical operators.
    pub types: &'static [ValueType],
    /// The operands.
    pub operands: Operands,
    /// An example.
    pub example: &'static str,
    /// Description, in a sentence.
    pub doc: &'static str,
}

macro_rules! operators {
    ($($id:ident $name:literal [$($alias:literal)*] [$($ty:ident)*] $operands:ident $example:literal $doc:literal;)*) => {
        /// A comparison or a logical operator.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Operator { $(#[doc = $doc] $id,)* }

        /// The table, in the order of [`Operator`].
        pub const OPERATORS: &[OperatorInfo] = &[$(OperatorInfo {
            operator: Operator::$id, name: $name, aliases: &[$($alias,)*], types: &[$(ValueType::$ty,)*],
            operands: Operands::$operands, example: $example, doc: $doc,
        },)*];
    };
}

operators! {
    Eq "eq" ["=="] [Bytes Int Bool Ip] Constant r#"http.host eq "example.com""# "The value equals the constant.";
    Ne "ne" ["!="] [Bytes Int Bool Ip] Constant r#"http.request.method ne "GET""# "The value differs from the constant.";
    Lt "lt" ["<"] [Bytes Int] Constant "http.response.code lt 400" "Less than; strings compare byte by byte.";
    Le "le" ["<="] [Bytes Int] Constant "http.request.body.size le 1024" "Less than or equal.";
    Gt "gt" [">"] [Bytes Int] Constant "len(http.request.uri) gt 2048" "Greater than.";
    Ge "ge" [">="] [Bytes Int] Constant "http.response.code ge 500" "Greater than or equal.";
    Contains "contains" [] [Bytes] Constant r#"http.user_agent contains "sqlmap""# "The string occurs somewhere in the value; case-sensitive.";
    Wildcard "wildcard" [] [Bytes] Pattern r#"http.host wildcard "*.example.com""# "The whole value matches the pattern, ignoring the case of ASCII letters: `*` stands for any bytes, `\\*` for a star, `\\\\` for a backslash.";
    StrictWildcard "strict wildcard" [] [Bytes] Pattern r#"http.request.uri.path strict wildcard "/Admin/*""# "Like `wildcard`, but case-sensitive.";
    Matches "matches" ["~"] [Bytes] Pattern r#"http.request.uri.query matches "(?i)union\s+select""# "The regular expression matches somewhere in the value.";
    In "in" [] [Bytes Int Ip] Set "ip.src in {192.0.2.0/24 2001:db8::/32}" "The value is in the set or in the named list; sets of integers and addresses may contain ranges, sets of addresses also networks.";
    Not "not" ["!"] [] Condition "not ssl" "The condition does not hold.";
    And "and" ["&&"] [] Conditions r#"ssl and http.host eq "example.com""# "Both conditions hold.";
    Xor "xor" ["^^"] [] Conditions r#"ssl xor tcp.dstport eq 80"# "Exactly one of the conditions holds.";
    Or "or" ["||"] [] Conditions r#"http.request.method eq "PUT" or http.request.method eq "DELETE""# "At least one condition holds.";
}

impl Operator {
    /// The operator's row in the table.
    #[must_use]
    pub fn info(self) -> &'static OperatorInfo {
        &OPERATORS[self as usize]
    }

    /// Whether it is a comparison rather than a logical operator.
    #[must_use]
    pub fn compares(self) -> bool {
        !self.info().types.is_empty()
    }

    /// The operator written `text`, if there is one.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        OPERATORS.iter().find(|row| row.name == text || row.aliases.contains(&text)).map(|row| row.operator)
    }
}

/// Operators of other languages, each with its equivalent here.
pub(crate) const MISSPELLINGS: &[(&str, Operator)] = &[
    ("===", Operator::Eq),
    ("=~", Operator::Matches),
    ("<>", Operator::Ne),
    ("=<", Operator::Le),
    ("=>", Operator::Ge),
    ("=", Operator::Eq),
    ("&", Operator::And),
    ("|", Operator::Or),
    ("^", Operator::Xor),
    ("is", Operator::Eq),
    ("equal", Operator::Eq),
    ("equals", Operator::Eq),
    ("neq", Operator::Ne),
    ("lte", Operator::Le),
    ("gte", Operator::Ge),
    ("has", Operator::Contains),
    ("includes", Operator::Contains),
    ("like", Operator::Wildcard),
    ("glob", Operator::Wildcard),
    ("strict", Operator::StrictWildcard),
    ("match", Operator::Matches),
    ("regex", Operator::Matches),
    ("regexp", Operator::Matches),
    ("rlike", Operator::Matches),
];
