//! The words of SQL with their types: a hash table built at compile time from `words.txt`.
//!
//! The list is libinjection's (BSD licence, Nick Galbreath), which uses binary search, with
//! thirteen comparisons for an unlisted word. Here such a word costs a hash of at most 16 of its
//! bytes and, usually, one access to a table of 4 KiB.

use super::token_kind::TokenKind;

/// Text of the list: a line for each word or phrase, starting with the letter of its type.
const LIST: &[u8] = include_bytes!("words.txt");

/// Number of words and phrases in the list.
const LISTED: usize = 985;

/// Including the beginnings of phrases that are not words themselves (`AT` of `AT TIME`).
const COUNT: usize = LISTED + 7;

/// Slots of the hash table: a power of two, about twice the number of words.
const SLOTS: usize = 2048;

/// A slot holds the number of a word, plus one, below this bit, and six bits of its hash above.
const TAG_SHIFT: u32 = 10;
const _: () = assert!(COUNT < 1 << TAG_SHIFT);

/// Number of significant bytes of a text: no listed word is longer.
pub(crate) const LONGEST: usize = 31;

/// A word of the list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    /// In upper case; the words of a phrase are separated by one space.
    pub(crate) text: &'static [u8],
    /// Its type; none for the mere beginning of a phrase.
    pub(crate) kind: Option<TokenKind>,
    /// Whether a longer phrase begins with it.
    pub(crate) begins_phrase: bool,
}

struct Table {
    words: [Word; COUNT],
    slots: [u16; SLOTS],
}

static TABLE: Table = build();

/// The word or phrase that equals `text`, ignoring case.
#[inline]
pub(crate) fn find(text: &[u8]) -> Option<&'static Word> {
    let hash = hash(text);
    let mut slot = slot_of(hash);
    loop {
        let held = TABLE.slots[slot % SLOTS];
        if held == 0 {
            return None;
        }
        if held >> TAG_SHIFT == tag_of(hash) {
            let word = &TABLE.words[number_in(held)];
            if word.text.eq_ignore_ascii_case(text) {
                return Some(word);
            }
        }
        slot += 1;
    }
}

const fn slot_of(hash: u64) -> usize {
    (hash >> 53) as usize
}

const fn tag_of(hash: u64) -> u16 {
    ((hash >> 47) & 0x3f) as u16
}

const fn number_in(slot: u16) -> usize {
    (slot & ((1 << TAG_SHIFT) - 1)) as usize - 1
}

/// A case-insensitive hash. It reads the ends of `text` and, if it is long, the middle: enough to
/// distinguish the listed words.
#[inline]
const fn hash(text: &[u8]) -> u64 {
    const CASE: u64 = 0xdfdf_dfdf_dfdf_dfdf;
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let (head, tail) = match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        (Some(head), Some(tail)) => (u64::from_le_bytes(*head), u64::from_le_bytes(*tail)),
        _ => match (text.first_chunk::<4>(), text.last_chunk::<4>()) {
            (Some(head), Some(tail)) => (u32::from_le_bytes(*head) as u64, u32::from_le_bytes(*tail) as u64),
            _ => match *text {
                [] => (0, 0),
                [a] => (a as u64, 0),
                [a, b] => (a as u64, b as u64),
                [a, b, c, ..] => (a as u64, (b as u64) << 8 | c as u64),
            },
        },
    };
    let mut mixed = (head & CASE).wrapping_mul(ODD);
    mixed = (mixed ^ mixed >> 32 ^ (tail & CASE)).wrapping_mul(ODD);
    (mixed ^ mixed >> 29 ^ text.len() as u64).wrapping_mul(ODD)
}

const fn build() -> Table {
    const NONE: Word = Word { text: b"", kind: None, begins_phrase: false };
    let mut table = Table { words: [NONE; COUNT], slots: [0; SLOTS] };
    let (mut count, mut rest) = (0, LIST);
    while let [letter, b' ', line @ ..] = rest {
        let (text, after) = line.split_at(position(line, b'\n', 0));
        count =
            insert(&mut table, count, Word { text, kind: Some(TokenKind::of_letter(*letter)), begins_phrase: false });
        (_, rest) = after.split_at(1);
    }
    assert!(count == LISTED && rest.is_empty());
    let mut phrase = 0;
    while phrase < LISTED {
        let text = table.words[phrase].text;
        let mut space = position(text, b' ', 0);
        while space < text.len() {
            let prefix = text.split_at(space).0;
            count = insert(&mut table, count, Word { text: prefix, kind: None, begins_phrase: true });
            space = position(text, b' ', space + 1);
        }
        phrase += 1;
    }
    assert!(count == COUNT);
    table
}

/// The position of `byte` in `text` from `at` on, or the length.
const fn position(text: &[u8], byte: u8, mut at: usize) -> usize {
    while at < text.len() && text[at] != byte {
        at += 1;
    }
    at
}

/// Inserts `word` as the `count`th, or marks an existing entry; returns the new count.
const fn insert(table: &mut Table, count: usize, word: Word) -> usize {
    let hash = hash(word.text);
    let mut slot = slot_of(hash);
    while table.slots[slot % SLOTS] != 0 {
        let number = number_in(table.slots[slot % SLOTS]);
        if same(table.words[number].text, word.text) {
            assert!(word.begins_phrase, "words.txt lists a word twice");
            table.words[number].begins_phrase = true;
            return count;
        }
        slot += 1;
    }
    table.words[count] = word;
    table.slots[slot % SLOTS] = tag_of(hash) << TAG_SHIFT | (count as u16 + 1);
    count + 1
}

const fn same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_word_and_no_other() {
        let lines: Vec<&[u8]> = LIST.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), LISTED);
        for line in lines {
            let text = &line[2..];
            assert!(text.len() <= LONGEST, "a token's text has room for it");
            for text in [text.to_vec(), text.to_ascii_lowercase()] {
                let word = find(&text).unwrap();
                assert_eq!((word.text, word.kind), (&line[2..], Some(TokenKind::of_letter(line[0]))));
                assert!(find(&[&text, &b"\0"[..]].concat()).is_none());
                assert!(find(&[&b"\x01"[..], &text].concat()).is_none());
            }
        }
        for other in ["", "a", "plain", "unionx", "SELEC", "1=1", "group  by"] {
            assert!(find(other.as_bytes()).is_none(), "{other}");
        }
    }

    #[test]
    fn knows_what_begins_a_phrase() {
        for (text, kind, begins) in [
            ("union all", Some(TokenKind::Union), true),
            ("at", None, true),
            ("natural full outer", None, true),
            ("select", Some(TokenKind::Expression), true),
            ("user_id", Some(TokenKind::Bareword), false),
        ] {
            let word = find(text.as_bytes()).unwrap();
            assert_eq!((word.kind, word.begins_phrase), (kind, begins), "{text}");
        }
    }
}
