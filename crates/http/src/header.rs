//! A borrowed header field, with the hash that nginx has already computed for its name.
//!
//! Header look-ups are the most common operation of rules. nginx hashes every lower-cased field name while parsing;
//! comparing that number first costs one integer comparison per header instead of a string comparison.

/// One header field as received. Names keep the client's spelling.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    /// Field name, any case, not validated as UTF-8.
    pub name: &'a [u8],
    /// Field value without surrounding white space, any bytes.
    pub value: &'a [u8],
    /// [`header_hash`] of `name`.
    pub hash: u64,
}

impl<'a> Header<'a> {
    /// A header from its parts, computing the hash.
    #[must_use]
    pub fn new(name: &'a [u8], value: &'a [u8]) -> Self {
        Self { name, value, hash: header_hash(name) }
    }

    /// Whether this header has this lower-case name with this [`header_hash`].
    #[inline]
    #[must_use]
    pub fn is(&self, name: &[u8], hash: u64) -> bool {
        self.hash == hash && self.name.eq_ignore_ascii_case(name)
    }
}

/// Fields that frame a message: to change them would let the servers of a request chain disagree about where it ends.
const FRAMING: [&[u8]; 2] = [b"content-length", b"transfer-encoding"];

/// Whether Weir may change a field with this name.
#[must_use]
pub fn is_changeable(name: &[u8]) -> bool {
    !name.is_empty() && !FRAMING.iter().any(|framing| name.eq_ignore_ascii_case(framing))
}

/// Whether a value can stand in a header: a line end would let the value add a field of its own.
#[must_use]
pub fn is_sendable(value: &[u8]) -> bool {
    !value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0))
}

/// nginx's `ngx_hash_key_lc`: `h = h * 31 + lower(byte)`, wrapping at 64 bits.
#[must_use]
pub const fn header_hash(name: &[u8]) -> u64 {
    let mut hash = 0u64;
    let mut i = 0;
    while i < name.len() {
        hash = hash.wrapping_mul(31).wrapping_add(name[i].to_ascii_lowercase() as u64);
        i += 1;
    }
    hash
}
