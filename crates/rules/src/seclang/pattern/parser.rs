//! Parses patterns as PCRE does: branches, items, quantifiers.

use super::class;
use super::escape;
use super::group;
use super::set::Set;
use super::tree::{Assertion, Node, RepeatMode};
use super::{MAX_SOURCE_BYTES, PatternError};

/// PCRE's largest repetition count.
const MAX_COUNT: u32 = 65_535;

/// Inline flags such as `(?i)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags {
    pub(super) caseless: bool,
    pub(super) multiline: bool,
    pub(super) dotall: bool,
    /// White space and comments are ignored.
    pub(super) extended: bool,
    /// Space and tab are ignored in classes too.
    pub(super) extended_more: bool,
    /// Quantifiers are lazy, and greedy with `?`.
    pub(super) ungreedy: bool,
    /// Plain parentheses do not capture.
    pub(super) no_capture: bool,
}

impl Flags {
    /// The flags that `(?^)` sets, except `ungreedy`.
    pub(super) const NONE: Self = Self {
        caseless: false,
        multiline: false,
        dotall: false,
        extended: false,
        extended_more: false,
        ungreedy: false,
        no_capture: false,
    };
    /// The flags with which ModSecurity compiles.
    const MODSECURITY: Self = Self { multiline: true, dotall: true, ..Self::NONE };
}

pub(super) struct Parser<'s> {
    pub(super) source: &'s [u8],
    pub(super) at: usize,
    pub(super) flags: Flags,
    /// Capture groups opened so far, and the names of the named ones.
    pub(super) groups: u32,
    pub(super) names: Vec<(&'s [u8], u32)>,
    /// Number of open groups.
    pub(super) depth: u32,
    /// The highest group number referred to, and the offset of the reference.
    pub(super) highest_reference: (u32, usize),
    /// Whether the parser is between `\Q` and `\E`.
    quoting: bool,
}

/// Parses the pattern; returns the tree and the number of capture groups.
pub(super) fn parse(source: &[u8]) -> Result<(Node, usize), PatternError> {
    let mut parser = Parser {
        source,
        at: 0,
        flags: Flags::MODSECURITY,
        groups: 0,
        names: Vec::new(),
        depth: 0,
        highest_reference: (0, 0),
        quoting: false,
    };
    if source.len() > MAX_SOURCE_BYTES {
        return parser.fail(MAX_SOURCE_BYTES, format!("the pattern is longer than {MAX_SOURCE_BYTES} bytes"));
    }
    if let Some(at) = source.iter().position(|&byte| byte == 0) {
        return parser.fail_with(at, "a zero byte in the pattern", "write it as `\\x00`");
    }
    let tree = parser.branches()?;
    if parser.at < source.len() {
        return parser.fail_with(parser.at, "`)` without `(`", "write `\\)` for the character");
    }
    let (reference, at) = parser.highest_reference;
    if reference > parser.groups {
        let message = format!("no group {reference} to refer to: the pattern has {}", parser.groups);
        return parser.fail(at, message);
    }
    Ok((tree, parser.groups as usize))
}

impl<'s> Parser<'s> {
    pub(super) fn fail<T>(&self, offset: usize, message: impl Into<String>) -> Result<T, PatternError> {
        Err(PatternError { offset: offset.min(self.source.len()), message: message.into(), hint: None })
    }

    pub(super) fn fail_with<T>(
        &self,
        offset: usize,
        message: impl Into<String>,
        hint: &str,
    ) -> Result<T, PatternError> {
        self.fail(offset, message).map_err(|error: PatternError| PatternError { hint: Some(hint.to_owned()), ..error })
    }

    pub(super) fn rest(&self) -> &'s [u8] {
        &self.source[self.at..]
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.source.get(self.at).copied()
    }

    pub(super) fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Takes `text` if it comes next.
    pub(super) fn eat(&mut self, text: &[u8]) -> bool {
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    /// Takes everything up to and including `end`; takes nothing and returns `None` if it does not occur.
    pub(super) fn until(&mut self, end: u8) -> Option<&'s [u8]> {
        let length = self.rest().iter().position(|&byte| byte == end)?;
        let text = &self.rest()[..length];
        self.at += length + 1;
        Some(text)
    }

    /// Takes a decimal number if one comes next; a huge one saturates.
    pub(super) fn number(&mut self) -> Option<u32> {
        let digits = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = &self.rest()[..digits];
        self.at += digits;
        let add = |value: u32, digit: &u8| value.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
        (digits > 0).then(|| text.iter().fold(0, add))
    }

    /// Parses branches up to a `)` or the end.
    pub(super) fn branches(&mut self) -> Result<Node, PatternError> {
        let mut branches = vec![self.branch()?];
        while self.eat(b"|") {
            branches.push(self.branch()?);
        }
        Ok(if branches.len() == 1 { branches.remove(0) } else { Node::Either(branches) })
    }

    fn branch(&mut self) -> Result<Node, PatternError> {
        let mut items = Vec::new();
        loop {
            self.skip()?;
            let item = match self.peek() {
                None => break,
                Some(byte) if self.quoting => {
                    self.at += 1;
                    Some(self.literal(byte))
                }
                Some(b'|' | b')') => break,
                Some(byte) => self.item(byte)?,
            };
            if let Some(item) = item {
                items.push(self.quantified(item)?);
            }
        }
        Ok(match items.len() {
            0 => Node::Empty,
            1 => items.remove(0),
            _ => Node::Concat(items),
        })
    }

    /// Skips insignificant text: comments, white space in extended mode, and the ends of quotations.
    fn skip(&mut self) -> Result<(), PatternError> {
        loop {
            let start = self.at;
            if self.quoting {
                self.quoting = !self.eat(b"\\E");
            } else if self.eat(b"\\Q") {
                self.quoting = true;
            } else if self.eat(b"(?#") {
                if self.until(b')').is_none() {
                    return self.fail_with(start, "a comment that is not closed", "it ends at the next `)`");
                }
            } else if !self.eat(b"\\E") && self.flags.extended {
                match self.peek() {
                    Some(b' ' | b'\t'..=b'\r') => self.at += 1,
                    Some(b'#') if self.until(b'\n').is_none() => self.at = self.source.len(),
                    _ => {}
                }
            }
            if self.at == start {
                return Ok(());
            }
        }
    }

    /// Parses one item; `None` if it only sets flags.
    fn item(&mut self, byte: u8) -> Result<Option<Node>, PatternError> {
        let start = self.at;
        if self.quantifier()?.is_some() {
            return self.fail_with(start, "nothing to repeat", "write a backslash before it for the character");
        }
        self.at += 1;
        let Flags { multiline, dotall, .. } = self.flags;
        Ok(Some(match byte {
            b'(' => return group::open(self, start),
            b'[' => Node::Set(class::class(self, start)?),
            b'\\' => escape::item(self, start)?,
            b'.' if dotall => Node::Set(Set::ALL),
            b'.' => Node::Set(Set::of(b"\n").not()),
            b'^' if multiline => Node::Assert(Assertion::LineStart),
            b'^' => Node::Assert(Assertion::TextStart),
            b'$' if multiline => Node::Assert(Assertion::LineEnd),
            b'$' => Node::Assert(Assertion::LastLineEnd),
            _ => self.literal(byte),
        }))
    }

    pub(super) fn literal(&self, byte: u8) -> Node {
        let set = Set::of(&[byte]);
        Node::Set(if self.flags.caseless { set.caseless() } else { set })
    }

    /// Applies the quantifier after `item`, if there is one.
    fn quantified(&mut self, item: Node) -> Result<Node, PatternError> {
        self.skip()?;
        if self.quoting {
            return Ok(item);
        }
        let Some((min, max)) = self.quantifier()? else { return Ok(item) };
        let mode = match self.peek() {
            Some(b'+') => RepeatMode::Possessive,
            Some(b'?') if self.flags.ungreedy => RepeatMode::Greedy,
            Some(b'?') => RepeatMode::Lazy,
            _ if self.flags.ungreedy => RepeatMode::Lazy,
            _ => RepeatMode::Greedy,
        };
        self.at += usize::from(matches!(self.peek(), Some(b'+' | b'?')));
        Ok(match (item, min, mode) {
            (Node::Empty, ..) => Node::Empty,
            // Repeating an assertion changes nothing.
            (look @ Node::Look { .. }, 1.., _) => look,
            (look @ Node::Look { .. }, 0, RepeatMode::Lazy) => Node::Either(vec![Node::Empty, look]),
            (look @ Node::Look { .. }, 0, _) => Node::Either(vec![look, Node::Empty]),
            (item, ..) => Node::Repeat { node: Box::new(item), min, max, mode },
        })
    }

    /// The counts of a quantifier, if one comes next. Any other brace is a literal.
    fn quantifier(&mut self) -> Result<Option<(u32, Option<u32>)>, PatternError> {
        let start = self.at;
        let counts = match self.peek() {
            Some(b'*') => (0, None),
            Some(b'+') => (1, None),
            Some(b'?') => (0, Some(1)),
            Some(b'{') => {
                let counts = self.counts();
                let Some((min, max)) = counts else {
                    self.at = start;
                    return Ok(None);
                };
                if min.max(max.unwrap_or(0)) > MAX_COUNT {
                    return self.fail(start, format!("a count above {MAX_COUNT}"));
                }
                if max.is_some_and(|max| max < min) {
                    return self.fail(start, "counts out of order");
                }
                return Ok(counts);
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(counts))
    }

    /// `{2}`, `{2,}` or `{2,3}`.
    fn counts(&mut self) -> Option<(u32, Option<u32>)> {
        self.at += 1;
        let min = self.number()?;
        let max = if self.eat(b",") { self.number() } else { Some(min) };
        self.eat(b"}").then_some((min, max))
    }
}
