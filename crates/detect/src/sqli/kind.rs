//! What a token is. The letters are libinjection's, because fingerprints are made of them.

/// Kind of a token; its value is its letter in a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A word without a meaning of its own, or a quoted name.
    Bareword = b'n',
    /// A number, or a name for one.
    Number = b'1',
    /// A quoted text.
    Text = b's',
    /// `@name`, or a name that acts as one (`NULL`).
    Variable = b'v',
    /// An operator, as a sign or as a word (`LIKE`).
    Operator = b'o',
    /// `AND`, `OR`, `&&` and the like.
    Logic = b'&',
    /// A comment.
    Comment = b'c',
    /// A key word with no kind of its own.
    Keyword = b'k',
    /// A function's name.
    Function = b'f',
    /// `UNION` and its like.
    Union = b'U',
    /// `GROUP BY`, `LIMIT`, `HAVING`.
    Group = b'B',
    /// What begins an expression: `SELECT`, `CASE`.
    Expression = b'E',
    /// What begins a statement of Transact-SQL: `DECLARE`, `DROP`.
    Statement = b'T',
    /// A type's name.
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
    /// A dot that belongs to no number.
    Dot = b'.',
    /// `,`
    Comma = b',',
    /// `:`
    Colon = b':',
    /// `;`
    Semicolon = b';',
    /// `\`
    Backslash = b'\\',
    /// A byte that SQL does not know.
    Unknown = b'?',
    /// What databases read differently: the input counts as an attack without more.
    Evil = b'X',
}

impl Kind {
    /// The kind that `words.txt` calls `letter`.
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
            _ => panic!("words.txt has a letter that no word can be"),
        }
    }
}
