//! Words and signs of Rust text, and the groups, tuples and blocks that they form.

/// A word or sign, and its line.
pub type Piece = (String, usize);

/// The parts of a tuple, or the whole.
pub fn parts(pieces: &[Piece]) -> Vec<&[Piece]> {
    if pieces.first().is_none_or(|(piece, _)| piece != "(") || group(pieces) != pieces.len() {
        return vec![pieces];
    }
    let (mut found, mut left) = (Vec::new(), Some(&pieces[1..pieces.len() - 1]));
    while let Some(rest) = left {
        let length = until(rest, &[","]);
        found.push(&rest[..length]);
        left = rest.get(length + 1..);
    }
    found
}

/// What an expression comes to: without the statements in its blocks.
pub fn value(pieces: &[Piece]) -> Vec<&str> {
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < pieces.len() {
        if pieces[at].0 == "{" {
            let length = group(&pieces[at..]);
            let mut inner = &pieces[at + 1..(at + length).saturating_sub(1).max(at + 1)];
            while let Some(rest) = inner.get(until(inner, &[";"]) + 1..) {
                inner = rest;
            }
            while inner.first().is_some_and(|(word, _)| word == "while" || word == "for") {
                inner = &inner[item(inner)..];
            }
            kept.extend(value(inner));
            at += length;
        } else {
            kept.push(pieces[at].0.as_str());
            at += 1;
        }
    }
    kept
}

/// The length of an item: up to its `;` or the end of its block.
pub fn item(pieces: &[Piece]) -> usize {
    let head = until(pieces, &["{", ";"]);
    let is_block = pieces.get(head).is_some_and(|(sign, _)| sign == "{");
    if is_block { head + group(&pieces[head..]) } else { (head + 1).min(pieces.len()) }
}

/// The length of the group whose bracket comes first.
pub fn group(pieces: &[Piece]) -> usize {
    (until(pieces.get(1..).unwrap_or_default(), &[]) + 2).min(pieces.len())
}

/// The distance to the first of these signs that is in no group, to the bracket that closes the group around, or the end.
pub fn until(pieces: &[Piece], stops: &[&str]) -> usize {
    let mut depth = 0_usize;
    for (at, (piece, _)) in pieces.iter().enumerate() {
        match piece.as_str() {
            sign if depth == 0 && stops.contains(&sign) => return at,
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 0 => return at,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
    }
    pieces.len()
}

pub fn starts_with(pieces: &[Piece], words: &[&str]) -> bool {
    pieces.len() >= words.len() && pieces.iter().zip(words).all(|((piece, _), word)| piece == word)
}
