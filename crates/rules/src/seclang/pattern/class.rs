//! Bracketed classes.

use super::PatternError;
use super::escape::{Escape, escape, word};
use super::parser::Parser;
use super::set::Set;

/// Parses the class whose `[`, at `start`, has been read.
pub(super) fn class(parser: &mut Parser<'_>, start: usize) -> Result<Set, PatternError> {
    let mut reader = Reader { parser, start, quoting: false };
    let negated = reader.parser.eat(b"^");
    let mut set = Set::EMPTY;
    let mut is_first = true; // A bracket that comes first is a member.
    loop {
        reader.skip();
        if !is_first && reader.ends() {
            break;
        }
        is_first = false;
        let at = reader.parser.at;
        // A set, such as `\w`, cannot end a range: a hyphen beside it is literal.
        let first = match reader.member()? {
            Escape::Byte(first) => first,
            Escape::Set(members) => {
                set = set.union(members);
                continue;
            }
        };
        let Some(last) = reader.range_end()? else {
            set.insert(first);
            continue;
        };
        if last < first {
            return reader.parser.fail_with(at, "a range out of order", "write `\\-` for the hyphen");
        }
        set = set.union(Set::range(first, last));
    }
    let set = if parser.flags.caseless { set.caseless() } else { set };
    Ok(if negated { set.not() } else { set })
}

struct Reader<'p, 's> {
    parser: &'p mut Parser<'s>,
    start: usize,
    /// Between `\Q` and `\E`.
    quoting: bool,
}

impl Reader<'_, '_> {
    /// Skips quotation marks, and spaces if they are insignificant.
    fn skip(&mut self) {
        loop {
            if self.parser.eat(b"\\E") {
                self.quoting = false;
            } else if !self.quoting && self.parser.eat(b"\\Q") {
                self.quoting = true;
            } else if !self.quoting
                && self.parser.flags.extended_more
                && matches!(self.parser.peek(), Some(b' ' | b'\t'))
            {
                self.parser.at += 1;
            } else {
                return;
            }
        }
    }

    fn ends(&mut self) -> bool {
        !self.quoting && self.parser.eat(b"]")
    }

    fn member(&mut self) -> Result<Escape, PatternError> {
        let at = self.parser.at;
        let Some(byte) = self.parser.next() else {
            return self.parser.fail_with(self.start, "a class that is not closed", "write `\\[` for the character");
        };
        match byte {
            _ if self.quoting => Ok(Escape::Byte(byte)),
            b'[' => self.posix(at),
            b'\\' => self.escape(at),
            _ => Ok(Escape::Byte(byte)),
        }
    }

    fn escape(&mut self, at: usize) -> Result<Escape, PatternError> {
        match self.parser.peek() {
            Some(b'b') => {
                self.parser.at += 1;
                Ok(Escape::Byte(0x08))
            }
            Some(b'B' | b'N' | b'R') => self.parser.fail(at, "not allowed in a class"),
            _ => escape(self.parser, at),
        }
    }

    /// The end of a range whose first byte has been read, if it is a range.
    fn range_end(&mut self) -> Result<Option<u8>, PatternError> {
        self.skip();
        let hyphen = self.parser.at;
        if self.quoting || !self.parser.eat(b"-") {
            return Ok(None);
        }
        self.skip();
        let is_last = !self.quoting && self.parser.peek() == Some(b']');
        if !is_last && let Escape::Byte(last) = self.member()? {
            return Ok(Some(last));
        }
        self.parser.at = hyphen;
        self.quoting = false;
        Ok(None)
    }

    /// `[:alpha:]`, or a literal bracket.
    fn posix(&mut self, at: usize) -> Result<Escape, PatternError> {
        let rest = self.parser.rest();
        let bracket = Ok(Escape::Byte(b'['));
        let Some(&kind @ (b':' | b'.' | b'=')) = rest.first() else { return bracket };
        let name = rest[1..].split(|byte| b"]\\[".contains(byte)).next().unwrap_or_default();
        let Some((&last, name)) = name.split_last() else { return bracket };
        if last != kind || rest.get(name.len() + 2) != Some(&b']') {
            return bracket;
        }
        if kind != b':' {
            return self.parser.fail(at, "collating elements are not supported");
        }
        let (negated, plain) = name.strip_prefix(b"^").map_or((false, name), |name| (true, name));
        let Some(set) = posix(plain) else {
            return self.parser.fail_with(at, "not a POSIX class", "as in `[[:alpha:]]`");
        };
        self.parser.at += name.len() + 3;
        Ok(Escape::Set(if negated { set.not() } else { set }))
    }
}

/// The POSIX classes in the C locale.
fn posix(name: &[u8]) -> Option<Set> {
    let graph = Set::range(b'!', b'~');
    let alnum = Set::range(b'0', b'9').union(Set::range(b'a', b'z')).caseless();
    Some(match name {
        b"alnum" => alnum,
        b"alpha" => Set::range(b'a', b'z').caseless(),
        b"ascii" => Set::range(0, 0x7f),
        b"blank" => Set::of(b"\t "),
        b"cntrl" => Set::range(0, 0x1f).union(Set::of(b"\x7f")),
        b"digit" => Set::range(b'0', b'9'),
        b"graph" => graph,
        b"lower" => Set::range(b'a', b'z'),
        b"print" => Set::range(b' ', b'~'),
        b"punct" => alnum.union(graph.not()).not(),
        b"space" => Set::of(b"\t\n\x0b\x0c\r "),
        b"upper" => Set::range(b'A', b'Z'),
        b"word" => word(),
        b"xdigit" => Set::range(b'0', b'9').union(Set::range(b'a', b'f')).caseless(),
        _ => return None,
    })
}
