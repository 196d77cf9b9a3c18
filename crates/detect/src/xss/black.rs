//! Names and URLs that can run a script. The lists are libinjection's (`libinjection_xss.c`).

/// The reason why an attribute is dangerous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Danger {
    /// Its presence, with any value.
    Always,
    /// A value that is a URL to run.
    Address,
    /// A value that is the name of another such attribute.
    Name,
}

/// Tags that can run scripts, in upper case.
const TAGS: [&[u8]; 20] = [
    b"APPLET",
    b"BASE",
    b"COMMENT",
    b"EMBED",
    b"FRAME",
    b"FRAMESET",
    b"HANDLER",
    b"IFRAME",
    b"IMPORT",
    b"ISINDEX",
    b"LINK",
    b"LISTENER",
    b"META",
    b"NOSCRIPT",
    b"OBJECT",
    b"SCRIPT",
    b"STYLE",
    b"VMLFRAME",
    b"XML",
    b"XSS",
];

/// Attributes that can run scripts, in upper case; in addition, all that begin with `on`.
const ATTRIBUTES: [(&[u8], Danger); 20] = [
    (b"ACTION", Danger::Address),
    (b"ATTRIBUTENAME", Danger::Name),
    (b"BACKGROUND", Danger::Address),
    (b"BY", Danger::Address),
    (b"DATAFORMATAS", Danger::Always),
    (b"DATASRC", Danger::Always),
    (b"DYNSRC", Danger::Address),
    (b"FILTER", Danger::Always),
    (b"FOLDER", Danger::Address),
    (b"FORMACTION", Danger::Address),
    (b"FROM", Danger::Address),
    (b"HANDLER", Danger::Address),
    (b"HREF", Danger::Address),
    (b"LOWSRC", Danger::Address),
    (b"POSTER", Danger::Address),
    (b"SRC", Danger::Address),
    (b"STYLE", Danger::Always),
    (b"TO", Danger::Address),
    (b"VALUES", Danger::Address),
    (b"XLINK:HREF", Danger::Address),
];

/// The longest listed name.
const LONGEST: usize = 13;

/// URL schemes that run scripts. `JAVA` also stands for `JAVASCRIPT:`.
const SCHEMES: [&[u8]; 4] = [b"DATA", b"VIEW-SOURCE", b"JAVA", b"VBSCRIPT"];

/// Initial letters of the listed names, by their lowest five bits; and NUL, which is ignored.
const TAG_INITIALS: u32 = initials(&TAGS);
const ATTRIBUTE_INITIALS: u32 = {
    let mut names: [&[u8]; ATTRIBUTES.len()] = [b"-"; ATTRIBUTES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = ATTRIBUTES[at].0;
        at += 1;
    }
    initials(&names)
};

const fn initials(names: &[&[u8]]) -> u32 {
    let mut initials = 1;
    let mut at = 0;
    while at < names.len() {
        initials |= 1 << (names[at][0] & 0x1f);
        at += 1;
    }
    initials
}

/// The significant part of a name: without NUL bytes, in upper case. None if it is longer than all listed names.
struct FoldedName {
    bytes: [u8; LONGEST],
    length: usize,
}

impl FoldedName {
    /// Also none for a name that begins with none of the `initials`.
    fn new(text: &[u8], initials: u32) -> Option<Self> {
        if initials >> (text.first()? & 0x1f) & 1 == 0 {
            return None;
        }
        let mut name = FoldedName { bytes: [0; LONGEST], length: 0 };
        for byte in text.iter().filter(|byte| **byte != 0) {
            *name.bytes.get_mut(name.length)? = byte.to_ascii_uppercase();
            name.length += 1;
        }
        Some(name)
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Whether a tag with this `name` can run scripts.
pub(super) fn is_black_tag(name: &[u8]) -> bool {
    let Some(head) = name.first_chunk::<3>() else { return false };
    matches!(&head.map(|byte| byte.to_ascii_uppercase()), b"SVG" | b"XSL")
        || FoldedName::new(name, TAG_INITIALS).is_some_and(|name| TAGS.contains(&name.bytes()))
}

/// The reason why an attribute with this `name` is dangerous, if it is.
pub(super) fn danger_of(name: &[u8]) -> Option<Danger> {
    if name.len() < 2 {
        return None;
    }
    if let Some(head) = name.first_chunk::<5>() {
        let head = head.map(|byte| byte.to_ascii_uppercase());
        if head.starts_with(b"ON") || matches!(&head, b"XMLNS" | b"XLINK") {
            return Some(Danger::Always);
        }
    }
    let name = FoldedName::new(name, ATTRIBUTE_INITIALS)?;
    // Most differ in length, so that this is faster than binary search.
    let listed = ATTRIBUTES.iter().find(|(listed, _)| *listed == name.bytes())?;
    Some(listed.1)
}

/// Whether `address` runs a script.
pub(super) fn is_black_address(address: &[u8]) -> bool {
    let begin = address.iter().position(|byte| matches!(byte, 33..=126));
    let address = &address[begin.unwrap_or(address.len())..];
    SCHEMES.iter().any(|scheme| begins_with(address, scheme))
}

/// Whether `text`, with its character references decoded, begins with `scheme` (upper case). White
/// space and control characters before it are ignored, as are NUL and line feed within it.
fn begins_with(mut text: &[u8], mut scheme: &[u8]) -> bool {
    let mut first = true;
    while let [wanted, after @ ..] = scheme {
        if text.is_empty() {
            return false;
        }
        let (mut code, length) = character(text);
        text = &text[length..];
        if (first && code <= 32) || code == 0 || code == 10 {
            continue;
        }
        first = false;
        if (u32::from(b'a')..=u32::from(b'z')).contains(&code) {
            code -= 32;
        }
        // As in the original, the lowest byte of the code decides.
        if *wanted != code.to_le_bytes()[0] {
            return false;
        }
        scheme = after;
    }
    true
}

/// The first character of `text` (not empty), with a numeric reference decoded, and its length.
fn character(text: &[u8]) -> (u32, usize) {
    const LARGEST: u32 = 0x10_00ff;
    let (radix, prefix) = match text {
        [b'&', b'#', b'x' | b'X', ..] => (16, 3),
        [b'&', b'#', ..] => (10, 2),
        _ => return (u32::from(text[0]), 1),
    };
    let (mut code, mut length) = (0, prefix);
    while let Some(digit) = text.get(length).and_then(|byte| char::from(*byte).to_digit(radix)) {
        code = code * radix + digit;
        if code > LARGEST {
            return (u32::from(b'&'), 1);
        }
        length += 1;
    }
    if length == prefix {
        return (u32::from(b'&'), 1);
    }
    (code, length + usize::from(text.get(length) == Some(&b';')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_short() {
        assert!(TAGS.iter().chain(ATTRIBUTES.iter().map(|(name, _)| name)).all(|name| name.len() <= LONGEST));
    }

    #[test]
    fn decodes_references() {
        for (text, expected) in [
            ("a", (97, 1)),
            ("&", (38, 1)),
            ("&amp;", (38, 1)),
            ("&#", (38, 1)),
            ("&#x", (38, 1)),
            ("&#97", (97, 4)),
            ("&#97;b", (97, 5)),
            ("&#x6A;", (106, 6)),
            ("&#X6g", (6, 4)),
            ("&#99999999;", (38, 1)),
        ] {
            assert_eq!(character(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn knows_black_addresses() {
        for (address, black) in [
            ("javascript:alert(1)", true),
            (" \u{7f}java", true),
            ("&#106;ava", true),
            ("j\na\0va", true),
            ("&#10;data:", true),
            ("jav", false),
            ("/java", false),
            ("", false),
        ] {
            assert_eq!(is_black_address(address.as_bytes()), black, "{address:?}");
        }
    }
}
