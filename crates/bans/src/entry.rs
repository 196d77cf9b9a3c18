//! A ban, and the word of shared memory that says everything about it but whom it is for.

use std::str::FromStr;

use crate::network::Network;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$of])* $variant,)* }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word for it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            fn of_byte(byte: u8) -> Option<Self> {
                Self::ALL.get(usize::from(byte)).copied()
            }
        }

        impl FromStr for $name {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                Self::ALL.iter().copied().find(|known| known.as_str() == text).ok_or(())
            }
        }
    };
}

words! {
    /// What is to be done with requests of a banned client: the value of `ip.ban`. Of several that hold, the first counts.
    Remedy {
        /// Refuse them.
        Ban "ban",
        /// Let a person prove to be one.
        Captcha "captcha",
        /// Slow them down.
        Throttle "throttle",
        /// Whatever rules make of it.
        Other "other",
    }
}

words! {
    /// Who has banned. Of several, the first counts.
    Origin {
        /// A person, with `weir ban` or the API.
        Operator "operator",
        /// CrowdSec's local API.
        CrowdSec "crowdsec",
    }
}

/// A ban.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// For whom it is.
    pub network: Network,
    /// What is to be done.
    pub remedy: Remedy,
    /// Who has made it.
    pub origin: Origin,
    /// From this second since 1970 on, it does not hold any more. In the table, 2106 is the latest.
    pub expires_s: u64,
}

/// No entry, and none behind it.
pub(crate) const EMPTY: u64 = 0;
/// No entry any more; others may follow.
pub(crate) const REMOVED: u64 = 0xff;

/// The word of an entry: when it ends, a number that tells it from earlier ones in its place, what and who, and the code
/// of its network in the lowest byte.
pub(crate) fn word(entry: &Entry, version: u8) -> u64 {
    let expires = u64::from(u32::try_from(entry.expires_s).unwrap_or(u32::MAX));
    let parts = [version, entry.remedy as u8, entry.origin as u8, entry.network.code()];
    expires << 32 | u64::from(u32::from_be_bytes(parts))
}

/// The code of the network in a word; 0 or 255 if there is no entry.
pub(crate) fn code_of(word: u64) -> u8 {
    word as u8
}

pub(crate) fn expires_s_of(word: u64) -> u64 {
    word >> 32
}

pub(crate) fn remedy_of(word: u64) -> Option<Remedy> {
    Remedy::of_byte((word >> 16) as u8)
}

/// The entry in three words of shared memory, if there is one.
pub(crate) fn entry_of(high: u64, low: u64, word: u64) -> Option<Entry> {
    let network = Network::of_words(code_of(word), high, low)?;
    let (remedy, origin) = (remedy_of(word)?, Origin::of_byte((word >> 8) as u8)?);
    Some(Entry { network, remedy, origin, expires_s: expires_s_of(word) })
}
