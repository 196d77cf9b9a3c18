//! The answers of CrowdSec's local API, read into decisions about networks.
//!
//! An answer has everything that is new and everything that has gone since the last one, or all that holds. Durations are
//! written as Go prints them: `3h59m58.7s`, negative if the decision has ended.

use std::collections::BTreeMap;

use serde::Deserialize;
use weir_bans::{Network, Remedy};

/// An answer. Either list is `null` if it is empty.
#[derive(Debug, Deserialize)]
struct Stream {
    new: Option<Vec<Decision>>,
    deleted: Option<Vec<Decision>>,
}

#[derive(Debug, Deserialize)]
struct Decision {
    #[serde(default)]
    duration: String,
    #[serde(default)]
    origin: String,
    scope: String,
    #[serde(rename = "type")]
    kind: String,
    value: String,
}

/// What an answer comes to.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Decisions {
    /// With the second since 1970 at which they end.
    pub new: Vec<(Network, Remedy, u64)>,
    pub deleted: Vec<(Network, Remedy)>,
    /// What was left out, or taken for something else, and how often.
    pub odd: BTreeMap<String, u64>,
}

/// How decisions are read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    /// Only decisions of these origins; of all if it is empty.
    pub origins: Vec<String>,
    /// What unknown types come to.
    pub unknown: Remedy,
}

/// Oddities that are told apart: types and scopes are the sender's words.
const MAX_ODD: usize = 16;
/// Longest word of the sender that is repeated.
const MAX_WORD: usize = 40;

impl Reading {
    /// Reads an answer.
    ///
    /// # Errors
    /// If it is not one.
    pub fn read(&self, answer: &[u8], now_s: u64) -> Result<Decisions, String> {
        let stream: Stream =
            serde_json::from_slice(answer).map_err(|error| format!("the answer has no decisions: {error}"))?;
        let mut read = Decisions::default();
        for decision in stream.deleted.into_iter().flatten() {
            read.deleted.extend(self.one(&decision, &mut read.odd));
        }
        for decision in stream.new.into_iter().flatten() {
            let Some((network, remedy)) = self.one(&decision, &mut read.odd) else { continue };
            match seconds(&decision.duration) {
                Some(0) => {}
                Some(seconds) => read.new.push((network, remedy, now_s.saturating_add(seconds))),
                None => note(&mut read.odd, "duration", &decision.duration, "left out"),
            }
        }
        Ok(read)
    }

    fn one(&self, decision: &Decision, odd: &mut BTreeMap<String, u64>) -> Option<(Network, Remedy)> {
        if !self.origins.is_empty() && !self.origins.contains(&decision.origin) {
            return None;
        }
        if !["ip", "range"].iter().any(|known| decision.scope.eq_ignore_ascii_case(known)) {
            note(odd, "scope", &decision.scope, "left out");
            return None;
        }
        let Ok(network) = decision.value.parse() else {
            note(odd, "value", &decision.value, "left out");
            return None;
        };
        let known = decision.kind.to_ascii_lowercase().parse().ok().filter(|remedy| *remedy != Remedy::Other);
        let remedy = known.unwrap_or_else(|| {
            note(odd, "type", &decision.kind, self.unknown.as_str());
            self.unknown
        });
        Some((network, remedy))
    }
}

fn note(odd: &mut BTreeMap<String, u64>, what: &str, word: &str, then: &str) {
    let word: String = word.chars().take(MAX_WORD).collect();
    let text = format!("{what} `{}`: {then}", word.escape_debug());
    if odd.len() < MAX_ODD || odd.contains_key(&text) {
        *odd.entry(text).or_default() += 1;
    }
}

/// Units of Go's durations in nanoseconds; of two that a text begins with, the longer comes first.
const UNITS: [(&str, f64); 7] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("h", 3.6e12), ("m", 6e10), ("s", 1e9)];

/// A duration as Go prints it, in whole seconds, rounded up; negative ones are 0.
fn seconds(text: &str) -> Option<u64> {
    let (is_negative, mut rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let mut total = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        let (unit, ns) = UNITS.iter().find(|(unit, _)| rest[end..].starts_with(unit))?;
        total += number * ns;
        rest = &rest[end + unit.len()..];
    }
    // What is too long for an integer becomes the largest one.
    (!text.is_empty()).then_some(if is_negative { 0 } else { (total / 1e9).ceil() as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_go_are_read() {
        for (text, want) in [
            ("3h59m58.7s", Some(14_399)),
            ("4h", Some(14_400)),
            ("1.5s", Some(2)),
            ("12ms", Some(1)),
            ("340.5µs", Some(1)),
            ("0s", Some(0)),
            ("-2h3m", Some(0)),
            ("8760h0m0s", Some(31_536_000)),
            ("", None),
            ("5", None),
            ("5d", None),
            ("h", None),
            ("1.2.3s", None),
        ] {
            assert_eq!(seconds(text), want, "{text}");
        }
    }

    #[test]
    fn answers_are_read() {
        let reading = Reading { origins: Vec::new(), unknown: Remedy::Captcha };
        let answer =
            br#"{"deleted": [{"duration": "-1s", "scope": "Ip", "type": "ban", "value": "192.0.2.1"}], "new": [
            {"duration": "1h", "origin": "cscli", "scenario": "x", "scope": "Ip", "type": "ban", "value": "192.0.2.7"},
            {"duration": "1h", "origin": "CAPI", "scope": "range", "type": "captcha", "value": "2001:db8::/32"},
            {"duration": "1h", "origin": "CAPI", "scope": "Ip", "type": "mfa", "value": "192.0.2.8"},
            {"duration": "1h", "origin": "CAPI", "scope": "Country", "type": "ban", "value": "XX"},
            {"duration": "1h", "origin": "CAPI", "scope": "Range", "type": "ban", "value": "0.0.0.0/0"},
            {"duration": "-3s", "origin": "CAPI", "scope": "Ip", "type": "ban", "value": "192.0.2.9"}]}"#;
        let read = reading.read(answer, 1_000).expect("it is one");
        let network = |text: &str| text.parse::<Network>().expect("a network");
        assert_eq!(read.deleted, [(network("192.0.2.1"), Remedy::Ban)]);
        let want = [
            (network("192.0.2.7"), Remedy::Ban, 4_600),
            (network("2001:db8::/32"), Remedy::Captcha, 4_600),
            (network("192.0.2.8"), Remedy::Captcha, 4_600),
        ];
        assert_eq!(read.new, want);
        let odd: Vec<&str> = read.odd.keys().map(String::as_str).collect();
        assert_eq!(odd, ["scope `Country`: left out", "type `mfa`: captcha", "value `0.0.0.0/0`: left out"]);
        let of_cscli = Reading { origins: vec!["cscli".to_owned()], ..reading };
        let read = of_cscli.read(answer, 1_000).expect("it is one");
        assert_eq!((read.new.len(), read.odd.len()), (1, 0));
        assert_eq!(of_cscli.read(br#"{"new": null, "deleted": null}"#, 1), Ok(Decisions::default()));
        for bad in [&b"null"[..], b"{\"new\": 1}", b"<html>", b"{\"new\": [{}]}"] {
            assert!(of_cscli.read(bad, 1).is_err());
        }
    }
}
