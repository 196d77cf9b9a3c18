//! The differences of two engines, counted by rule.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::request::Request;

/// CRS's first rule id. Lower ones (200000 to 200007) are of ModSecurity's recommended
/// configuration, which it needs to parse bodies and which is not part of CRS.
const FIRST_RULE: u64 = 900_000;
/// Rules that refuse what cannot be read: a parser's error, doubtful multipart, too many arguments. ModSecurity's
/// recommended configuration has them, and Weir's `crs`, which adds to the score.
const REFUSALS: [u64; 3] = [200_002, 200_003, 200_007];
/// Examples kept for each rule and side.
const EXAMPLES: usize = 3;
/// Bytes of an example.
const EXAMPLE_BYTES: usize = 4000;

/// The outcome of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Seed of the generator.
    pub seed: u64,
    /// Paranoia level.
    pub paranoia: u8,
    /// Requests compared.
    pub requests: usize,
    /// Requests for which both sides name the same rules.
    pub same: usize,
    /// Others that a side refuses as unreadable before CRS's rules matter. They are not counted otherwise.
    pub unreadable: usize,
    /// The share of the same ones among those that are readable, in per cent.
    pub agreement: f64,
    /// Requests in which libmodsecurity names any rule.
    pub with_rules: usize,
    /// Different rules that libmodsecurity named in the run.
    pub rules_seen: usize,
    /// Differences by rule.
    pub differences: BTreeMap<u64, Difference>,
    /// Times that libmodsecurity named each rule.
    pub named: BTreeMap<u64, usize>,
}

/// The differences of a rule.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Difference {
    /// Requests in which only libmodsecurity names it.
    pub only_modsecurity: usize,
    /// Requests in which only Weir names it.
    pub only_weir: usize,
    /// Some of these requests.
    pub examples: Vec<Example>,
}

/// A request that the two see differently.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    /// Its number in the series; with the seed it can be made again.
    pub number: usize,
    /// The engine that reports the rule.
    pub only: &'static str,
    /// The request; bytes that are not printable ASCII are written as `\xNN`.
    pub request: String,
    /// The smallest request found that shows the same difference; of the first of each side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest: Option<String>,
    /// The request itself.
    #[serde(skip)]
    pub original: Request,
}

impl Comparison {
    /// An empty one.
    #[must_use]
    pub fn new(seed: u64, paranoia: u8) -> Self {
        Self {
            seed,
            paranoia,
            requests: 0,
            same: 0,
            unreadable: 0,
            agreement: 100.0,
            with_rules: 0,
            rules_seen: 0,
            differences: BTreeMap::new(),
            named: BTreeMap::new(),
        }
    }

    /// Adds what both sides say about a request. Order and repetitions do not count, nor do rules
    /// that are not CRS's.
    pub fn add(&mut self, request: &Request, mut modsecurity: Vec<u64>, mut weir: Vec<u64>) {
        let is_unreadable = modsecurity.iter().chain(&weir).any(|rule| REFUSALS.contains(rule));
        for rules in [&mut modsecurity, &mut weir] {
            rules.retain(|&rule| rule >= FIRST_RULE);
            rules.sort_unstable();
            rules.dedup();
        }
        let number = self.requests;
        self.requests += 1;
        self.with_rules += usize::from(!modsecurity.is_empty());
        let is_same = modsecurity == weir;
        self.same += usize::from(is_same);
        self.unreadable += usize::from(is_unreadable && !is_same);
        modsecurity.iter().for_each(|&rule| *self.named.entry(rule).or_default() += 1);
        let sides = [("modsecurity", &modsecurity, &weir), ("weir", &weir, &modsecurity)];
        for (only, own, other) in sides.into_iter().filter(|_| !is_unreadable) {
            for &rule in own.iter().filter(|rule| !other.contains(rule)) {
                let difference = self.differences.entry(rule).or_default();
                let count = if only == "weir" { &mut difference.only_weir } else { &mut difference.only_modsecurity };
                *count += 1;
                if *count <= EXAMPLES {
                    let mut shown = request.shown();
                    shown.truncate(EXAMPLE_BYTES);
                    difference.examples.push(Example {
                        number,
                        only,
                        request: shown,
                        smallest: None,
                        original: request.clone(),
                    });
                }
            }
        }
        self.agreement = self.same as f64 * 100.0 / (self.requests - self.unreadable).max(1) as f64;
        self.rules_seen = self.named.len();
    }

    /// Differences with an example each, most frequent first, then the share.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut rules: Vec<_> = self.differences.iter().collect();
        rules.sort_by_key(|(_, it)| std::cmp::Reverse(it.only_modsecurity + it.only_weir));
        for (rule, difference) in rules {
            let _ = writeln!(
                text,
                "\nrule {rule}: {} times only libmodsecurity, {} times only Weir",
                difference.only_modsecurity, difference.only_weir
            );
            let mut sides = difference.examples.iter().filter(|example| example.smallest.is_some()).peekable();
            let first = difference.examples.first().filter(|_| sides.peek().is_none());
            for example in first.into_iter().chain(sides) {
                let _ = writeln!(text, "  request {} (only {}):", example.number, example.only);
                let shown = example.smallest.as_ref().unwrap_or(&example.request);
                shown.lines().for_each(|line| text.push_str(&format!("  | {line}\n")));
            }
        }
        let _ = writeln!(
            text,
            "\n{} of {} requests have the same rules: {:.2} % (paranoia {}, seed {}; {} requests match {} different rules); \
             {} others differ, but are refused as unreadable",
            self.same,
            self.requests - self.unreadable,
            self.agreement,
            self.paranoia,
            self.seed,
            self.with_rules,
            self.rules_seen,
            self.unreadable
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_compared_and_differences_grouped_by_rule() {
        let request =
            Request { method: "GET".into(), target: b"/".into(), version: "1.1".into(), ..Request::default() };
        let mut comparison = Comparison::new(1, 2);
        let [one, two, three, four, five] = [942_101, 942_102, 942_103, 942_104, 942_105];
        comparison.add(&request, vec![two, one, one, 200_002], vec![one, two]);
        comparison.add(&request, vec![three, four], vec![four]);
        comparison.add(&request, vec![200_002, one], vec![five]);
        for _ in 0..5 {
            comparison.add(&request, vec![], vec![five]);
        }
        let counts = (comparison.requests, comparison.same, comparison.unreadable, comparison.with_rules);
        assert_eq!(counts, (8, 1, 1, 3));
        assert_eq!(comparison.differences[&three].only_modsecurity, 1);
        assert_eq!((comparison.differences[&five].only_weir, comparison.differences[&five].examples.len()), (5, 3));
        let text = comparison.text();
        assert!(text.find("rule 942105").unwrap() < text.find("rule 942103").unwrap(), "{text}");
        assert!(text.contains("1 of 7 requests have the same rules: 14.29 %"), "{text}");
    }
}
