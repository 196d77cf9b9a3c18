//! The patterns of `@rx`: PCRE syntax, translated for linear-time matchers.
//!
//! ModSecurity compiles with `PCRE2_DOTALL | PCRE2_MULTILINE` and without UTF (`Regex::Regex` in
//! `src/utils/regex.cc`), so patterns and values are bytes, `.` is any byte, `^` and `$` also match at lines, and
//! letters are ASCII. Rust's syntax looks the same but differs in two dozen places (`\<`, `[]a]`, `\h`, `{` ...).
//! Rewriting the text in these places was considered and rejected: flags, quotations and classes change the meaning
//! of a byte, so finding the places means parsing the pattern. It is therefore parsed as PCRE does, to a tree of byte
//! sets without flags, and printed in one of two syntaxes:
//!
//! - for `regex-syntax` with Unicode and UTF-8 off: [`Pattern::rust`];
//! - for `fancy-regex`, where look-around, back-references or atomic groups need backtracking:
//!   [`Pattern::fancy`].
//!
//! Most of what needs backtracking in other engines does not need it here: [`Form`] says how such a pattern is
//! decided in linear time.
//!
//! Rejected, with a hint: recursion, conditions, verbs, callouts, `\p`, `\X`, `\G`, `(?|`.

mod atomic;
mod class;
mod edge;
mod escape;
mod finite;
mod group;
mod parser;
mod print;
mod set;
#[cfg(test)]
mod tests;
mod tree;
mod words;

pub use edge::Behind;
pub use set::Set;
pub use words::Words;

/// Maximum source length, in bytes. The longest pattern of CRS 4 has 12,182 (rule 932220).
pub const MAX_SOURCE_BYTES: usize = 64 << 10;

/// Maximum nesting of groups, and thus the recursion depth of parser and printer. PCRE's limit is 250.
pub const MAX_DEPTH: u32 = 100;

/// The `nest_limit` needed for parsing [`Pattern::rust`]: `regex-syntax` counts a group, its
/// branches, their items and a repetition as separate levels.
pub const RUST_NEST_LIMIT: u32 = 5 * MAX_DEPTH + 5;

/// A translated pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    source: String,
    rust: String,
    fancy: Option<String>,
    form: Form,
    differs_after_final_newline: bool,
    captures: usize,
}

/// What decides a pattern exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// [`Pattern::rust`].
    Linear,
    /// A text of the same syntax with conditions on the next byte.
    Marked(Marked),
    /// A look-behind at the beginning, and [`Pattern::rust`] for where it holds.
    Behind(Behind),
    /// A comparison of two words.
    Words(Words),
    /// [`Pattern::fancy`] only.
    Backtracking,
}

/// A pattern for `regex-syntax` in which assertions that are not used otherwise have other meanings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// Here [`MARKS`] say that the next byte, if there is one, is not of the set of the same index; and [`END_MARK`]
    /// that the match ends here, and what follows is only looked at.
    pub text: String,
    /// At most as many as there are marks.
    pub sets: Vec<Set>,
}

/// See [`Marked::text`].
pub const MARKS: [&str; 3] = ["\\b{start}", "\\b{end}", "\\b{start-half}"];
/// See [`Marked::text`].
pub const END_MARK: &str = "\\b{end-half}";

/// The reason why a pattern is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    /// Byte offset into the source, at most its length.
    pub offset: usize,
    /// One line, no full stop.
    pub message: String,
    /// Suggested fix.
    pub hint: Option<String>,
}

impl Pattern {
    /// Translates a pattern as it stands between the quotes, with SecLang's own escapes undone. The
    /// empty pattern matches everything, as in ModSecurity.
    ///
    /// # Errors
    /// If PCRE would reject it, or if it uses unsupported syntax.
    pub fn parse(source: &str) -> Result<Self, PatternError> {
        let (tree, captures) = parser::parse(source.as_bytes())?;
        let linear = print::rust(&tree);
        let fancy = (linear.is_inexact || linear.differs_after_final_newline).then(|| print::fancy(&tree));
        let form = if linear.is_inexact { form(&tree) } else { Form::Linear };
        Ok(Self {
            source: source.to_owned(),
            rust: linear.text,
            fancy,
            form,
            differs_after_final_newline: linear.differs_after_final_newline,
            captures,
        })
    }

    /// The text that was parsed.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// For `regex-syntax` with `unicode(false)`, `utf8(false)` and [`RUST_NEST_LIMIT`], in ASCII.
    /// Same matches, same groups, with one exception: for a group that can match nothing within a
    /// repetition (`(a*)*`), PCRE reports the last, empty iteration and Rust the one before.
    ///
    /// If the form is not [`Form::Linear`], it matches a superset of the pattern's matches, its groups
    /// have no meaning, and it serves as a filter.
    #[must_use]
    pub fn rust(&self) -> &str {
        &self.rust
    }

    /// For `fancy-regex`, in ASCII: to be run on the value with each byte turned into the character of the same
    /// number (U+0000 to U+00FF; see [`widen`]), so that every value is text. [`narrow_offset`] converts offsets
    /// back. Absent if [`Self::rust`] is always exact.
    #[must_use]
    pub fn fancy(&self) -> Option<&str> {
        self.fancy.as_deref()
    }

    /// What decides the pattern.
    #[must_use]
    pub const fn form(&self) -> &Form {
        &self.form
    }

    /// Whether only [`Self::fancy`] is exact.
    #[must_use]
    pub const fn needs_backtracking(&self) -> bool {
        matches!(self.form, Form::Backtracking)
    }

    /// Whether [`Self::rust`] is inexact for values that end in a newline: PCRE's `^` does not
    /// match after a newline that ends the value, Rust's does, and this pattern can match the empty
    /// string there (`^$`). Matchers of forms with marks know the end of the value.
    #[must_use]
    pub const fn differs_after_final_newline(&self) -> bool {
        self.differs_after_final_newline
    }

    /// The number of capture groups, not counting the whole match.
    #[must_use]
    pub const fn captures(&self) -> usize {
        self.captures
    }
}

/// The form of a pattern that [`Pattern::rust`] does not express.
fn form(tree: &tree::Node) -> Form {
    let marked = print::marked(tree);
    if !marked.linear.is_inexact {
        return Form::Marked(Marked { text: marked.linear.text, sets: marked.sets });
    }
    let behind = || edge::behind(tree).map(Form::Behind);
    let words = || words::words(tree).map(Form::Words);
    behind().or_else(words).unwrap_or(Form::Backtracking)
}

/// Appends the value to `text` in the encoding of [`Pattern::fancy`]: bytes from 0x80 take two.
pub fn widen(value: &[u8], text: &mut String) {
    text.reserve(value.len());
    text.extend(value.iter().map(|&byte| char::from(byte)));
}

/// Converts an offset into the [`widen`]ed value to an offset into the value.
#[must_use]
pub fn narrow_offset(text: &str, offset: usize) -> usize {
    text[..offset].chars().count()
}
