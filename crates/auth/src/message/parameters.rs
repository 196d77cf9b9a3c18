//! The parameters of a signature (RFC 9421, section 2.3): who signed, when, until when, and with what.

use super::algorithm::Algorithm;
use super::component::echo;
use super::options::Options;
use super::structured::{Bare, Parameters, unescape};
use crate::{Failure, Reason};

/// The longest key id and nonce in bytes: longer ones would only fill tables.
const MAX_NAME_BYTES: usize = 256;

/// What a signature says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Milliseconds since the Unix epoch at which it was made.
    pub created_ms: Option<u64>,
    /// Milliseconds since the Unix epoch after which it does not count.
    pub expires_ms: Option<u64>,
    /// The id of the key.
    pub key_id: String,
    /// The client's nonce.
    pub nonce: Option<String>,
    /// The algorithm that it states, which must be the key's.
    pub algorithm: Option<Algorithm>,
}

impl Claim {
    /// Reads the parameters. Those that RFC 9421 does not define are signed, and mean nothing here.
    ///
    /// # Errors
    /// Parameters of the wrong type or past a bound, unknown algorithms, a missing key id.
    pub fn of(parameters: &Parameters<'_>) -> Result<Self, Failure> {
        let mut claim = Self::default();
        let mut key_id = None;
        for (name, value) in parameters {
            match (*name, value) {
                ("created", Bare::Integer(seconds)) => claim.created_ms = Some(milliseconds(name, *seconds)?),
                ("expires", Bare::Integer(seconds)) => claim.expires_ms = Some(milliseconds(name, *seconds)?),
                ("keyid", Bare::Text(text)) => key_id = Some(bounded(name, text)?),
                ("nonce", Bare::Text(text)) => claim.nonce = Some(bounded(name, text)?),
                ("alg", Bare::Text(text)) => {
                    let unknown = || format!("the algorithm `{}` is not supported", echo(text));
                    let algorithm = Algorithm::of_name(text);
                    claim.algorithm = Some(algorithm.ok_or_else(|| Failure::new(Reason::Unsupported, unknown()))?);
                }
                ("tag", Bare::Text(_)) => {}
                ("created" | "expires" | "keyid" | "nonce" | "alg" | "tag", _) => {
                    let detail = format!("the signature's `{name}` is of the wrong type");
                    return Err(Failure::new(Reason::Malformed, detail));
                }
                (_unknown, _) => {}
            }
        }
        claim.key_id = key_id.ok_or_else(|| Failure::new(Reason::Incomplete, "the signature has no `keyid`"))?;
        Ok(claim)
    }

    /// Checks times and nonce. The result is the time after which the signature would be refused as expired, in
    /// milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// Signatures that are too old, too new, or do not say how old they are.
    pub fn check(&self, options: &Options, now_ms: u64) -> Result<u64, Failure> {
        let fail = |reason, detail: String| Err(Failure::new(reason, detail));
        if options.nonce && self.nonce.is_none() {
            return fail(Reason::Incomplete, "the signature has no `nonce`".to_owned());
        }
        let last_ms = match (self.created_ms, self.expires_ms) {
            (None, _) if options.created => {
                return fail(Reason::Incomplete, "the signature has no `created`".to_owned());
            }
            (None, None) => return fail(Reason::Incomplete, "the signature has no `created` or `expires`".to_owned()),
            (None, Some(expires)) if expires > now_ms.saturating_add(options.max_age_ms) => {
                let detail =
                    format!("`expires` is more than {} ms ahead, and there is no `created`", options.max_age_ms);
                return fail(Reason::NotYet, detail);
            }
            (None, Some(expires)) => expires,
            (Some(created), Some(expires)) if expires < created => {
                return fail(Reason::Malformed, "`expires` is before `created`".to_owned());
            }
            (Some(created), expires) => {
                if created > now_ms.saturating_add(options.max_skew_ms) {
                    let detail = format!("created {} ms in the future", created - now_ms);
                    return fail(Reason::NotYet, detail);
                }
                let last = created.saturating_add(options.max_age_ms);
                expires.map_or(last, |expires| expires.min(last))
            }
        };
        if now_ms > last_ms {
            return fail(Reason::Expired, format!("expired {} ms ago", now_ms - last_ms));
        }
        Ok(last_ms)
    }
}

fn milliseconds(name: &str, seconds: i64) -> Result<u64, Failure> {
    let before = || Failure::new(Reason::Malformed, format!("the signature's `{name}` is negative"));
    u64::try_from(seconds).map(|seconds| seconds * 1000).map_err(|_| before())
}

fn bounded(name: &str, text: &str) -> Result<String, Failure> {
    if text.len() > MAX_NAME_BYTES {
        let detail = format!("the signature's `{name}` has {} bytes, more than {MAX_NAME_BYTES}", text.len());
        return Err(Failure::new(Reason::TooLarge, detail));
    }
    Ok(unescape(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::structured::parser::item;
    use super::*;

    fn claim(parameters: &str) -> Result<Claim, Reason> {
        let text = format!("a{parameters}");
        Claim::of(&item(text.as_bytes()).unwrap().parameters).map_err(|failure| failure.reason)
    }

    #[test]
    fn parameters_of_the_wrong_type_are_refused() {
        for (parameters, reason) in [
            ("", Reason::Incomplete),
            (";keyid=a", Reason::Malformed),
            (";keyid", Reason::Malformed),
            (";created=\"1\"", Reason::Malformed),
            (";created=1.5", Reason::Malformed),
            (";created=-1", Reason::Malformed),
            (";expires=@1", Reason::Malformed),
            (";nonce=:AAAA:", Reason::Malformed),
            (";alg=ed25519", Reason::Malformed),
            (";alg=\"none\"", Reason::Unsupported),
            (";alg=\"HMAC-SHA256\"", Reason::Unsupported),
            (";tag=1", Reason::Malformed),
            (&format!(";keyid=\"{}\"", "k".repeat(257)), Reason::TooLarge),
            (&format!(";nonce=\"{}\"", "n".repeat(257)), Reason::TooLarge),
        ] {
            assert_eq!(claim(parameters), Err(reason), "{parameters}");
        }
        let read = claim(";created=1;expires=2;keyid=\"a\\\"b\";alg=\"ed25519\";nonce=\"n\";tag=\"t\";x=1").unwrap();
        let expected = Claim {
            created_ms: Some(1000),
            expires_ms: Some(2000),
            key_id: "a\"b".to_owned(),
            nonce: Some("n".to_owned()),
            algorithm: Some(Algorithm::Ed25519),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn times_are_checked_to_the_millisecond() {
        let lenient = Options { created: false, ..Options::default() };
        let check = |parameters: &str, options: &Options, now_ms| {
            let claim = claim(&format!(";keyid=\"a\"{parameters}")).unwrap();
            claim.check(options, now_ms).map_err(|failure| failure.reason)
        };
        let strict = Options::default();
        for (parameters, options, now_ms, expected) in [
            (";created=1000", &strict, 1_300_000, Ok(1_300_000)),
            (";created=1000", &strict, 1_300_001, Err(Reason::Expired)),
            (";created=1000", &strict, 970_000, Ok(1_300_000)),
            (";created=1000", &strict, 969_999, Err(Reason::NotYet)),
            (";created=1000;expires=1001", &strict, 1_001_000, Ok(1_001_000)),
            (";created=1000;expires=1001", &strict, 1_001_001, Err(Reason::Expired)),
            (";created=1000;expires=9999", &strict, 1_000_000, Ok(1_300_000)),
            (";created=1000;expires=999", &strict, 999_000, Err(Reason::Malformed)),
            (";expires=1001", &strict, 1_000_000, Err(Reason::Incomplete)),
            (";expires=1001", &lenient, 1_000_000, Ok(1_001_000)),
            (";expires=1301", &lenient, 1_000_000, Err(Reason::NotYet)),
            ("", &lenient, 1_000_000, Err(Reason::Incomplete)),
            (";created=999999999999999", &strict, u64::MAX, Err(Reason::Expired)),
        ] {
            assert_eq!(check(parameters, options, now_ms), expected, "{parameters} at {now_ms}");
        }
        let nonce = Options { nonce: true, ..Options::default() };
        assert_eq!(check(";created=1000", &nonce, 1_000_000), Err(Reason::Incomplete));
        assert_eq!(check(";created=1000;nonce=\"n\"", &nonce, 1_000_000), Ok(1_300_000));
    }
}
