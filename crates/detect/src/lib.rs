//! Tokenising detectors (SQL injection, XSS) and checks of encodings and numbers: pure functions on bytes.
//!
//! Each gives the same result as the corresponding operator of ModSecurity 3.0.9. Each detector has
//! a pre-filter (`_possible`): if it returns false, the detector would find nothing. Most everyday
//! values are dismissed there, in nanoseconds.

mod byte_range;
mod byte_set;
mod card_number;
mod cpf;
mod sqli;
mod ssn;
mod svnr;
mod url_encoding;
mod utf8;
mod xss;

pub use byte_range::{ByteRange, ByteRangeError};
pub use byte_set::{ByteSet, byte_set};
pub use card_number::is_card_number;
pub use cpf::is_cpf;
pub use sqli::{Fingerprint, sqli, sqli_possible, sqli_possible_with};
pub use ssn::is_ssn;
pub use svnr::is_svnr;
pub use url_encoding::{UrlEncodingError, check_url_encoding};
pub use utf8::{Utf8Error, check_utf8};
pub use xss::{xss, xss_possible, xss_possible_with};
