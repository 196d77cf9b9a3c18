//! The host name in a TLS handshake, before OpenSSL has looked at it.

/// The host name in a `server_name` extension (RFC 6066, section 3); `None` if the extension is malformed.
#[must_use]
pub fn server_name(extension: &[u8]) -> Option<&[u8]> {
    const HOST_NAME: u8 = 0;
    let (length, list) = extension.split_first_chunk::<2>()?;
    let list = list.get(..usize::from(u16::from_be_bytes(*length)))?;
    let (name_type, list) = list.split_first()?;
    let (length, name) = list.split_first_chunk::<2>()?;
    (*name_type == HOST_NAME).then_some(())?;
    name.get(..usize::from(u16::from_be_bytes(*length)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn extension(name_type: u8, name: &[u8]) -> Vec<u8> {
        let length = u16::try_from(name.len()).unwrap();
        [&(length + 3).to_be_bytes()[..], &[name_type], &length.to_be_bytes(), name].concat()
    }

    #[test]
    fn what_is_cut_or_of_another_type_has_no_name() {
        let good: &[u8] = b"\x00\x0e\x00\x00\x0bexample.com";
        assert_eq!(server_name(good), Some(&b"example.com"[..]));
        for end in 0..good.len() {
            assert_eq!(server_name(&good[..end]), None, "cut at {end}");
        }
        let cases: [(&[u8], Option<&[u8]>); 4] = [
            (b"\x00\x0e\x01\x00\x0bexample.com", None),
            (b"\x00\x03\x00\x00\x00", Some(b"")),
            (b"\x00\x04\x00\x00\x05ab", None),
            (b"\xff\xff\x00\xff\xff", None),
        ];
        for (extension, name) in cases {
            assert_eq!(server_name(extension), name, "{extension:?}");
        }
    }

    proptest! {
        #[test]
        fn a_name_reads_back_and_any_bytes_are_read(
            name in proptest::collection::vec(any::<u8>(), 0..300), bytes in proptest::collection::vec(any::<u8>(), 0..50),
        ) {
            let [host, other] = [0, 1].map(|name_type| extension(name_type, &name));
            prop_assert_eq!(server_name(&host), Some(&name[..]));
            prop_assert_eq!(server_name(&other), None);
            prop_assert!(server_name(&bytes).is_none_or(|name| name.len() + 5 <= bytes.len()));
        }
    }
}
