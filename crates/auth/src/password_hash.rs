//! Password hashes: bcrypt (Provos and Mazières, "A Future-Adaptable Password Scheme", 1999) as written by `htpasswd -B`,
//! and Argon2id (RFC 9106) as a PHC string.
//!
//! The parameters in a hash determine how much memory and time a check takes, so they are limited when the hash is
//! configured: with a hash that needs 4 GB, anyone who knows the user name could bring the gateway down. The strings are
//! parsed here because the parsers of the hashing crates accept other kinds of hash and say little about what is wrong.

use argon2::{Argon2, Block, Params};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::secret;

/// The lowest cost of bcrypt, by definition. The default of `htpasswd` is 5; 10 or more is advisable.
pub const MIN_BCRYPT_COST: u32 = 4;
/// The highest cost of bcrypt: about 2 s of CPU time. Each step doubles it.
pub const MAX_BCRYPT_COST: u32 = 14;
/// The longest password for bcrypt, which ignores all further bytes. Longer passwords are refused.
pub const MAX_BCRYPT_PASSWORD_BYTES: usize = 72;
/// The most memory of Argon2id in KiB: 128 MiB, twice what RFC 9106, section 4, recommends where memory is scarce.
pub const MAX_ARGON2_KIB: u32 = 128 * 1024;
/// The most passes of Argon2id over its memory.
pub const MAX_ARGON2_PASSES: u32 = 16;
/// The highest product of memory in KiB and passes of Argon2id: 1 to 2 s of CPU time.
pub const MAX_ARGON2_WORK: u32 = 1024 * 1024;
/// The most lanes of Argon2id.
pub const MAX_ARGON2_LANES: u32 = 16;

/// The length of a hash of bcrypt in characters.
const BCRYPT_CHARACTERS: usize = 60;
/// The longest salt and the longest hash of Argon2id in bytes. Usual are 16 and 32.
const MAX_ARGON2_BYTES: usize = 64;

/// A password hash whose parameters are within the limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordHash(Kind);

#[derive(Clone, PartialEq, Eq)]
enum Kind {
    Bcrypt { cost: u32, salt: [u8; 16], hash: [u8; 23] },
    Argon2id { memory_kib: u32, passes: u32, lanes: u32, salt: Vec<u8>, hash: Vec<u8> },
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bcrypt { cost, .. } => write!(out, "bcrypt, cost {cost}"),
            Self::Argon2id { memory_kib, passes, lanes, .. } => {
                write!(out, "argon2id, {memory_kib} KiB, {passes} passes, {lanes} lanes")
            }
        }
    }
}

/// A Base64 decoder that ignores unused bits of the last character, like all implementations of bcrypt.
const fn lenient(alphabet: &alphabet::Alphabet) -> GeneralPurpose {
    let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    GeneralPurpose::new(alphabet, config.with_decode_padding_mode(DecodePaddingMode::RequireNone))
}

const BCRYPT_BASE64: GeneralPurpose = lenient(&alphabet::BCRYPT);
const PHC_BASE64: GeneralPurpose = lenient(&alphabet::STANDARD);

impl PasswordHash {
    /// Parses a hash: `$2a$`, `$2b$` or `$2y$` of bcrypt, `$argon2id$v=19$` of Argon2id.
    ///
    /// # Errors
    /// What is wrong. The hash is not repeated.
    pub fn parse(text: &str) -> Result<Self, String> {
        let kind = text.strip_prefix('$').and_then(|rest| rest.split_once('$'));
        match kind {
            Some(("2a" | "2b" | "2y", _)) => bcrypt(text),
            Some(("argon2id", rest)) => argon2id(rest),
            Some(("2x", _)) => Err("a `$2x$` hash, made by a faulty bcrypt; set the password again".to_owned()),
            Some(("argon2i" | "argon2d", _)) => {
                Err("a hash of Argon2i or Argon2d; only Argon2id is accepted".to_owned())
            }
            Some(("apr1" | "1" | "5" | "6", _)) => {
                Err("a hash based on MD5 or SHA-2; make one with `htpasswd -B -C 10`".to_owned())
            }
            Some(_) | None => Err("not a hash of bcrypt (`$2y$...`) or Argon2id (`$argon2id$...`)".to_owned()),
        }
        .map(Self)
    }

    /// Whether this is the hash of `password`. The time depends on the parameters of the hash, not on the password.
    #[must_use]
    pub fn verifies(&self, password: &[u8]) -> bool {
        match &self.0 {
            Kind::Bcrypt { cost, salt, hash } => {
                // bcrypt reads up to and including a final zero byte, and at most 72 bytes.
                let mut key = zeroize::Zeroizing::new([0; MAX_BCRYPT_PASSWORD_BYTES]);
                let used = password.len().min(key.len());
                key[..used].copy_from_slice(&password[..used]);
                let found = bcrypt::bcrypt(*cost, *salt, &key[..(used + 1).min(MAX_BCRYPT_PASSWORD_BYTES)]);
                let is_whole = password.len() <= MAX_BCRYPT_PASSWORD_BYTES && !password.contains(&0);
                secret::equal(&found[..hash.len()], hash) && is_whole
            }
            Kind::Argon2id { memory_kib, passes, lanes, salt, hash } => {
                let params = Params::new(*memory_kib, *passes, *lanes, Some(hash.len()));
                let params = params.expect("the parameters were checked when the hash was parsed");
                let mut memory = vec![Block::default(); params.block_count()];
                let mut found = vec![0; hash.len()];
                let argon2 = Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
                let made = argon2.hash_password_into_with_memory(password, salt, &mut found, &mut memory);
                made.is_ok() && secret::equal(&found, hash)
            }
        }
    }

    /// A hash with the same parameters of no known password, for unknown user names.
    #[must_use]
    pub fn stand_in(&self) -> Self {
        let mut other = self.0.clone();
        match &mut other {
            Kind::Bcrypt { salt, hash, .. } => {
                salt.fill(0);
                hash.fill(0);
            }
            Kind::Argon2id { salt, hash, .. } => {
                salt.fill(0);
                hash.fill(0);
            }
        }
        Self(other)
    }
}

impl Default for PasswordHash {
    /// A hash of no known password with bcrypt of cost 10, for use without any other hash.
    fn default() -> Self {
        Self(Kind::Bcrypt { cost: 10, salt: [0; 16], hash: [0; 23] })
    }
}

/// Parses `$2y$`, two digits of cost, `$`, 22 characters of salt and 31 of hash.
fn bcrypt(text: &str) -> Result<Kind, String> {
    if text.len() != BCRYPT_CHARACTERS || !text.is_ascii() || text.as_bytes()[6] != b'$' {
        let found = text.chars().count();
        return Err(format!("a bcrypt hash of {found} characters; expected {BCRYPT_CHARACTERS}: $2y$10$ and 53 more"));
    }
    let cost = number(&text[4..6]).ok_or("the cost of the bcrypt hash is not a number")?;
    if !(MIN_BCRYPT_COST..=MAX_BCRYPT_COST).contains(&cost) {
        return Err(format!("a bcrypt hash of cost {cost}; expected {MIN_BCRYPT_COST} to {MAX_BCRYPT_COST}"));
    }
    let decoded = |text: &str| BCRYPT_BASE64.decode(text).map_err(|_| "salt or hash is not bcrypt's Base64");
    let fixed = "the number of characters gives the number of bytes";
    let (salt, hash) = (decoded(&text[7..29])?, decoded(&text[29..])?);
    Ok(Kind::Bcrypt { cost, salt: salt.try_into().expect(fixed), hash: hash.try_into().expect(fixed) })
}

/// Parses `v=19$m=65536,t=3,p=4$SALT$HASH`, the text after `$argon2id$`.
fn argon2id(text: &str) -> Result<Kind, String> {
    let mut parts = text.split('$');
    let mut next = || parts.next();
    let (Some(version), Some(numbers), Some(salt), Some(hash), None) = (next(), next(), next(), next(), next()) else {
        return Err("not an Argon2id hash: expected $argon2id$v=19$m=65536,t=3,p=4$SALT$HASH".to_owned());
    };
    if version != "v=19" {
        return Err("only version 19 of Argon2id (`v=19`) is accepted".to_owned());
    }
    let mut found = numbers.split(',').zip(["m=", "t=", "p="]).map(|(text, name)| number(text.strip_prefix(name)?));
    let mut next = || found.next().flatten();
    let (Some(memory_kib), Some(passes), Some(lanes)) = (next(), next(), next()) else {
        return Err("the parameters of an Argon2id hash have the form m=65536,t=3,p=4".to_owned());
    };
    if numbers.bytes().filter(|byte| *byte == b',').count() != 2 {
        return Err("an Argon2id hash has the parameters m, t and p and no others".to_owned());
    }
    if !(1..=MAX_ARGON2_LANES).contains(&lanes) {
        return Err(format!("an Argon2id hash of {lanes} lanes (`p`); expected 1 to {MAX_ARGON2_LANES}"));
    }
    // RFC 9106, section 3.1: at least 8 KiB for each lane.
    if !(8 * lanes..=MAX_ARGON2_KIB).contains(&memory_kib) {
        let least = 8 * lanes;
        return Err(format!("an Argon2id hash of {memory_kib} KiB (`m`); expected {least} to {MAX_ARGON2_KIB}"));
    }
    if !(1..=MAX_ARGON2_PASSES).contains(&passes) || memory_kib * passes > MAX_ARGON2_WORK {
        return Err(format!(
            "an Argon2id hash of {passes} passes (`t`) over {memory_kib} KiB (`m`); expected 1 to {MAX_ARGON2_PASSES} \
             passes, and at most {MAX_ARGON2_WORK} KiB in all passes"
        ));
    }
    let decoded = |text: &str, name: &str, least: usize| match PHC_BASE64.decode(text) {
        Ok(bytes) if (least..=MAX_ARGON2_BYTES).contains(&bytes.len()) => Ok(bytes),
        Ok(bytes) => Err(format!("{} bytes of {name}; expected {least} to {MAX_ARGON2_BYTES}", bytes.len())),
        Err(_) => Err(format!("the {name} of the Argon2id hash is not Base64 without padding")),
    };
    // Argon2 needs at least 8 bytes of salt. A hash of 16 bytes cannot be matched by chance.
    let (salt, hash) = (decoded(salt, "salt", 8)?, decoded(hash, "hash", 16)?);
    Ok(Kind::Argon2id { memory_kib, passes, lanes, salt, hash })
}

/// A number of decimal digits only, without a sign.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests;
