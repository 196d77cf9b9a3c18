//! Rust text as the names and signs that imports are read from. Comments, strings, characters and
//! lifetimes are left out: a full parser would be a heavy dependency for this.

/// A name or a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// An identifier, keyword or number.
    Word(String),
    /// `::`
    Path,
    /// Any other character.
    Sign(char),
}

impl Token {
    /// The word, if it is one.
    pub fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            Self::Path | Self::Sign(_) => None,
        }
    }
}

/// The tokens of a source file.
pub fn tokens(text: &str) -> Vec<Token> {
    numbered(text).into_iter().map(|(token, _)| token).collect()
}

/// The tokens of a source file, each with the number of its line.
pub fn numbered(text: &str) -> Vec<(Token, usize)> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = string(rest) {
            length
        } else if first == '\'' {
            character(rest)
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            found.push((Token::Word(rest[..end].to_owned()), line));
            end
        } else if rest.starts_with("::") {
            found.push((Token::Path, line));
            2
        } else {
            if !first.is_whitespace() {
                found.push((Token::Sign(first), line));
            }
            first.len_utf8()
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    found
}

/// Length of the string literal that the text begins with.
fn string(text: &str) -> Option<usize> {
    let unprefixed = text.strip_prefix(['b', 'c']).unwrap_or(text);
    let prefix = text.len() - unprefixed.len();
    if let Some(raw) = unprefixed.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let body = raw[hashes..].strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(hashes));
        return Some(text.len() - body.len() + body.find(&close)? + close.len());
    }
    let body = unprefixed.strip_prefix('"')?;
    let mut escaped = false;
    let end = body.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })?;
    Some(prefix + 1 + end + 1)
}

/// Length of the character literal or lifetime that the text begins with.
fn character(text: &str) -> usize {
    let body = &text[1..];
    if let Some(escape) = body.strip_prefix('\\') {
        let skipped = escape.chars().next().map_or(0, char::len_utf8);
        return escape[skipped..].find('\'').map_or(1, |end| 2 + skipped + end + 1);
    }
    let length = body.chars().next().map_or(0, char::len_utf8);
    let lifetime = || 1 + body.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(body.len());
    if body[length..].starts_with('\'') { 1 + length + 1 } else { lifetime() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_and_signs_are_left() {
        let text = r##"use a::b; // c::d
            let s: &'static str = "e::f \" g"; let c = ['\'', '"', 'h', b'\\']; let r = br#"i"::j"#; /* k */ x"##;
        let words: Vec<String> = tokens(text).iter().filter_map(Token::word).map(str::to_owned).collect();
        assert_eq!(words.join(" "), "use a b let s str let c b let r x");
    }
}
