//! A first look at 32 positions of a value at once, by byte shuffles (AVX2).
//!
//! Literals are dealt into eight buckets. For each of the four bytes of a window two tables of 16
//! entries, indexed by the byte's halves, say in which buckets such a byte may stand there; the
//! conjunction over all four says which positions may begin a literal. It is the Teddy algorithm
//! of Hyperscan (Langdale and others), with windows that need not begin the literal, case folding
//! in the tables, and short literals' missing bytes matching anything. It costs about one
//! instruction a byte, where hashing each window costs ten for every width of literals.

use std::arch::x86_64::{
    __m256i, _mm_loadu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256,
    _mm256_movemask_epi8, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16,
};

use crate::literal::frequency;

/// Bytes of a window.
const WIDTH: usize = 4;
/// Positions per step.
const STEP: usize = 32;
/// Bytes that one step reads.
const READ: usize = STEP + WIDTH - 1;
const BUCKETS: usize = 8;

/// The tables.
#[derive(Clone, Debug)]
pub(crate) struct Shuffle {
    low: [[u8; 16]; WIDTH],
    high: [[u8; 16]; WIDTH],
}

impl Shuffle {
    /// Tables for windows (folded, 1 to 4 bytes), or `None` where the processor cannot shuffle.
    pub(crate) fn new<'w>(windows: impl Iterator<Item = &'w [u8]>) -> Option<Self> {
        if !std::arch::is_x86_feature_detected!("avx2") {
            return None;
        }
        let mut windows: Vec<&[u8]> = windows.collect();
        // The short ones first, since they match most; then each goes where it adds least to what
        // its bucket lets through.
        windows.sort_by_key(|window| window.len());
        windows.dedup();
        let mut buckets = [[Halves::default(); WIDTH]; BUCKETS];
        for window in windows {
            let joined = buckets.map(|bucket| join(&bucket, window));
            let added = |number: usize| likelihood(&joined[number]) - likelihood(&buckets[number]);
            let best = (0..BUCKETS).min_by(|a, b| added(*a).total_cmp(&added(*b))).expect("there are buckets");
            buckets[best] = joined[best];
        }
        let mut tables = Self { low: [[0; 16]; WIDTH], high: [[0; 16]; WIDTH] };
        for (number, bucket) in buckets.iter().enumerate() {
            for (position, halves) in bucket.iter().enumerate() {
                for half in 0..16 {
                    tables.low[position][half] |= ((halves.low >> half & 1) as u8) << number;
                    tables.high[position][half] |= ((halves.high >> half & 1) as u8) << number;
                }
            }
        }
        Some(tables)
    }

    /// Calls `candidate` for every position that may begin a window, in order, until it returns
    /// false. Returns whether it never did. Positions may lie less than a window before the end.
    #[inline]
    pub(crate) fn scan(&self, value: &[u8], candidate: impl FnMut(usize) -> bool) -> bool {
        // SAFETY: `new` has made sure that the processor has AVX2.
        unsafe { self.scan_avx2(value, candidate) }
    }

    #[target_feature(enable = "avx2")]
    fn scan_avx2(&self, value: &[u8], mut candidate: impl FnMut(usize) -> bool) -> bool {
        let tables = self.load();
        let mut at = 0;
        while let Some(chunk) = value.get(at..).and_then(<[u8]>::first_chunk::<READ>) {
            let found = look(&tables, chunk);
            if found != 0 && !each(found, at, &mut candidate) {
                return false;
            }
            at += STEP;
        }
        while at < value.len() {
            let rest = &value[at..value.len().min(at + READ)];
            let mut padded = [0; READ];
            padded[..rest.len()].copy_from_slice(rest);
            // Matches in the padding are not positions of the value.
            let within = if rest.len() < STEP { (1 << rest.len()) - 1 } else { u32::MAX };
            let found = look(&tables, &padded) & within;
            if found != 0 && !each(found, at, &mut candidate) {
                return false;
            }
            at += STEP;
        }
        true
    }

    #[target_feature(enable = "avx2")]
    fn load(&self) -> [(__m256i, __m256i); WIDTH] {
        let wide = |table: &[u8; 16]| {
            // SAFETY: reads the 16 bytes of the table.
            let narrow = unsafe { _mm_loadu_si128(table.as_ptr().cast()) };
            _mm256_broadcastsi128_si256(narrow)
        };
        std::array::from_fn(|position| (wide(&self.low[position]), wide(&self.high[position])))
    }
}

/// Which low and high halves of a byte a bucket lets through at one position, a bit each.
#[derive(Clone, Copy, Debug, Default)]
struct Halves {
    low: u16,
    high: u16,
}

/// A bucket with a window added.
fn join(bucket: &[Halves; WIDTH], window: &[u8]) -> [Halves; WIDTH] {
    let mut joined = *bucket;
    for (position, halves) in joined.iter_mut().enumerate() {
        match window.get(position) {
            None => *halves = Halves { low: u16::MAX, high: u16::MAX },
            Some(byte) => {
                // Two bytes fold to this one: with the bit 0x20 and without.
                halves.low |= 1 << (byte & 15);
                halves.high |= 1 << (byte >> 4) | 1 << (byte >> 4 & !2);
            }
        }
    }
    joined
}

/// Share of ordinary text that a bucket lets through.
fn likelihood(bucket: &[Halves; WIDTH]) -> f64 {
    let passes = |halves: &Halves, byte: u8| halves.low >> (byte & 15) & 1 != 0 && halves.high >> (byte >> 4) & 1 != 0;
    let of_position = |halves: &Halves| -> f64 { (0..128).filter(|byte| passes(halves, *byte)).map(frequency).sum() };
    bucket.iter().map(of_position).product()
}

/// One bit for each of the 32 positions that may begin a window.
#[target_feature(enable = "avx2")]
#[inline]
fn look(tables: &[(__m256i, __m256i); WIDTH], chunk: &[u8; READ]) -> u32 {
    let half = _mm256_set1_epi8(15);
    let mut buckets = _mm256_set1_epi8(-1);
    for (position, (low, high)) in tables.iter().enumerate() {
        // SAFETY: reads 32 bytes from an offset of at most 3 in 35.
        let bytes = unsafe { _mm256_loadu_si256(chunk[position..].as_ptr().cast()) };
        let of_low = _mm256_shuffle_epi8(*low, _mm256_and_si256(bytes, half));
        let of_high = _mm256_shuffle_epi8(*high, _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), half));
        buckets = _mm256_and_si256(buckets, _mm256_and_si256(of_low, of_high));
    }
    !(_mm256_movemask_epi8(_mm256_cmpeq_epi8(buckets, _mm256_setzero_si256())) as u32)
}

#[inline]
fn each(mut found: u32, at: usize, candidate: &mut impl FnMut(usize) -> bool) -> bool {
    while found != 0 {
        if !candidate(at + found.trailing_zeros() as usize) {
            return false;
        }
        found &= found - 1;
    }
    true
}
