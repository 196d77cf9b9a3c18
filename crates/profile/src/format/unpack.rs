//! Unpacks gzip'd input, up to a memory limit.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;

use super::FormatError;

/// Maximum size of an unpacked profile: the perf script text for an hour of a busy machine. The
/// tables built from it take a small multiple of that.
pub const MAX_UNPACKED_BYTES: u64 = 256 << 20;

const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The bytes themselves, or their unpacked form.
pub(super) fn unpack(bytes: &[u8]) -> Result<Cow<'_, [u8]>, FormatError> {
    if bytes.len() as u64 > MAX_UNPACKED_BYTES {
        return Err(FormatError::TooLarge);
    }
    if !bytes.starts_with(&MAGIC) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut unpacked = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(MAX_UNPACKED_BYTES + 1).read_to_end(&mut unpacked);
    read.map_err(|error| FormatError::Packed(unpacked.len() as u64, error))?;
    if unpacked.len() as u64 > MAX_UNPACKED_BYTES {
        return Err(FormatError::TooLarge);
    }
    Ok(Cow::Owned(unpacked))
}
