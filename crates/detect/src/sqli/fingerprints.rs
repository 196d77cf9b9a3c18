//! The fingerprints of attacks: a sorted table built at compile time from `fingerprints.txt`.
//!
//! The 8,367 fingerprints are libinjection's (BSD licence, Nick Galbreath), gathered from real
//! attacks. They use twenty letters and at most five positions, so the first two letters select a
//! range of a sorted table and the last three are 15 bits in it: 18 KiB in all.

/// Letters of fingerprints, in the order of the list. Case-insensitive.
const LETTERS: &[u8; 20] = b"&(),1:;ABCEFKNOSTUVX";

/// Text of the list: each line has up to three letters, then the possible continuations; `.` is an empty one.
const LIST: &[u8] = include_bytes!("fingerprints.txt");
const COUNT: usize = 8367;

/// Fingerprints are written in 21 digits: 0 stands for "no letter".
const DIGITS: usize = LETTERS.len() + 1;
const PAIRS: usize = DIGITS * DIGITS;

/// Stands for a letter that occurs in no fingerprint.
const FOREIGN: u8 = 31;

/// The longest fingerprint.
pub(crate) const LONGEST: usize = 5;

static CODES: [u8; 256] = codes();
static TABLE: Table = build();

struct Table {
    /// The start of the range for each pair of first letters; the next pair's start is its end.
    starts: [u16; PAIRS + 1],
    /// The last three letters, 5 bits each, sorted within each range.
    tails: [u16; COUNT],
}

/// Whether `fingerprint` (at most [`LONGEST`] letters, case-insensitive) is that of an attack.
pub(crate) fn is_attack(fingerprint: &[u8]) -> bool {
    let mut digits = [0; LONGEST];
    for (digit, letter) in digits.iter_mut().zip(fingerprint) {
        *digit = CODES[*letter as usize];
    }
    if digits.contains(&FOREIGN) {
        return false;
    }
    let pair = pair_of(&digits);
    let range = TABLE.starts[pair] as usize..TABLE.starts[pair + 1] as usize;
    TABLE.tails[range].binary_search(&tail_of(&digits)).is_ok()
}

const fn pair_of(digits: &[u8; LONGEST]) -> usize {
    digits[0] as usize * DIGITS + digits[1] as usize
}

const fn tail_of(digits: &[u8; LONGEST]) -> u16 {
    (digits[2] as u16) << 10 | (digits[3] as u16) << 5 | digits[4] as u16
}

const fn codes() -> [u8; 256] {
    let mut codes = [FOREIGN; 256];
    let mut at = 0;
    while at < LETTERS.len() {
        codes[LETTERS[at] as usize] = at as u8 + 1;
        codes[LETTERS[at].to_ascii_lowercase() as usize] = at as u8 + 1;
        at += 1;
    }
    codes
}

const fn build() -> Table {
    let codes = codes();
    let mut table = Table { starts: [0; PAIRS + 1], tails: [0; COUNT] };
    let (mut at, mut count, mut pair) = (0, 0, 0);
    while at < LIST.len() {
        let mut head = [0; LONGEST];
        let mut place = 0;
        while LIST[at] != b' ' {
            head[place] = codes[LIST[at] as usize];
            (at, place) = (at + 1, place + 1);
        }
        while LIST[at] != b'\n' {
            at += 1;
            let mut digits = head;
            let mut to = place;
            while LIST[at] != b' ' && LIST[at] != b'\n' {
                if LIST[at] != b'.' {
                    digits[to] = codes[LIST[at] as usize];
                }
                (at, to) = (at + 1, to + 1);
            }
            while pair < pair_of(&digits) {
                pair += 1;
                table.starts[pair] = count as u16;
            }
            table.tails[count] = tail_of(&digits);
            count += 1;
        }
        at += 1;
    }
    assert!(count == COUNT);
    while pair < PAIRS {
        pair += 1;
        table.starts[pair] = count as u16;
    }
    table
}

/// All fingerprints of the list, in upper case.
#[cfg(test)]
pub(super) fn all() -> Vec<Vec<u8>> {
    let lines = LIST.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let parts = lines.flat_map(|line| {
        let mut parts = line.split(|byte| *byte == b' ');
        let head = parts.next().unwrap_or_default();
        parts.map(move |tail| [head, if tail == b"." { b"" } else { tail }].concat())
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_each_of_the_list() {
        let all = all();
        assert_eq!(all.len(), COUNT);
        for fingerprint in all {
            assert!(is_attack(&fingerprint), "{}", String::from_utf8_lossy(&fingerprint));
            assert!(is_attack(&fingerprint.to_ascii_lowercase()));
        }
    }

    #[test]
    fn is_sorted_in_each_range() {
        for pair in 0..PAIRS {
            let range = TABLE.starts[pair] as usize..TABLE.starts[pair + 1] as usize;
            assert!(TABLE.tails[range].is_sorted_by(|one, next| one < next));
        }
    }

    #[test]
    fn knows_no_other() {
        for other in ["", "n", "nn", "1n", "n(", "sn", "o1", "1?", "{s", "\\", "n:o", "X1"] {
            assert!(!is_attack(other.as_bytes()), "{other}");
        }
    }
}
