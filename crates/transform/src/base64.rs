//! `base64Decode`, `base64DecodeExt`, `base64Encode`.
//!
//! There are two decoders, because ModSecurity has two: a strict one, from mbed TLS, that returns nothing for invalid
//! base64, and a forgiving one that skips invalid characters. They are implemented here because evasions exploit
//! exactly their treatment of malformed input, which no library reproduces.

use bumpalo::Bump;
use bumpalo::collections::Vec;
use memchr::memchr;

use crate::byteset::ByteSet;
use crate::edit::changed;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Any other byte before the first zero byte makes [`decode`] return nothing.
pub(crate) const READ: ByteSet = ByteSet::from_list(ALPHABET).union(&ByteSet::from_list(b"=\r\n "));
/// In [`VALUES`]: not in the alphabet.
const NONE: u8 = 0xff;

static VALUES: [u8; 256] = {
    let mut values = [NONE; 256];
    let mut at = 0;
    while at < 64 {
        values[ALPHABET[at] as usize] = at as u8;
        at += 1;
    }
    values
};

/// Strict: reads up to the first zero byte; line ends may occur anywhere, spaces before them, and
/// one wrong character makes the result empty. An incomplete last group of four is dropped.
pub(crate) fn decode<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let text = &input[..memchr(0, input).unwrap_or(input.len())];
    // Nearly always the first byte that is not of the alphabet makes it invalid.
    let plain = text.iter().take_while(|byte| VALUES[**byte as usize] != NONE).count();
    if !is_valid(&text[plain..]) {
        return &input[..0];
    }
    let mut out = Vec::with_capacity_in(text.len() / 4 * 3, arena);
    let (fours, rest) = text[..plain].as_chunks::<4>();
    for four in fours {
        let bits = four.iter().fold(0, |bits, byte| bits << 6 | u32::from(VALUES[*byte as usize]));
        out.extend_from_slice_copy(&bits.to_be_bytes()[1..]);
    }
    let mut group = Group::default();
    let mut padding = 0;
    for &byte in text[plain - rest.len()..].iter().filter(|byte| !b"\r\n ".contains(byte)) {
        padding += usize::from(byte == b'=');
        if let Some(bytes) = group.add(if byte == b'=' { 0 } else { VALUES[byte as usize] }) {
            out.extend_from_slice_copy(&bytes[..3 - padding]);
        }
    }
    changed(input, out.into_bump_slice())
}

/// Whether the text is base64: characters of the alphabet, then at most two `=`.
fn is_valid(text: &[u8]) -> bool {
    let mut padding = 0;
    let mut at = 0;
    while at < text.len() {
        let spaces = text[at..].iter().take_while(|&&byte| byte == b' ').count();
        at += spaces;
        match text[at..] {
            [] | [b'\n', ..] | [b'\r', b'\n', ..] => {}
            _ if spaces > 0 => return false,
            [b'=', ..] if padding < 2 => padding += 1,
            [byte, ..] if VALUES[byte as usize] != NONE && padding == 0 => {}
            _ => return false,
        }
        at += 1;
    }
    true
}

/// Forgiving: skips everything outside the alphabet and decodes all complete bytes. A single
/// character after the groups of four yields nothing if a lone `=` follows it, nor (because
/// ModSecurity compares the last value with the code of `=`) if the value ends in `=` or `9`.
pub(crate) fn decode_forgiving<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let mut out = Vec::with_capacity_in(input.len() / 4 * 3 + 2, arena);
    let mut group = Group::default();
    for (at, &byte) in input.iter().enumerate() {
        let value = VALUES[byte as usize];
        if byte == b'=' && group.count == 1 && input.get(at + 1) != Some(&b'=') {
            return &input[..0];
        }
        if value != NONE
            && let Some(bytes) = group.add(value)
        {
            out.extend_from_slice_copy(&bytes);
        }
    }
    if group.count == 1 && matches!(input.last(), Some(b'=' | b'9')) {
        return &input[..0];
    }
    out.extend_from_slice_copy(group.rest());
    changed(input, out.into_bump_slice())
}

pub(crate) fn encode<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let mut out = Vec::with_capacity_in(input.len().div_ceil(3) * 4, arena);
    for three in input.chunks(3) {
        let [a, b, c] = [three[0], three.get(1).copied().unwrap_or(0), three.get(2).copied().unwrap_or(0)];
        let bits = u32::from_be_bytes([0, a, b, c]);
        let mut four = [18, 12, 6, 0].map(|shift| ALPHABET[(bits >> shift & 63) as usize]);
        four[three.len() + 1..].fill(b'=');
        out.extend_from_slice_copy(&four);
    }
    changed(input, out.into_bump_slice())
}

/// Four six-bit values that become three bytes.
#[derive(Default)]
struct Group {
    bits: u32,
    count: usize,
    /// Storage for the result of `rest`.
    partial: [u8; 2],
}

impl Group {
    /// Adds a value; returns the bytes if it completes the group.
    fn add(&mut self, value: u8) -> Option<[u8; 3]> {
        self.bits = self.bits << 6 | u32::from(value);
        self.count += 1;
        match self.count {
            2 => self.partial[0] = (self.bits >> 4) as u8,
            3 => self.partial[1] = (self.bits >> 2) as u8,
            4 => {
                let [_, bytes @ ..] = self.bits.to_be_bytes();
                *self = Self::default();
                return Some(bytes);
            }
            _ => {}
        }
        None
    }

    /// The complete bytes of an incomplete group.
    fn rest(&self) -> &[u8] {
        &self.partial[..self.count.saturating_sub(1)]
    }
}
