//! What must hold of every byte that a log may be given.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use weir_log::json::{self, MAX_VALUE};
use weir_log::{Timestamps, request_id};

/// What a reader of the log makes of the bytes: UTF-8 as it is, and each other byte as the character of that number.
fn expected(mut bytes: &[u8]) -> String {
    let mut text = String::new();
    loop {
        match std::str::from_utf8(bytes) {
            Ok(rest) => return text + rest,
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                text += std::str::from_utf8(valid).expect("is valid up to there");
                text.push(char::from(rest[0]));
                bytes = &rest[1..];
            }
        }
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

/// Text with pieces that need care, and arbitrary bytes.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..20),
        "[ -~]{0,30}".prop_map(String::into_bytes),
        "\\PC{0,10}".prop_map(String::into_bytes),
        Just(b"\xe2\x82".to_vec()),
        Just(b"\\\"\n\r\t\x00\x7f".to_vec()),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_become_a_json_string_that_reads_back(bytes in text()) {
        let json = written(|out| json::string(out, &bytes));
        let read: String = serde_json::from_slice(&json).expect("is JSON");
        prop_assert_eq!(read, expected(&bytes));
    }

    #[test]
    fn a_value_has_a_longest_form(bytes in text(), times in 1..2000usize) {
        let json = written(|out| json::string(out, &bytes.repeat(times)));
        prop_assert!(json.len() <= MAX_VALUE * 6 + 2, "{}", json.len());
        prop_assert!(serde_json::from_slice::<String>(&json).is_ok());
    }

    #[test]
    fn numbers_and_addresses_read_back(number: u64, v4: [u8; 4], v6: [u8; 16]) {
        prop_assert_eq!(written(|out| json::number(out, number)), number.to_string().into_bytes());
        for address in [IpAddr::V4(Ipv4Addr::from(v4)), IpAddr::V6(Ipv6Addr::from(v6))] {
            let json = written(|out| json::address(out, address));
            prop_assert_eq!(serde_json::from_slice::<IpAddr>(&json).expect("is an address"), address);
        }
    }

    #[test]
    fn times_have_one_length_and_sort_as_they_pass(one in 0..253_402_300_800_000u64, other in 0..253_402_300_800_000u64) {
        let stamps = Timestamps::new();
        let [a, b] = [one, other].map(|ms| written(|out| stamps.write(out, ms)));
        prop_assert_eq!((a.len(), b.len()), (26, 26));
        prop_assert_eq!(a.cmp(&b), one.cmp(&other));
    }

    #[test]
    fn a_request_id_of_ours_is_one_that_we_accept(ms: u64, random: [u64; 2], other: [u64; 2]) {
        let id = request_id::uuid_v7(ms, random);
        prop_assert!(request_id::is_acceptable(&id));
        prop_assert!(id[14] == b'7' && b"89ab".contains(&id[19]));
        let later = request_id::uuid_v7(ms.wrapping_add(1), other);
        prop_assert!(ms.wrapping_add(1) % (1 << 48) == 0 || id[..13] < later[..13], "ids sort as time passes");
    }
}
