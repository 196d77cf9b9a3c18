//! What can be banned: an address, or a network without host bits.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::IpNet;

/// A network, or an address as a network of one. IPv4 addresses that are written as IPv6 (`::ffff:192.0.2.7`) are IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network {
    /// 1 to 128 bits of IPv6; 128 and 1 to 32 bits of IPv4.
    code: u8,
    /// The address in host byte order; of IPv4 the lower 32 bits.
    bits: u128,
}

/// Codes below or at this are prefix lengths of IPv6, those above of IPv4.
const V6_BITS: u8 = 128;

/// Why a text is not a network that can be banned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// It cannot be read.
    #[error("this is neither an address nor a network; write 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32")]
    Syntax,
    /// All of IPv4 or IPv6.
    #[error("this bans everybody; use a rule that blocks every request instead")]
    Everybody,
}

impl Network {
    /// The network of `address` with this prefix length, at least 1 and at most 32 or 128.
    pub(crate) fn of(address: IpAddr, length: u8) -> Self {
        match address {
            IpAddr::V4(address) => {
                let length = length.clamp(1, 32);
                let bits = u128::from(u32::from(address) & (u32::MAX << (32 - length)));
                Self { code: V6_BITS + length, bits }
            }
            IpAddr::V6(address) => {
                let length = length.clamp(1, V6_BITS);
                Self { code: length, bits: u128::from(address) & (u128::MAX << (V6_BITS - length)) }
            }
        }
    }

    /// Whether it is so wide (shorter than /8 of IPv4, /16 of IPv6) that a slip of the pen is more likely than a purpose.
    #[must_use]
    pub fn is_wide(&self) -> bool {
        match self.code.checked_sub(V6_BITS).filter(|length| *length > 0) {
            Some(length) => length < 8,
            None => self.code < 16,
        }
    }

    /// Whether an address belongs to it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let length = self.code.checked_sub(V6_BITS).filter(|length| *length > 0);
        length.is_some() == address.is_ipv4() && *self == Self::of(address, length.unwrap_or(self.code))
    }

    /// The network of two words and a code in shared memory; `None` if there is none like it.
    pub(crate) fn of_words(code: u8, high: u64, low: u64) -> Option<Self> {
        let bits = u128::from(high) << 64 | u128::from(low);
        (1..=V6_BITS + 32).contains(&code).then_some(Self { code, bits })
    }

    pub(crate) fn words(&self) -> (u64, u64) {
        ((self.bits >> 64) as u64, self.bits as u64)
    }

    pub(crate) fn code(&self) -> u8 {
        self.code
    }
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self::of(address, if address.is_ipv4() { 32 } else { V6_BITS })
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    /// Reads `192.0.2.7` or `192.0.2.0/24`; host bits are dropped.
    fn from_str(text: &str) -> Result<Self, NetworkError> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(address.into());
        }
        let network: IpNet = text.parse().map_err(|_| NetworkError::Syntax)?;
        let (address, length) = match (network.addr().to_canonical(), network.prefix_len()) {
            (mapped @ IpAddr::V4(_), length @ 96..) if network.addr().is_ipv6() => (mapped, length - 96),
            (_, length) => (network.addr(), length),
        };
        if length == 0 { Err(NetworkError::Everybody) } else { Ok(Self::of(address, length)) }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code.checked_sub(V6_BITS).filter(|length| *length > 0) {
            Some(length) => {
                write!(out, "{}", Ipv4Addr::from(self.bits as u32))?;
                if length < 32 { write!(out, "/{length}") } else { Ok(()) }
            }
            None => {
                write!(out, "{}", Ipv6Addr::from(self.bits))?;
                if self.code < V6_BITS { write!(out, "/{}", self.code) } else { Ok(()) }
            }
        }
    }
}
