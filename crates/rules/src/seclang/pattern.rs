//! The patterns of `@rx`: PCRE's syntax, translated for matchers that are linear.
//!
//! ModSecurity compiles with `PCRE2_DOTALL | PCRE2_MULTILINE` and without UTF (`Regex::Regex` in
//! `src/utils/regex.cc`), so a pattern and what it looks at are bytes, `.` is any byte, `^` and
//! `$` also stand at lines, and letters are ASCII. Rust's syntax looks the same and differs in
//! two dozen places (`\<`, `[]a]`, `\h`, `{` ...). Rewriting the text in these places was tried
//! on paper and lost: flags, quotations and classes change what a byte means, so whoever finds
//! the places has parsed the pattern. It is therefore parsed as PCRE does, to a tree of byte
//! sets in which no flag is left, and printed in one of two syntaxes:
//!
//! - for `regex-syntax` with Unicode and UTF-8 off: [`Pattern::rust`];
//! - for `fancy-regex`, where look-around, back-references or atomic groups need backtracking:
//!   [`Pattern::fancy`].
//!
//! Refused, with a hint: recursion, conditions, verbs, callouts, `\p`, `\X`, `\G`, `(?|`.

mod atomic;
mod class;
mod escape;
mod group;
mod inner;
mod parser;
mod print;
mod set;
#[cfg(test)]
mod tests;
mod tree;

/// Longest source, in bytes. The longest of CRS 4 has 12,182 (rule 932220).
pub const MAX_SOURCE_BYTES: usize = 64 << 10;

/// Deepest nesting of groups: parsing and printing recur so far. PCRE's own limit is 250.
pub const MAX_DEPTH: u32 = 100;

/// The `nest_limit` that whoever parses [`Pattern::rust`] must allow: `regex-syntax` counts a
/// group, its branches, their items and a repetition as levels of their own.
pub const RUST_NEST_LIMIT: u32 = 5 * MAX_DEPTH + 5;

/// A translated pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    source: String,
    rust: String,
    fancy: Option<String>,
    inner: Option<String>,
    needs_backtracking: bool,
    differs_after_final_newline: bool,
    captures: usize,
}

/// Why a pattern is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    /// Where: a byte offset into the source, at most its length.
    pub offset: usize,
    /// What is wrong: one line, no full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Pattern {
    /// Translates a pattern as it stands between the quotes, SecLang's own escapes undone. The
    /// empty one matches everything, as in ModSecurity.
    ///
    /// # Errors
    /// If PCRE would refuse it, or it uses what is not supported.
    pub fn parse(source: &str) -> Result<Self, PatternError> {
        let (tree, captures) = parser::parse(source.as_bytes())?;
        let linear = print::rust(&tree);
        let fancy = (linear.is_inexact || linear.differs_after_final_newline).then(|| print::fancy(&tree));
        let inner = if linear.is_inexact { inner::inner(&tree).map(|tree| print::rust(&tree)) } else { None };
        Ok(Self {
            source: source.to_owned(),
            inner: inner
                .filter(|inner| !inner.is_inexact && !inner.differs_after_final_newline)
                .map(|inner| inner.text),
            rust: linear.text,
            fancy,
            needs_backtracking: linear.is_inexact,
            differs_after_final_newline: linear.differs_after_final_newline,
            captures,
        })
    }

    /// The text that was parsed.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// For `regex-syntax` with `unicode(false)`, `utf8(false)` and [`RUST_NEST_LIMIT`], ASCII.
    /// Same matches, same groups, with one exception: of a group that can match nothing within a
    /// repetition (`(a*)*`) PCRE reports the last, empty turn, Rust the one before.
    ///
    /// If [`Self::needs_backtracking`], it matches whatever the pattern matches and more, its
    /// groups mean nothing, and it serves to filter.
    #[must_use]
    pub fn rust(&self) -> &str {
        &self.rust
    }

    /// For `fancy-regex`, ASCII: over the value with each byte made the character of that number
    /// (U+0000 to U+00FF; see [`widen`]), so that every value is text. Offsets come back through
    /// [`narrow_offset`]. Present where it may be needed: [`Self::needs_backtracking`] or
    /// [`Self::differs_after_final_newline`].
    #[must_use]
    pub fn fancy(&self) -> Option<&str> {
        self.fancy.as_deref()
    }

    /// The counterpart of [`Self::rust`] for a pattern that [`Self::needs_backtracking`]: matches
    /// only values that the pattern matches too, though not all, and perhaps elsewhere in them.
    /// Where only the verdict counts, backtracking is left for values between the two.
    #[must_use]
    pub fn inner(&self) -> Option<&str> {
        self.inner.as_deref()
    }

    /// Whether only [`Self::fancy`] is exact.
    #[must_use]
    pub const fn needs_backtracking(&self) -> bool {
        self.needs_backtracking
    }

    /// Whether [`Self::rust`] is inexact for values that end in a newline: PCRE's `^` does not
    /// stand behind a newline that ends the value, Rust's does, and this pattern can match
    /// nothing there (`^$`). Such values, rare, want [`Self::fancy`].
    #[must_use]
    pub const fn differs_after_final_newline(&self) -> bool {
        self.differs_after_final_newline
    }

    /// The number of capturing groups, the whole match not among them.
    #[must_use]
    pub const fn captures(&self) -> usize {
        self.captures
    }
}

/// Appends to `text` the value as [`Pattern::fancy`] wants it: bytes from 80 on take two.
pub fn widen(value: &[u8], text: &mut String) {
    text.reserve(value.len());
    text.extend(value.iter().map(|&byte| char::from(byte)));
}

/// The offset into a value that belongs to an offset into its [`widen`]ed form.
#[must_use]
pub fn narrow_offset(text: &str, offset: usize) -> usize {
    text[..offset].chars().count()
}
