//! The hash of keys: SipHash-1-3 with a random seed for each region, so that a client that chooses keys (session ids,
//! names of devices) cannot choose ones that collide. Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF"
//! (2012). The standard library's hasher is the same today, but promises to be the same in no other build, and control
//! and nginx's module are two builds.

/// The hash of a key in the owner table.
pub(crate) fn hash(seed: [u64; 2], key: &[u8]) -> u64 {
    siphash::<1, 3>(seed, key)
}

fn siphash<const COMPRESS: usize, const FINISH: usize>(seed: [u64; 2], bytes: &[u8]) -> u64 {
    let mut v = [
        seed[0] ^ u64::from_be_bytes(*b"somepseu"),
        seed[1] ^ u64::from_be_bytes(*b"dorandom"),
        seed[0] ^ u64::from_be_bytes(*b"lygenera"),
        seed[1] ^ u64::from_be_bytes(*b"tedbytes"),
    ];
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last[7] = bytes.len() as u8;
    for word in words.iter().chain([&last]) {
        let word = u64::from_le_bytes(*word);
        v[3] ^= word;
        rounds::<COMPRESS>(&mut v);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    rounds::<FINISH>(&mut v);
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn rounds<const N: usize>(v: &mut [u64; 4]) {
    for _ in 0..N {
        half(v, [0, 1, 2, 3], [13, 16]);
        half(v, [2, 1, 0, 3], [17, 21]);
    }
}

/// Half of SipRound: two additions with their rotations, and the rotation by 32 between them.
fn half(v: &mut [u64; 4], [a, b, c, d]: [usize; 4], [left, right]: [u32; 2]) {
    v[a] = v[a].wrapping_add(v[b]);
    v[b] = v[b].rotate_left(left) ^ v[a];
    v[a] = v[a].rotate_left(32);
    v[c] = v[c].wrapping_add(v[d]);
    v[d] = v[d].rotate_left(right) ^ v[c];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siphash_2_4_gives_the_value_of_its_paper() {
        // Appendix A: key 00..0f, message 00..0e.
        let bytes: Vec<u8> = (0..15).collect();
        let seed = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        assert_eq!(siphash::<2, 4>(seed, &bytes), 0xa129_ca61_49be_45e5);
    }
}
