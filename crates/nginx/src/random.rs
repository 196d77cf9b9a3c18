//! Random numbers for request ids: unique across workers and machines, not secret.
//!
//! xoshiro256++ (Blackman and Vigna, 2018), seeded once per worker from the kernel. A system
//! call per id, or a hash of address, process and time would cost a hundred times as much.

/// A generator.
#[derive(Clone, Copy)]
pub struct Random([u64; 4]);

impl Random {
    /// A generator to be replaced before use.
    pub const fn unseeded() -> Self {
        Self([1, 2, 3, 4])
    }

    /// A generator seeded from the kernel or, if that fails, from clock and process id.
    pub fn seeded() -> Self {
        let mut seed = [0u64; 4];
        // SAFETY: getrandom writes at most the given number of bytes.
        let read = unsafe { libc::getrandom(seed.as_mut_ptr().cast(), size_of_val(&seed), 0) };
        if read != size_of_val(&seed) as isize || seed == [0; 4] {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            seed = [now.as_nanos() as u64, u64::from(std::process::id()), 0x9e37_79b9_7f4a_7c15, 1];
        }
        Self(seed)
    }

    /// The next 64 bits.
    #[inline]
    pub fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_reference_implementation() {
        let mut random = Random([1, 2, 3, 4]);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223]);
    }
}
