//! The claims of a token (RFC 7519, section 4.1), and the rules that decide whether a token with a right signature is
//! meant for this gateway at this time.

use serde_json::{Map, Value};

use crate::excerpt::Excerpt;
use crate::{Failure, Reason};

/// What the claims of a token must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRules {
    /// The accepted values of `iss`. Default: empty, so `iss` is not checked.
    pub issuers: Vec<String>,
    /// The accepted values of `aud`, which must contain at least one. Default: empty, so `aud` is not checked.
    pub audiences: Vec<String>,
    /// How far apart the clocks of issuer and gateway may be, in milliseconds. Default: 60 000.
    pub leeway_ms: u64,
    /// Whether `exp` must be present. Default: true.
    pub require_exp: bool,
    /// The longest time from `iat` to `exp`, in milliseconds; both must then be present. Default: no limit.
    pub max_lifetime_ms: Option<u64>,
    /// The names of further claims that must be present and not null. Default: none.
    pub required: Vec<String>,
}

impl Default for ClaimRules {
    fn default() -> Self {
        Self {
            issuers: Vec::new(),
            audiences: Vec::new(),
            leeway_ms: 60_000,
            require_exp: true,
            max_lifetime_ms: None,
            required: Vec::new(),
        }
    }
}

impl ClaimRules {
    /// Checks claims. `now_ms` is milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// [`Reason::Malformed`] if a registered claim has the wrong type, [`Reason::Incomplete`] if one is missing,
    /// [`Reason::Expired`], [`Reason::NotYet`], or [`Reason::Unsupported`] if issuer, audience or
    /// lifetime is not accepted.
    pub fn check(&self, claims: &Map<String, Value>, now_ms: u64) -> Result<(), Failure> {
        self.check_time(claims, now_ms)?;
        let issuer = text(claims, "iss")?;
        if !self.issuers.is_empty() {
            let issuer = issuer.ok_or_else(|| missing("iss"))?;
            if !self.issuers.iter().any(|allowed| allowed == issuer) {
                return Err(refused(format!("the token's issuer is {}", Excerpt(issuer.as_bytes()))));
            }
        }
        let audiences = audiences(claims)?;
        if !self.audiences.is_empty() {
            let first = *audiences.first().ok_or_else(|| missing("aud"))?;
            let known = |audience: &&str| self.audiences.iter().any(|allowed| allowed == audience);
            if !audiences.iter().any(known) {
                let more = if audiences.len() > 1 { " and others" } else { "" };
                return Err(refused(format!("the token is for {}{more}", Excerpt(first.as_bytes()))));
            }
        }
        let absent = self.required.iter().find(|name| claims.get(*name).is_none_or(Value::is_null));
        absent.map_or(Ok(()), |name| Err(missing(name)))
    }

    fn check_time(&self, claims: &Map<String, Value>, now_ms: u64) -> Result<(), Failure> {
        let (expires, begins, issued) = (date(claims, "exp")?, date(claims, "nbf")?, date(claims, "iat")?);
        if expires.is_none() && (self.require_exp || self.max_lifetime_ms.is_some()) {
            return Err(missing("exp"));
        }
        if let Some(expires) = expires.filter(|at| *at <= now_ms.saturating_sub(self.leeway_ms)) {
            let ago = seconds(now_ms - expires);
            return Err(Failure::new(Reason::Expired, format!("the token expired {ago} ago (`exp`)")));
        }
        for (name, at) in [("nbf", begins), ("iat", issued)] {
            if let Some(at) = at.filter(|at| *at > now_ms.saturating_add(self.leeway_ms)) {
                let ahead = seconds(at - now_ms);
                return Err(Failure::new(
                    Reason::NotYet,
                    format!("the token is not valid for another {ahead} (`{name}`)"),
                ));
            }
        }
        if let (Some(most), Some(expires)) = (self.max_lifetime_ms, expires) {
            let lifetime = expires.saturating_sub(issued.ok_or_else(|| missing("iat"))?);
            if lifetime > most {
                let (lifetime, most) = (seconds(lifetime), seconds(most));
                return Err(refused(format!(
                    "the token is valid for {lifetime} (`iat` to `exp`); at most {most} are accepted"
                )));
            }
        }
        Ok(())
    }
}

/// The value of a claim that must be a string if it is present.
///
/// # Errors
/// [`Reason::Malformed`] if it is not a string.
pub fn text<'a>(claims: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, Failure> {
    claims.get(name).map(|value| value.as_str().ok_or_else(|| wrong(name, "a string"))).transpose()
}

/// The values of `aud`, a string or an array of strings.
fn audiences(claims: &Map<String, Value>) -> Result<Vec<&str>, Failure> {
    let wrong = || wrong("aud", "a string or an array of strings");
    match claims.get("aud") {
        None => Ok(Vec::new()),
        Some(Value::String(one)) => Ok(vec![one]),
        Some(Value::Array(several)) => several.iter().map(|value| value.as_str().ok_or_else(wrong)).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => Err(wrong()),
    }
}

/// A `NumericDate` (RFC 7519, section 2) in milliseconds; the claim has seconds, possibly with a fraction.
fn date(claims: &Map<String, Value>, name: &str) -> Result<Option<u64>, Failure> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    if let Some(seconds) = value.as_u64() {
        return Ok(Some(seconds.saturating_mul(1000)));
    }
    // The conversion saturates: a date past u64 never comes.
    let seconds = value.as_f64().filter(|seconds| *seconds >= 0.0);
    seconds.map(|seconds| Some((seconds * 1000.0) as u64)).ok_or_else(|| wrong(name, "a time in seconds since 1970"))
}

fn seconds(milliseconds: u64) -> String {
    format!("{} s", milliseconds / 1000)
}

fn missing(name: &str) -> Failure {
    Failure::new(Reason::Incomplete, format!("the token has no `{name}`"))
}

fn wrong(name: &str, expected: &str) -> Failure {
    Failure::new(Reason::Malformed, format!("`{name}` of the token is not {expected}"))
}

fn refused(detail: String) -> Failure {
    Failure::new(Reason::Unsupported, detail)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW_MS: u64 = 1_700_000_000_000;
    const NOW: u64 = NOW_MS / 1000;

    fn rules() -> ClaimRules {
        ClaimRules {
            issuers: vec!["https://a.example".to_owned(), "b".to_owned()],
            audiences: vec!["shop".to_owned(), "pay".to_owned()],
            required: vec!["sub".to_owned()],
            max_lifetime_ms: Some(3_600_000),
            ..ClaimRules::default()
        }
    }

    /// Valid claims with changes; a change to null removes a claim.
    fn checked(rules: &ClaimRules, changes: &Value) -> Result<(), Reason> {
        let mut claims = json!({"iss": "b", "aud": "pay", "sub": "x", "iat": NOW - 10, "exp": NOW + 10});
        let claims = claims.as_object_mut().unwrap();
        for (name, value) in changes.as_object().unwrap() {
            if value.is_null() {
                claims.remove(name);
            } else {
                claims.insert(name.clone(), value.clone());
            }
        }
        rules.check(claims, NOW_MS).map_err(|failure| failure.reason)
    }

    #[test]
    fn takes_what_is_for_here_and_now() {
        for changes in [
            json!({}),
            json!({"iss": "https://a.example"}),
            json!({"aud": ["other", "shop"]}),
            json!({"exp": NOW - 59}),
            json!({"exp": NOW as f64 - 59.5}),
            json!({"iat": NOW + 60, "nbf": NOW + 60}),
            json!({"iat": NOW, "exp": NOW + 3600}),
            json!({"nbf": 0, "other": [1, 2]}),
        ] {
            assert_eq!(checked(&rules(), &changes), Ok(()), "{changes}");
        }
        let any = ClaimRules { require_exp: false, ..ClaimRules::default() };
        assert_eq!(any.check(&Map::new(), NOW_MS), Ok(()));
        let forever = json!({"exp": 1e300});
        assert_eq!(checked(&ClaimRules::default(), &forever), Ok(()));
    }

    #[test]
    fn refuses() {
        for (changes, reason) in [
            (json!({"exp": NOW - 60}), Reason::Expired),
            (json!({"exp": NOW as f64 - 60.5}), Reason::Expired),
            (json!({"exp": 0}), Reason::Expired),
            (json!({"exp": null}), Reason::Incomplete),
            (json!({"exp": "1800000000"}), Reason::Malformed),
            (json!({"exp": -1}), Reason::Malformed),
            (json!({"exp": [1]}), Reason::Malformed),
            (json!({"nbf": NOW + 61}), Reason::NotYet),
            (json!({"nbf": true}), Reason::Malformed),
            (json!({"iat": NOW + 61}), Reason::NotYet),
            (json!({"iat": null}), Reason::Incomplete),
            (json!({"exp": NOW + 3591}), Reason::Unsupported),
            (json!({"exp": 1e300}), Reason::Unsupported),
            (json!({"iss": "B"}), Reason::Unsupported),
            (json!({"iss": null}), Reason::Incomplete),
            (json!({"iss": ["b"]}), Reason::Malformed),
            (json!({"aud": "shop2"}), Reason::Unsupported),
            (json!({"aud": ["a", "b"]}), Reason::Unsupported),
            (json!({"aud": []}), Reason::Incomplete),
            (json!({"aud": null}), Reason::Incomplete),
            (json!({"aud": ["shop", 1]}), Reason::Malformed),
            (json!({"aud": {"shop": 1}}), Reason::Malformed),
            (json!({"sub": null}), Reason::Incomplete),
        ] {
            assert_eq!(checked(&rules(), &changes), Err(reason), "{changes}");
        }
    }

    #[test]
    fn a_null_is_not_a_claim_and_extreme_times_do_not_overflow() {
        let required = vec!["sub".to_owned()];
        let rules = ClaimRules { required, leeway_ms: u64::MAX, max_lifetime_ms: Some(u64::MAX), ..Default::default() };
        for (exp, iat) in [(u64::MAX, 0), (1, u64::MAX), (u64::MAX, u64::MAX)] {
            let claims = json!({"sub": null, "exp": exp, "iat": iat});
            for now_ms in [0, NOW_MS, u64::MAX] {
                let failure = rules.check(claims.as_object().unwrap(), now_ms).unwrap_err();
                assert_eq!(failure.to_string(), "incomplete: the token has no `sub`");
            }
        }
    }
}
