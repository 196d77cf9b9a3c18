//! The digest of a state, by which control and all workers are compared.
//!
//! It is the XOR of one hash for each live resource, so that replacing one costs O(1) and the order of operations does
//! not matter. The hash is written out here rather than taken from a crate, since it must not change when a dependency
//! does: processes of two builds may compare it while nginx is upgraded. It guards against faults, not against malice.

const SEED: u64 = 0x243f_6a88_85a3_08d3; // the digits of pi, as are the two below
const MULTIPLIER: u64 = 0x1319_8a2e_0370_7345;
const FINISH: u64 = 0xa409_3822_299f_31d1;

/// Hash of the frame (the JSON of a `Put` operation, byte for byte) with a fixed seed.
///
/// The digest of a state is the XOR of this over the frames that put what is live. Frames of `health` and `addresses`
/// do not count.
#[must_use]
pub fn frame_digest(frame: &[u8]) -> u64 {
    let mut state = SEED ^ frame.len() as u64;
    let (words, tail) = frame.as_chunks::<8>();
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word), MULTIPLIER);
    }
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    state = fold(state ^ u64::from_le_bytes(last), MULTIPLIER);
    mix(state)
}

/// A hash of two numbers, for keys that are hashed more than once.
pub(crate) fn pair(first: u64, second: u64) -> u64 {
    mix(fold(first ^ SEED, MULTIPLIER) ^ second)
}

fn mix(state: u64) -> u64 {
    // Twice, because after one product neighbours still have a constant distance.
    let once = fold(state ^ (state >> 29), FINISH);
    fold(once ^ (once >> 32), MULTIPLIER)
}

/// Both halves of the product, so that high bits reach low ones (as wyhash does).
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a | u64::from(a == 0)) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_stable_and_tells_frames_apart() {
        assert_eq!(frame_digest(b"{}"), frame_digest(b"{}"));
        let frames: [&[u8]; 6] = [b"", b"\0", b"a", b"ab", b"aaaaaaaa", b"aaaaaaaaa"];
        for (n, first) in frames.iter().enumerate() {
            for second in &frames[n + 1..] {
                assert_ne!(frame_digest(first), frame_digest(second), "{first:?} {second:?}");
            }
        }
    }

    #[test]
    fn bits_of_a_pair_are_even() {
        let ones: u32 = (0..10_000).map(|n| pair(1, n).count_ones()).sum();
        assert!((310_000..330_000).contains(&ones), "{ones}");
    }
}
