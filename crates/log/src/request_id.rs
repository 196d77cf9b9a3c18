//! Request ids: UUIDv7 (RFC 9562, section 5.7), or what a trusted proxy sent.
//!
//! Version 7 begins with the time, so ids sort as the requests came and indexes over them stay
//! compact. Made only when something asks: a log, a variable, a rule, a finding.

/// Longest inbound id that is taken: the usual formats have 16 to 36 characters.
pub const MAX_INBOUND: usize = 64;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// A UUIDv7 as text.
pub fn uuid_v7(now_ms: u64, random: [u64; 2]) -> [u8; 36] {
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&now_ms.to_be_bytes()[2..]);
    bytes[6..8].copy_from_slice(&(0x7000 | (random[0] & 0xfff) as u16).to_be_bytes());
    bytes[8..].copy_from_slice(&((random[1] >> 2) | 1 << 63).to_be_bytes());
    let mut text = [b'-'; 36];
    let mut at = 0;
    for (place, byte) in bytes.into_iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            at += 1;
        }
        text[at] = HEX[usize::from(byte >> 4)];
        text[at + 1] = HEX[usize::from(byte & 15)];
        at += 2;
    }
    text
}

/// Whether an inbound id is one that logs and headers can carry as it is.
pub fn is_acceptable(id: &[u8]) -> bool {
    (1..=MAX_INBOUND).contains(&id.len())
        && id.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_its_time_version_and_variant_in_place() {
        // The example of RFC 9562, appendix A.6.
        let id = uuid_v7(0x017F_22E2_79B0, [0xCC3, 0x18C4_DC0C_0C07_398F << 2]);
        assert_eq!(std::str::from_utf8(&id), Ok("017f22e2-79b0-7cc3-98c4-dc0c0c07398f"));
    }

    #[test]
    fn inbound_ids_are_taken_only_if_harmless() {
        for (id, good) in [("a", true), ("0af7.65_1-9", true), ("", false), ("a b", false), ("a\"", false)] {
            assert_eq!(is_acceptable(id.as_bytes()), good, "{id}");
        }
        assert!(is_acceptable(&[b'x'; MAX_INBOUND]) && !is_acceptable(&[b'x'; MAX_INBOUND + 1]));
    }
}
