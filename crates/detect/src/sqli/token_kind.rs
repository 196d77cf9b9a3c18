//! Token types. The letters are libinjection's, because fingerprints consist of them.

/// The type of a token; its value is its letter in a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum TokenKind {
    /// A word without special meaning, or a quoted name.
    Bareword = b'n',
    /// A number, or a name for one.
    Number = b'1',
    /// A quoted text.
    Text = b's',
    /// `@name`, or a name that acts as one (`NULL`).
    Variable = b'v',
    /// An operator, as a sign or as a word (`LIKE`).
    Operator = b'o',
    /// `AND`, `OR`, `&&` and similar operators.
    Logic = b'&',
    /// A comment.
    Comment = b'c',
    /// A keyword without a type of its own.
    Keyword = b'k',
    /// A function name.
    Function = b'f',
    /// `UNION` and similar keywords.
    Union = b'U',
    /// `GROUP BY`, `LIMIT`, `HAVING`.
    Group = b'B',
    /// A keyword that begins an expression: `SELECT`, `CASE`.
    Expression = b'E',
    /// A keyword that begins a Transact-SQL statement: `DECLARE`, `DROP`.
    Statement = b'T',
    /// A type name.
    Type = b't',
    /// `COLLATE`.
    Collate = b'A',
    /// `(`
    Open = b'(',
    /// `)`
    Close = b')',
    /// `{`
    OpenBrace = b'{',
    /// `}`
    CloseBrace = b'}',
    /// A dot that is not part of a number.
    Dot = b'.',
    /// `,`
    Comma = b',',
    /// `:`
    Colon = b':',
    /// `;`
    Semicolon = b';',
    /// `\`
    Backslash = b'\\',
    /// A byte unknown to SQL.
    Unknown = b'?',
    /// A construct that databases read differently: it makes the input an attack by itself.
    Evil = b'X',
}

impl TokenKind {
    /// The token type for `letter` in `words.txt`.
    pub(crate) const fn of_letter(letter: u8) -> Self {
        match letter {
            b'1' => Self::Number,
            b'&' => Self::Logic,
            b'A' => Self::Collate,
            b'B' => Self::Group,
            b'E' => Self::Expression,
            b'T' => Self::Statement,
            b'U' => Self::Union,
            b'f' => Self::Function,
            b'k' => Self::Keyword,
            b'n' => Self::Bareword,
            b'o' => Self::Operator,
            b't' => Self::Type,
            b'v' => Self::Variable,
            _ => panic!("words.txt contains an unknown letter"),
        }
    }
}
