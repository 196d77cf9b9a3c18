//! The sorted text of a body, without making or sorting it.
//!
//! The tokens of a body are its runs of ASCII letters, ASCII digits and characters from U+4E00 to U+9FA5. Joined, they are
//! encoded in Base64, and the characters of that are sorted. A sorted text of 65 different characters is 65 numbers, so
//! what is kept are counters: each three bytes of tokens increment four of them, and no token, no Base64 and no sort
//! exist. [`super::naive`] does all that; `benches/tokens.rs` compares the two.

use super::utf8::{self, Sequence};

/// The bytes that are collected before they are counted: enough to amortise a call, and within the first-level cache.
const COLLECTED: usize = 512;
/// The number of bytes that are classified together.
const STRIDE: usize = 8;
/// Bytes beyond ASCII among [`STRIDE`] bytes have these bits.
const BEYOND_ASCII: u64 = 0x8080_8080_8080_8080;

/// 1 for ASCII letters and digits.
static IS_TOKEN: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() as u8;
        byte += 1;
    }
    table
};

/// The characters of Base64 with its padding, sorted, each with its value. The padding's is 64.
static SORTED: [(u8, usize); 65] = {
    let mut table = [(0, 64); 65];
    let mut length = 0;
    let mut character = 0;
    while character < 128 {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => 64,
            _ => 255,
        };
        if value != 255 {
            table[length] = (character, value as usize);
            length += 1;
        }
        character += 1;
    }
    table
};

/// A body that is arriving.
#[derive(Clone, Debug)]
pub struct SortedTokens {
    /// How often each value occurs, by its position in the group of four: one table would wait for its own stores when
    /// neighbours have the same value.
    counts: [[u64; 64]; 4],
    /// Bytes of tokens that have not been counted, and room for a stride and a sequence.
    collected: [u8; COLLECTED + 2 * STRIDE],
    length: usize,
    /// The beginning of a character that a part of the body ended in.
    cut: Sequence,
    is_valid: bool,
}

impl Default for SortedTokens {
    fn default() -> Self {
        let collected = [0; COLLECTED + 2 * STRIDE];
        Self { counts: [[0; 64]; 4], collected, length: 0, cut: Sequence::default(), is_valid: true }
    }
}

impl SortedTokens {
    /// Takes the next bytes of the body.
    pub fn absorb(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !self.cut.is_empty() && self.is_valid {
            let Some((byte, after)) = rest.split_first() else { return };
            rest = after;
            self.cut.push(*byte);
            if self.cut.is_complete() {
                let cut = std::mem::take(&mut self.cut);
                self.take(cut.bytes());
            }
        }
        while self.is_valid && !rest.is_empty() {
            let taken = self.take(rest);
            rest = &rest[taken..];
            if self.is_valid && taken == 0 {
                rest.iter().for_each(|byte| self.cut.push(*byte));
                return;
            }
        }
    }

    /// Takes bytes from the beginning of a character, and says how many: none of what is part of a character at the end.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let (mut at, mut length) = (0, self.length);
        while at < bytes.len() {
            if length >= COLLECTED {
                self.count(length);
                length = self.length;
            }
            if let Some(stride) = bytes[at..].first_chunk::<STRIDE>()
                && u64::from_ne_bytes(*stride) & BEYOND_ASCII == 0
            {
                let room = self.collected[length..].first_chunk_mut::<STRIDE>().expect("room for a stride is kept");
                let mut kept = 0;
                for byte in stride {
                    room[kept & (STRIDE - 1)] = *byte;
                    kept += usize::from(IS_TOKEN[usize::from(*byte)]);
                }
                length += kept;
                at += STRIDE;
                continue;
            }
            let first = bytes[at];
            if first < 0x80 {
                self.collected[length] = first;
                length += usize::from(IS_TOKEN[usize::from(first)]);
                at += 1;
                continue;
            }
            // Text in Chinese comes in runs.
            let run = length;
            while length < COLLECTED
                && let Some(character) = utf8::cjk(&bytes[at..])
            {
                self.collected[length..][..3].copy_from_slice(character);
                (length, at) = (length + 3, at + 3);
            }
            if length > run {
                continue;
            }
            match utf8::character(&bytes[at..]) {
                utf8::Character::Whole(width) => at += width,
                utf8::Character::Cut => break,
                utf8::Character::Invalid => {
                    self.is_valid = false;
                    break;
                }
            }
        }
        self.length = length;
        at
    }

    /// Counts the collected bytes in threes; what remains, at most two, is kept.
    fn count(&mut self, length: usize) {
        let (groups, rest) = self.collected[..length].as_chunks::<3>();
        let [first, second, third, fourth] = &mut self.counts;
        for [a, b, c] in groups {
            first[usize::from(a >> 2)] += 1;
            second[usize::from((a & 3) << 4 | b >> 4)] += 1;
            third[usize::from((b & 15) << 2 | c >> 6)] += 1;
            fourth[usize::from(c & 63)] += 1;
        }
        let kept = rest.len();
        self.collected.copy_within(length - kept..length, 0);
        self.length = kept;
    }

    /// The sorted text; `None` if the body is not UTF-8.
    #[must_use]
    pub fn finish(&self) -> Option<SortedText> {
        if !self.is_valid || !self.cut.is_empty() {
            return None;
        }
        let mut all = self.clone();
        all.count(all.length);
        let mut counts = [0; 65];
        for table in &all.counts {
            counts.iter_mut().zip(table).for_each(|(sum, count)| *sum += count);
        }
        let mut last = |values: &[u8], padding| {
            values.iter().for_each(|value| counts[usize::from(*value)] += 1);
            counts[64] = padding;
        };
        match all.collected[..all.length] {
            [a] => last(&[a >> 2, (a & 3) << 4], 2),
            [a, b] => last(&[a >> 2, (a & 3) << 4 | b >> 4, (b & 15) << 2], 1),
            _ => {}
        }
        Some(SortedText { counts })
    }
}

/// A sorted text: how often each character of Base64 occurs in it, by value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortedText {
    counts: [u64; 65],
}

/// The bytes of text that are given out together: whole blocks of every hash function.
const GIVEN: usize = 1024;

impl SortedText {
    /// The number of characters.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Gives the text in parts, in order.
    pub fn give(&self, mut take: impl FnMut(&[u8])) {
        let mut buffer = [0; GIVEN];
        let mut length = 0;
        for (character, value) in SORTED {
            let mut left = self.counts[value];
            while left > 0 {
                let room = &mut buffer[length..];
                let run = room.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                room[..run].fill(character);
                length += run;
                left -= run as u64;
                if length == GIVEN {
                    take(&buffer);
                    length = 0;
                }
            }
        }
        take(&buffer[..length]);
    }
}
