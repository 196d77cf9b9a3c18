//! Patterns of `include`, as in `glob(3)`: `*`, `?`, `[a-z]`, `[!a]`, `\*`, within one component of a path.

/// Whether the text contains wildcards.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether a name matches. A name that begins with a dot must be matched explicitly. At most quadratic.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    // The position from which to resume if the text after the last star does not match.
    let mut again: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            p += 1;
            again = Some((p, n));
        } else if let Some(length) = one(&pattern[p..], name[n]) {
            p += length;
            n += 1;
        } else if let Some((star, taken)) = again {
            p = star;
            n = taken + 1;
            again = Some((star, n));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&character| character == '*')
}

/// Length of the pattern element if it matches this character; `None` otherwise.
fn one(pattern: &[char], character: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['[', rest @ ..] => match class(rest, character) {
            Some((fits, length)) => fits.then_some(1 + length),
            None => (character == '[').then_some(1),
        },
        ['\\', escaped, ..] => (*escaped == character).then_some(2),
        [plain, ..] => (*plain == character).then_some(1),
        [] => None,
    }
}

/// A class after its `[`: whether it matches, and its length with `]`; `None` if it is not closed.
fn class(rest: &[char], character: char) -> Option<(bool, usize)> {
    let negated = matches!(rest.first(), Some('!' | '^'));
    let from = usize::from(negated);
    let end = from + 1 + rest.get(from + 1..)?.iter().position(|&member| member == ']')?;
    let members = &rest[from..end];
    let (mut at, mut found) = (0, false);
    while at < members.len() {
        let (first, last, length) = match members[at..] {
            [first, '-', last, ..] => (first, last, 3),
            [first, ..] => (first, first, 1),
            [] => break,
        };
        found |= (first..=last).contains(&character);
        at += length;
    }
    Some((found != negated, end + 1))
}
