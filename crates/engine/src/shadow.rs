//! The mark of shadow (load-test) traffic, which the Java probe acts on: a member of the W3C `baggage` header field.

use std::cell::Cell;

use weir_http::{Transaction, header_hash};

/// The header field of the mark.
const BAGGAGE: &[u8] = b"baggage";

/// The mark of LinkAgent, which probes accept if they are told to.
const PRADAR: &[u8] = b"p-pradar-cluster-test";

/// What the action `shadow` does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shadow {
    /// The key of the mark in `baggage`.
    pub key: String,
    /// How many of 10,000 requests are marked; 0 removes marks.
    pub per_10000: u32,
}

impl Default for Shadow {
    fn default() -> Self {
        Self { key: "weir.shadow".to_owned(), per_10000: 10_000 }
    }
}

impl Shadow {
    /// What header fields of the request become, or that they are removed: clients' own marks are in any case.
    pub(crate) fn changes(
        &self,
        transaction: &Transaction<'_>,
    ) -> impl Iterator<Item = (&'static [u8], Option<Vec<u8>>)> + use<> {
        let sent: Vec<&[u8]> = transaction.header_values(BAGGAGE, const { header_hash(BAGGAGE) }).collect();
        let has_pradar = transaction.header(PRADAR, const { header_hash(PRADAR) }).is_some();
        let is_marked = self.is_next();
        let baggage = (!sent.is_empty() || is_marked).then(|| self.baggage(&sent, is_marked));
        let baggage = baggage.map(|value| (BAGGAGE, (!value.is_empty()).then_some(value)));
        baggage.into_iter().chain(has_pradar.then_some((PRADAR, None)))
    }

    /// Marks a request that has sent these values of `baggage`.
    #[must_use]
    pub fn mark(&self, sent: &[&[u8]]) -> (&'static [u8], Vec<u8>) {
        (BAGGAGE, self.baggage(sent, true))
    }

    /// The members of others, in their order, behind the mark: proxies that shorten the field cut its end.
    fn baggage(&self, sent: &[&[u8]], is_marked: bool) -> Vec<u8> {
        let mut value = if is_marked { format!("{}=1", self.key).into_bytes() } else { Vec::new() };
        for member in sent.iter().flat_map(|value| value.split(|byte| *byte == b',')) {
            let member = member.trim_ascii();
            let key = member.split(|byte| matches!(byte, b'=' | b';')).next().unwrap_or_default().trim_ascii();
            if !member.is_empty() && key != self.key.as_bytes() {
                if !value.is_empty() {
                    value.push(b',');
                }
                value.extend_from_slice(member);
            }
        }
        value
    }

    /// Whether this request is among those that are marked: evenly spread, so that a share of 1 % marks every hundredth.
    fn is_next(&self) -> bool {
        thread_local! {
            static TURN: Cell<u32> = const { Cell::new(0) };
        }
        let turn = TURN.get().wrapping_add(0x9e37_79b9);
        TURN.set(turn);
        (u64::from(turn) * 10_000) >> 32 < u64::from(self.per_10000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_replaces_those_of_clients_and_keeps_other_members() {
        let shadow = |per_10000| Shadow { key: "weir.shadow".into(), per_10000 };
        let sent: &[&[u8]] = &[b"a=1;p=2 , weir.shadow=1,weir.shadow = 0;x", b" ,b=%2C,weir.shadows=3,weir.shadow"];
        let marked = shadow(10_000).baggage(sent, true);
        assert_eq!(marked, b"weir.shadow=1,a=1;p=2,b=%2C,weir.shadows=3");
        assert_eq!(shadow(0).baggage(sent, false), b"a=1;p=2,b=%2C,weir.shadows=3");
        assert_eq!(shadow(0).baggage(&[b"weir.shadow=1"], false), b"");
    }

    #[test]
    fn a_share_is_spread_evenly() {
        for (per_10000, expected) in [(0, 0), (100, 100), (5_000, 5_000), (10_000, 10_000)] {
            let shadow = Shadow { key: String::new(), per_10000 };
            let marked = (0..10_000).filter(|_| shadow.is_next()).count();
            assert!(marked.abs_diff(expected) <= 2, "{marked}");
        }
    }
}
