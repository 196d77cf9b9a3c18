//! The place of a message in the log: `1f3a:42` is position 42 since the log began anew as `1f3a`.
//!
//! Positions alone would name other messages after a log was lost. The epoch, a random number, tells the client that they do.
//! There is exactly one text for each cursor, so clients may compare them.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A place in one log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// Chosen at random when the log began.
    pub epoch: u64,
    /// Grows with each message; 0 is before the first.
    pub position: u64,
}

/// Why a text is not a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// There is no `:`.
    #[error("a cursor consists of an epoch and a position, as in 1f3a:42")]
    Colon,
    /// The part before the `:`.
    #[error("the epoch of a cursor has 1 to 16 digits 0-9 and a-f, the first of which is not 0")]
    Epoch,
    /// The part behind the `:`.
    #[error("the position of a cursor is a decimal number below 2^64 without leading zeros")]
    Position,
}

/// Where a subscription begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// With the next message.
    #[default]
    Now,
    /// With the oldest message of the history.
    Oldest,
    /// Behind the message with this id.
    After(Cursor),
}

impl FromStr for Start {
    type Err = CursorError;

    /// Reads what a client gives as `since`: `oldest`, or a cursor.
    fn from_str(text: &str) -> Result<Self, CursorError> {
        if text == "oldest" { Ok(Self::Oldest) } else { text.parse().map(Self::After) }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:x}:{}", self.epoch, self.position)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (epoch, position) = text.split_once(':').ok_or(CursorError::Colon)?;
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let epoch = number(epoch, 16, is_hex).ok_or(CursorError::Epoch)?;
        let position = number(position, 10, |byte| byte.is_ascii_digit()).ok_or(CursorError::Position)?;
        Ok(Self { epoch, position })
    }
}

/// A number in its shortest form; the standard library would also take `+1` and `01`.
fn number(text: &str, radix: u32, is_digit: impl Fn(u8) -> bool) -> Option<u64> {
    let is_shortest = text == "0" || !text.starts_with('0');
    (is_shortest && text.bytes().all(is_digit)).then(|| u64::from_str_radix(text, radix).ok())?
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn other_texts_are_refused() {
        for (text, error) in [
            ("", CursorError::Colon),
            ("42", CursorError::Colon),
            (":1", CursorError::Epoch),
            ("1F:1", CursorError::Epoch),
            ("01:1", CursorError::Epoch),
            ("+1:1", CursorError::Epoch),
            ("10000000000000000:1", CursorError::Epoch),
            ("1:", CursorError::Position),
            ("1:+1", CursorError::Position),
            ("1:00", CursorError::Position),
            ("1:1:1", CursorError::Position),
            ("1:18446744073709551616", CursorError::Position),
        ] {
            assert_eq!(text.parse::<Cursor>(), Err(error), "{text}");
        }
    }

    #[test]
    fn a_subscription_begins_with_the_oldest_message_or_behind_a_cursor() {
        assert_eq!("oldest".parse(), Ok(Start::Oldest));
        assert_eq!("1f3a:42".parse(), Ok(Start::After(Cursor { epoch: 0x1f3a, position: 42 })));
        assert_eq!("newest".parse::<Start>(), Err(CursorError::Colon));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(epoch: u64, position: u64) {
            let cursor = Cursor { epoch, position };
            prop_assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }

        #[test]
        fn what_is_read_is_written_the_same(text in "[0-9a-f]{0,3}:?[0-9]{0,3}") {
            if let Ok(cursor) = text.parse::<Cursor>() {
                prop_assert_eq!(cursor.to_string(), text);
            }
        }
    }
}
