//! Texts with macros, and their expansion.

use weir_rules::seclang::ir::{Macro, Piece, Variable};

use super::names::{TxId, TxNames};

/// A text that may have macros in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Text {
    /// As it stands.
    Plain(Box<[u8]>),
    /// In pieces.
    Pieces(Box<[TextPiece]>),
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TextPiece {
    /// As it stands.
    Plain(Box<[u8]>),
    /// A variable of `TX`.
    Tx(TxId),
    /// Another variable, or its member of that name.
    Variable(Variable, Option<Box<[u8]>>),
}

impl Text {
    pub(crate) fn new(text: &Macro, names: &mut TxNames) -> Self {
        if let Some(plain) = text.as_text() {
            return Self::Plain(plain.into());
        }
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => TextPiece::Plain(text.as_slice().into()),
            Piece::Variable(Variable::Tx, Some(name)) => TextPiece::Tx(names.intern(name)),
            Piece::Variable(variable, name) => TextPiece::Variable(*variable, name.as_deref().map(Into::into)),
        };
        Self::Pieces(text.0.iter().map(piece).collect())
    }

    /// Variables of `TX` that it reads.
    pub(crate) fn reads(&self) -> impl Iterator<Item = TxId> {
        self.pieces().iter().filter_map(|piece| match piece {
            TextPiece::Tx(id) => Some(*id),
            _ => None,
        })
    }

    /// Whether it reads anything but `TX`.
    pub(crate) fn reads_more_than_tx(&self) -> bool {
        self.pieces().iter().any(|piece| matches!(piece, TextPiece::Variable(..)))
    }

    /// What it comes to with these values of `TX`; `None` if it reads anything else, or one that is not set.
    pub(crate) fn constant<'v>(&self, value: impl Fn(TxId) -> Option<&'v [u8]>) -> Option<Vec<u8>> {
        let mut expanded = Vec::new();
        for piece in self.pieces() {
            expanded.extend_from_slice(match piece {
                TextPiece::Plain(text) => text,
                TextPiece::Tx(id) => value(*id)?,
                TextPiece::Variable(..) => return None,
            });
        }
        Some(expanded)
    }

    pub(crate) fn pieces(&self) -> &[TextPiece] {
        match self {
            Self::Plain(_) => &[],
            Self::Pieces(pieces) => pieces,
        }
    }
}
