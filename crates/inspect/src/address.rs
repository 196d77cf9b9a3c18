//! The client's address as text, without an allocation: every question has it.
//!
//! The four numbers of an IPv4 address are written by hand, because `core::fmt` takes a thousand instructions for them.

use std::io::Write as _;
use std::net::IpAddr;
use std::ops::Deref;

/// Bytes of the longest address.
const MAX_BYTES: usize = 45;

/// An address as text.
pub struct AddressText {
    bytes: [u8; MAX_BYTES],
    length: usize,
}

impl From<IpAddr> for AddressText {
    fn from(address: IpAddr) -> Self {
        let mut text = Self { bytes: [0; MAX_BYTES], length: 0 };
        match address {
            IpAddr::V4(address) => {
                for (at, octet) in address.octets().into_iter().enumerate() {
                    if at > 0 {
                        text.push(b'.');
                    }
                    let digits = [octet / 100, octet / 10 % 10, octet % 10];
                    let zeros = usize::from(octet < 100) + usize::from(octet < 10);
                    digits[zeros..].iter().for_each(|digit| text.push(b'0' + digit));
                }
            }
            IpAddr::V6(address) => {
                let mut rest = &mut text.bytes[..];
                let _ = write!(rest, "{address}"); // it fits
                text.length = MAX_BYTES - rest.len();
            }
        }
        text
    }
}

impl AddressText {
    fn push(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }
}

impl Deref for AddressText {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn addresses_read_as_they_are_shown(v4 in any::<[u8; 4]>(), v6 in any::<[u8; 16]>()) {
            let longest = [0xff; 16];
            for address in [IpAddr::from(v4), IpAddr::from(v6), IpAddr::from(longest)] {
                let shown = address.to_string();
                prop_assert_eq!(&AddressText::from(address)[..], shown.as_bytes());
            }
        }
    }
}
