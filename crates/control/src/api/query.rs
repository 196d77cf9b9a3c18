//! What stands behind the question mark, and the conditions in the headers.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, header};

use super::Problem;
use crate::options::Limits;
use crate::publish::Wait;
use crate::state::{Condition, Match};

/// Arguments, decoded, in their order.
pub(super) struct Arguments(Vec<(String, String)>);

impl Arguments {
    /// Reads a query. Those that are not in `known` are an error: a `dry-run` that was not understood would be a change.
    pub fn parse(query: Option<&str>, known: &[&str]) -> Result<Self, Problem> {
        let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        let mut all = Vec::new();
        for pair in pairs {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded = |text| decode(text).ok_or_else(|| Problem::malformed(format!("?{pair} is not well encoded")));
            let (name, value) = (decoded(name)?, decoded(value)?);
            if !known.contains(&name.as_str()) {
                let detail = format!("there is no argument `{name}` here");
                return Err(Problem::malformed(detail).hint(&format!("there are: {}", known.join(", "))));
            }
            all.push((name, value));
        }
        Ok(Self(all))
    }

    /// The value of an argument.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether a switch is on: `?dry_run`, `?dry_run=true`.
    pub fn switch(&self, name: &str) -> Result<bool, Problem> {
        match self.get(name) {
            None | Some("false" | "0") => Ok(false),
            Some("" | "true" | "1") => Ok(true),
            Some(other) => Err(Problem::malformed(format!("?{name}={other} is neither true nor false"))),
        }
    }

    /// A number.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        let parse = |text: &str| {
            text.parse().map_err(|_| Problem::malformed(format!("?{name}={text} is not a whole number from 0")))
        };
        self.get(name).map(parse).transpose()
    }

    /// A number from 1 to `most`; `default` if there is none.
    pub fn limit(&self, default: u64, most: u64) -> Result<u64, Problem> {
        match self.number("limit")? {
            None => Ok(default),
            Some(limit) if (1..=most).contains(&limit) => Ok(limit),
            Some(limit) => Err(Problem::malformed(format!("?limit={limit} is not from 1 to {most}"))),
        }
    }

    /// `?timeout=5s`, `500ms` or seconds.
    pub fn timeout(&self, limits: &Limits) -> Result<Duration, Problem> {
        let Some(text) = self.get("timeout") else { return Ok(limits.timeout) };
        let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        let number: Option<u64> = digits.parse().ok();
        let parsed = match unit {
            "ms" => number.map(Duration::from_millis),
            "" | "s" => number.map(Duration::from_secs),
            _ => None,
        };
        parsed.filter(|timeout| *timeout <= limits.longest_timeout).ok_or_else(|| {
            let longest = limits.longest_timeout.as_secs();
            Problem::malformed(format!("?timeout={text} is not a time of at most {longest}s, such as 5s or 500ms"))
        })
    }

    /// `?wait=`.
    pub fn wait(&self) -> Result<Wait, Problem> {
        match self.get("wait") {
            None | Some("workers") => Ok(Wait::Workers),
            Some("accepted") => Ok(Wait::Accepted),
            Some(other) => Err(Problem::malformed(format!("?wait={other} is neither accepted nor workers"))),
        }
    }
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16));
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(out).ok()
}

/// The key of `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header), also without the quotes of a structured
/// field.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    const MAX_KEY: usize = 255;
    let mut values = headers.get_all("idempotency-key").iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    let key = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
    let is_good = (1..=MAX_KEY).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_good || values.next().is_some() {
        let detail = format!("Idempotency-Key is not one key of 1 to {MAX_KEY} visible ASCII characters");
        return Err(Problem::malformed(detail).hint("such as a UUID, a new one for each change"));
    }
    Ok(Some(key.to_owned()))
}

/// `If-Match` and `If-None-Match`.
pub(super) fn condition(headers: &HeaderMap) -> Result<Condition, Problem> {
    let matches = tags(headers, &header::IF_MATCH)?;
    let absent = match tags(headers, &header::IF_NONE_MATCH)? {
        None => false,
        Some(Match::Any) => true,
        Some(Match::Revisions(_)) => {
            return Err(Problem::malformed("a change takes If-None-Match only as `*`"));
        }
    };
    Ok(Condition { matches, absent })
}

/// An error where a condition is sent with a change of more than one resource: it would say nothing.
pub(super) fn no_condition(headers: &HeaderMap, instead: &str) -> Result<(), Problem> {
    match [header::IF_MATCH, header::IF_NONE_MATCH].iter().find(|name| headers.contains_key(*name)) {
        None => Ok(()),
        Some(name) => Err(Problem::malformed(format!("{name} is for a change of one resource")).hint(instead)),
    }
}

/// The revisions of a list of entity tags.
pub(super) fn tags(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Match>, Problem> {
    let mut revisions = Vec::new();
    let mut any = false;
    let mut values = headers.get_all(name).iter().peekable();
    if values.peek().is_none() {
        return Ok(None);
    }
    for value in values {
        let text = value.to_str().map_err(|_| Problem::malformed(format!("{name} is not text")))?;
        for tag in text.split(',').map(str::trim).filter(|tag| !tag.is_empty()) {
            any |= tag == "*";
            // A tag that is none of ours matches nothing, which is what it means.
            let opaque = tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"');
            revisions.extend(opaque.parse::<u64>());
        }
    }
    Ok(Some(if any { Match::Any } else { Match::Revisions(revisions) }))
}
