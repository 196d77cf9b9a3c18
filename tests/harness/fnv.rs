//! The 64-bit FNV-1a hash (Fowler, Noll, Vo). Origins answer with it instead of returning the
//! megabytes that they received.

/// The hash of `bytes`, in hexadecimal.
#[must_use]
pub fn fnv(bytes: &[u8]) -> String {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}
