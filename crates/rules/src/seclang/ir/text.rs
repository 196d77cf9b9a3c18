//! Text with macros.

use super::Variable;

/// Text with `%{VARIABLE.member}` in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Macro(pub Vec<Piece>);

/// A piece of text with macros.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Piece {
    /// Literal text.
    Text(Vec<u8>),
    /// A variable's value, or its first member of this name (lower case).
    Variable(Variable, Option<Vec<u8>>),
}

impl Macro {
    /// A text without macros.
    #[must_use]
    pub fn text(text: &[u8]) -> Self {
        if text.is_empty() { Self::default() } else { Self(vec![Piece::Text(text.to_vec())]) }
    }

    /// The literal text, if there are no macros.
    #[must_use]
    pub fn as_text(&self) -> Option<&[u8]> {
        match self.0.as_slice() {
            [] => Some(b""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }
}
