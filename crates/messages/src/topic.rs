//! Names of topics and filters over them, in the syntax of MQTT 5.0, section 4.7: levels are separated by `/`, `+` stands
//! for one whole level, and `#` at the end for all further ones and for none.
//!
//! Two bounds go beyond MQTT. A name has at most 16 levels. A filter has at most four `+`, because a name is looked up along
//! every combination of `+` and its own levels: with 16 of them, one client's filters could make 65,536 steps of each
//! message, with four it is 9,401 ([`Subscriptions`](crate::Subscriptions)).

/// The most bytes of a name or filter.
pub const MAX_BYTES: usize = 256;
/// The most levels of a name or filter; `#` counts.
pub const MAX_LEVELS: usize = 16;
/// The most `+` in a filter, see above.
pub const MAX_PLUS: usize = 4;

/// The topic of a message: `orders/eu/1234`. Valid UTF-8 without control characters and wildcards, not empty; levels may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TopicName<'a>(&'a str);

/// A set of names: `orders/+/1234`, `orders/#`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TopicFilter<'a>(&'a str);

/// Why a text is not a name or filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopicError {
    /// No text.
    #[error("a topic is not empty")]
    Empty,
    /// Too many bytes.
    #[error("a topic has at most {MAX_BYTES} bytes, this one {0}")]
    TooLong(usize),
    /// Too many levels.
    #[error("a topic has at most {MAX_LEVELS} levels, this one {0}")]
    TooManyLevels(usize),
    /// Not UTF-8.
    #[error("a topic is UTF-8, which this one is not at byte {0}")]
    Encoding(usize),
    /// NUL or another control character.
    #[error("a topic contains no control characters, this one {0:?}")]
    Control(char),
    /// `$` at the beginning.
    #[error("topics that begin with $ are reserved for Weir")]
    Reserved,
    /// A wildcard in a name.
    #[error("{0} is a wildcard, and messages are published to one topic; subscribe to {0}, or name the topic")]
    Wildcard(char),
    /// A wildcard beside other characters of its level.
    #[error("{0} stands for whole levels, as in a/{0}; this level has other characters, too")]
    PartOfLevel(char),
    /// `#` before the last level.
    #[error("# is the last level of a filter, as in a/#; use + for one level")]
    NotLast,
    /// Too many `+`.
    #[error("a filter has at most {MAX_PLUS} levels +, this one {0}; use # for the last levels")]
    TooManyPlus(usize),
}

impl<'a> TopicName<'a> {
    /// Checks a name.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn new(bytes: &'a [u8]) -> Result<Self, TopicError> {
        let text = check(bytes)?;
        match text.chars().find(|char| matches!(char, '+' | '#')) {
            Some(wildcard) => Err(TopicError::Wildcard(wildcard)),
            None => Ok(Self(text)),
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// The levels, at most [`MAX_LEVELS`]; some may be empty.
    pub fn levels(self) -> impl Iterator<Item = &'a str> {
        self.0.split('/')
    }
}

impl<'a> TopicFilter<'a> {
    /// Checks a filter.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn new(bytes: &'a [u8]) -> Result<Self, TopicError> {
        let text = check(bytes)?;
        for level in text.split('/').filter(|level| level.len() > 1) {
            if let Some(wildcard) = level.chars().find(|char| matches!(char, '+' | '#')) {
                return Err(TopicError::PartOfLevel(wildcard));
            }
        }
        if text.find('#').is_some_and(|at| at + 1 < text.len()) {
            return Err(TopicError::NotLast);
        }
        match text.bytes().filter(|byte| *byte == b'+').count() {
            0..=MAX_PLUS => Ok(Self(text)),
            plus => Err(TopicError::TooManyPlus(plus)),
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// The levels, among them `+` and `#`.
    pub fn levels(self) -> impl Iterator<Item = &'a str> {
        self.0.split('/')
    }

    /// Whether it has no wildcards, and so matches one name.
    #[must_use]
    pub fn is_exact(self) -> bool {
        !self.0.contains(['+', '#'])
    }

    /// Whether a name belongs to the set.
    #[must_use]
    pub fn matches(self, name: TopicName<'_>) -> bool {
        let mut levels = name.levels();
        for wanted in self.levels() {
            match (wanted, levels.next()) {
                ("#", _) => return true,
                (_, None) => return false,
                ("+", Some(_)) => {}
                (wanted, Some(level)) if wanted == level => {}
                (_, Some(_)) => return false,
            }
        }
        levels.next().is_none()
    }

    /// Whether every name that `other` matches belongs to this set, too: who may subscribe to this filter may subscribe to
    /// the other.
    #[must_use]
    pub fn covers(self, other: TopicFilter<'_>) -> bool {
        let mut theirs = other.levels();
        // What `#` leaves open begins with a level if nothing before it is a name: `+/#` is `#`, and `/+/#` is `/#`.
        let is_name_before = !matches!(other.0, "#" | "/#");
        let mut ours = self.levels();
        while let Some(wanted) = ours.next() {
            match (wanted, theirs.next()) {
                ("#", _) => return true,
                ("+", Some("#")) => return !is_name_before && ours.next() == Some("#"),
                (_, None | Some("#")) => return false,
                ("+", Some(_)) => {}
                (wanted, Some(level)) if wanted == level => {}
                (_, Some(_)) => return false,
            }
        }
        theirs.next().is_none()
    }
}

/// What holds for names and filters.
fn check(bytes: &[u8]) -> Result<&str, TopicError> {
    if bytes.len() > MAX_BYTES {
        return Err(TopicError::TooLong(bytes.len()));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| TopicError::Encoding(error.valid_up_to()))?;
    if let Some(control) = text.chars().find(|char| char.is_control()) {
        return Err(TopicError::Control(control));
    }
    match text.split('/').count() {
        _ if text.is_empty() => Err(TopicError::Empty),
        _ if text.starts_with('$') => Err(TopicError::Reserved),
        levels if levels > MAX_LEVELS => Err(TopicError::TooManyLevels(levels)),
        _ => Ok(text),
    }
}

#[cfg(test)]
mod tests;
