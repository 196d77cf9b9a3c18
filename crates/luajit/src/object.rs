//! Garbage-collected LuaJIT objects in a process's memory.
//!
//! Memory may be freed and reused while it is read, so each object's tag is checked, lengths are
//! bounded, and a string is accepted only if it ends where its length says.

use weir_unwind::Memory;

/// `gct` of a string, thread, prototype, function, trace and table (`~LJ_T*`, the same in all of 2.1).
pub(crate) const STRING: u8 = 4;
pub(crate) const THREAD: u8 = 6;
pub(crate) const PROTO: u8 = 7;
pub(crate) const FUNCTION: u8 = 8;
pub(crate) const TRACE: u8 = 9;
pub(crate) const TABLE: u8 = 11;

/// Offset of the tag in each object.
const TAG: u64 = 9;
/// Offset of a string's bytes.
const STRING_DATA: u64 = 24;
/// Offsets of a string's length: since 2021, and before (the other one holds a hash of the string).
const STRING_LENGTHS: [u64; 2] = [20, 16];
/// Maximum length of a string, in bytes: paths of chunks and names.
const MAX_STRING: usize = 4096;
/// Values store their type in the upper 17 bits.
const VALUE_SHIFT: u32 = 47;

/// The tag of the object at an address.
pub(crate) fn tag(memory: Memory, address: u64) -> Option<u8> {
    memory.u8(address.wrapping_add(TAG)).ok()
}

/// Whether an object has the expected tag.
pub(crate) fn is(memory: Memory, address: u64, expected: u8) -> bool {
    address != 0 && tag(memory, address) == Some(expected)
}

/// The object of a tagged value, if it has this type.
pub(crate) fn of_value(value: u64, expected: u8) -> Option<u64> {
    let kind = !((value as i64) >> VALUE_SHIFT);
    (kind == i64::from(expected)).then_some(value & ((1 << VALUE_SHIFT) - 1))
}

/// A string without NUL bytes.
pub(crate) fn string(memory: Memory, address: u64) -> Option<String> {
    if !is(memory, address, STRING) {
        return None;
    }
    let text = memory.c_str(address + STRING_DATA, MAX_STRING).ok()?;
    let length = u32::try_from(text.len()).ok()?;
    let fits = STRING_LENGTHS.iter().any(|at| memory.u32(address + at).ok() == Some(length));
    fits.then(|| String::from_utf8_lossy(&text).into_owned())
}

/// Reads fields from bytes that were read at once.
pub(crate) trait Fields {
    fn bytes(&self) -> &[u8];

    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.bytes().get(at..at.checked_add(N)?)?.try_into().ok()
    }
    fn u8(&self, at: usize) -> Option<u8> {
        self.bytes().get(at).copied()
    }
    fn u16(&self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }
    fn u32(&self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }
    fn u64(&self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }
}

impl Fields for [u8] {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// Reads a piece of memory of a bounded length.
pub(crate) fn read(memory: Memory, address: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    memory.read_exact(address, &mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(tag: u8, length_at: usize, length: u32, text: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0xEE_u8; 24];
        bytes[9] = tag;
        bytes[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(text);
        bytes.push(0);
        bytes
    }

    #[test]
    fn strings_of_both_layouts_are_read_and_others_refused() {
        let memory = Memory::of(std::process::id());
        let cases: [(Vec<u8>, Option<&str>); 6] = [
            (object(STRING, 20, 5, b"@a.lu"), Some("@a.lu")),
            (object(STRING, 16, 5, b"@a.lu"), Some("@a.lu")),
            (object(STRING, 20, 0, b""), Some("")),
            (object(STRING, 20, 4, b"@a.lu"), None),
            (object(STRING, 20, 6, b"@a.lu"), None),
            (object(TABLE, 20, 5, b"@a.lu"), None),
        ];
        for (bytes, expected) in &cases {
            assert_eq!(string(memory, bytes.as_ptr() as u64).as_deref(), *expected, "{bytes:?}");
        }
        assert_eq!(string(memory, 0), None);
        assert_eq!(string(memory, 8), None);
    }

    #[test]
    fn values_carry_their_type() {
        let pointer = 0x7f12_3456_7890_u64;
        let function = ((!u64::from(FUNCTION)) << VALUE_SHIFT) | pointer & ((1 << VALUE_SHIFT) - 1);
        assert_eq!(of_value(function, FUNCTION), Some(pointer & ((1 << 47) - 1)));
        assert_eq!(of_value(function, TABLE), None);
        assert_eq!(of_value(0x3ff0_0000_0000_0000, FUNCTION), None, "a number");
    }
}
