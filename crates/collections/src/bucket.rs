//! The contents of a locked bucket: members one after the other in plain bytes.
//!
//! A member consists of a header (record, expiry, lengths), its name and its value. There is no
//! index: a bucket has some twenty members, and comparing their records takes one word each.

/// Capacity of a bucket for members: 2 KiB less the lock and the length.
pub(crate) const BYTES: usize = 2048 - 16;
/// Longest name.
pub const MAX_NAME_BYTES: usize = 255;
/// Longest value; anything longer is not a counter or flag.
pub const MAX_VALUE_BYTES: usize = 1024;

/// Record (8), expiry in seconds (8), length of the name (2), length of the value (2).
const HEADER: usize = 20;

/// The members of a bucket.
pub(crate) struct Bucket {
    bytes: [u8; BYTES],
    used: usize,
}

/// The position and header of a member.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    at: usize,
    pub record: u64,
    /// Expiry as Unix time in seconds.
    pub expires_s: u64,
    name: usize,
    value: usize,
}

impl Member {
    fn end(self) -> usize {
        self.at + HEADER + self.name + self.value
    }
}

impl Bucket {
    /// An empty bucket.
    pub const EMPTY: Self = Self { bytes: [0; BYTES], used: 0 };

    /// Reads a bucket from its bytes; inconsistent contents give an empty one.
    pub fn from_bytes(bytes: [u8; BYTES], used: usize) -> Self {
        let bucket = Self { bytes, used };
        let sound = used <= BYTES && bucket.members().last().map_or(used == 0, |last| last.end() == used);
        if sound { bucket } else { Self::EMPTY }
    }

    /// Its bytes, as far as they are used.
    pub fn used(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// All members; ends at the first that does not fit.
    pub fn members(&self) -> impl Iterator<Item = Member> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let header: &[u8; HEADER] = self.bytes.get(at..at + HEADER)?.try_into().ok()?;
            let word = |from: usize| u64::from_le_bytes(std::array::from_fn(|byte| header[from + byte]));
            let short = |from: usize| usize::from(u16::from_le_bytes([header[from], header[from + 1]]));
            let member = Member { at, record: word(0), expires_s: word(8), name: short(16), value: short(18) };
            at = member.end();
            (at <= self.used).then_some(member)
        })
    }

    /// A member's name.
    pub fn name(&self, member: Member) -> &[u8] {
        let from = member.at + HEADER;
        &self.bytes[from..from + member.name]
    }

    /// A member's value.
    pub fn value(&self, member: Member) -> &[u8] {
        let from = member.at + HEADER + member.name;
        &self.bytes[from..from + member.value]
    }

    /// The live member of this record and name.
    pub fn find(&self, record: u64, name: &[u8], now_s: u64) -> Option<Member> {
        self.members().find(|member| member.record == record && member.expires_s > now_s && self.name(*member) == name)
    }

    /// Removes a member.
    pub fn remove(&mut self, member: Member) {
        let end = member.end();
        self.bytes.copy_within(end..self.used, member.at);
        self.used -= end - member.at;
    }

    /// Changes the expiry of a member.
    pub fn expire(&mut self, member: Member, expires_s: u64) {
        self.bytes[member.at + 8..member.at + 16].copy_from_slice(&expires_s.to_le_bytes());
    }

    /// Inserts a member, after [`Self::remove`] of its predecessor. `None` if it can never fit;
    /// otherwise the number of live members evicted for it.
    pub fn insert(&mut self, record: u64, name: &[u8], value: &[u8], expires_s: u64, now_s: u64) -> Option<u32> {
        if name.len() > MAX_NAME_BYTES || value.len() > MAX_VALUE_BYTES {
            return None;
        }
        let wanted = HEADER + name.len() + value.len();
        let mut evicted = 0;
        while self.used + wanted > BYTES {
            // Expired members sort first.
            let victim = self.members().min_by_key(|member| member.expires_s)?;
            evicted += u32::from(victim.expires_s > now_s);
            self.remove(victim);
        }
        let mut put = |bytes: &[u8]| {
            self.bytes[self.used..self.used + bytes.len()].copy_from_slice(bytes);
            self.used += bytes.len();
        };
        put(&record.to_le_bytes());
        put(&expires_s.to_le_bytes());
        put(&(name.len() as u16).to_le_bytes());
        put(&(value.len() as u16).to_le_bytes());
        put(name);
        put(value);
        Some(evicted)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_full_bucket_gives_up_the_expired_first_and_then_what_expires_first() {
        let mut bucket = Bucket::EMPTY;
        for number in 0..10u64 {
            assert_eq!(bucket.insert(number, b"n", &[b'v'; 180], 100 + number, 0), Some(0));
        }
        assert_eq!(bucket.insert(20, b"n", &[b'v'; 180], 500, 101), Some(0), "two had expired");
        assert!(bucket.find(5, b"n", 101).is_some());
        assert_eq!(bucket.insert(21, b"n", &[b'v'; 180], 500, 101), Some(0));
        assert_eq!(bucket.insert(22, b"n", &[b'v'; 180], 500, 101), Some(1));
        assert!(bucket.find(2, b"n", 101).is_none() && bucket.find(3, b"n", 101).is_some());
        assert_eq!(bucket.insert(1, b"n", &[b'v'; MAX_VALUE_BYTES + 1], 500, 0), None);
        assert_eq!(bucket.insert(1, &[b'n'; MAX_NAME_BYTES + 1], b"", 500, 0), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_bucket_that_holds_together(bytes in prop::collection::vec(any::<u8>(), BYTES), used in 0..4096usize) {
            let mut bucket = Bucket::from_bytes(bytes.try_into().unwrap(), used);
            prop_assert!(bucket.used().len() <= BYTES);
            bucket.insert(1, b"a", b"b", 9, 0);
            prop_assert_eq!(bucket.find(1, b"a", 8).map(|member| bucket.value(member).to_vec()), Some(b"b".to_vec()));
        }

        #[test]
        fn what_is_put_in_comes_out(members in prop::collection::vec(("[a-z]{1,8}", "[a-z]{0,20}"), 1..12)) {
            let mut bucket = Bucket::EMPTY;
            let mut model = std::collections::BTreeMap::new();
            for (name, value) in &members {
                if let Some(old) = bucket.find(7, name.as_bytes(), 0) {
                    bucket.remove(old);
                }
                bucket.insert(7, name.as_bytes(), value.as_bytes(), 10, 0);
                model.insert(name.clone(), value.clone());
            }
            let copy = Bucket::from_bytes(std::array::from_fn(|at| bucket.used().get(at).copied().unwrap_or(0)), bucket.used().len());
            let found: std::collections::BTreeMap<String, String> = copy
                .members()
                .map(|member| (String::from_utf8_lossy(copy.name(member)).into(), String::from_utf8_lossy(copy.value(member)).into()))
                .collect();
            prop_assert_eq!(found, model);
        }
    }
}
