//! The client's address behind proxies: forwarding headers count only if a trusted proxy sent them.
//!
//! The chain of addresses is walked from the right, where the nearest proxy has written, to the first address that is
//! not a trusted proxy: everything to its left may be forged. For the same reason `Forwarded` is also split from the
//! right: an unbalanced quote sent by a client must not swallow the part that a trusted proxy appended.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::bound::MAX_HOPS;
use crate::text::trim;
use crate::{Anomalies, Header, header_hash};

/// Source of the client's address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressSource {
    /// `X-Forwarded-For: client, proxy`
    #[default]
    XForwardedFor,
    /// `Forwarded: for=client, for=proxy` (RFC 7239)
    Forwarded,
    /// The PROXY protocol in front of the request.
    ProxyProtocol,
}

/// Trusted proxies and the source of the client's address. By default no proxy is trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientAddressConfig {
    /// Networks of trusted proxies.
    pub trusted: Vec<IpNet>,
    /// Source of the address.
    pub source: AddressSource,
}

impl ClientAddressConfig {
    /// The client's address: `peer` unless it is a trusted proxy that states another one. A
    /// malformed element raises [`Anomalies::INVALID_FORWARDED`] and ends the walk at the last
    /// valid address; a node that hides its address (`unknown`, `_x`) ends it without the anomaly.
    #[must_use]
    pub fn resolve(
        &self,
        peer: IpAddr,
        headers: &[Header<'_>],
        proxy_protocol: Option<IpAddr>,
        anomalies: &mut Anomalies,
    ) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.trusts(peer) {
            return peer;
        }
        match self.source {
            AddressSource::ProxyProtocol => proxy_protocol.map_or(peer, |address| address.to_canonical()),
            AddressSource::XForwardedFor => {
                self.walk(peer, headers, b"x-forwarded-for", const { header_hash(b"x-forwarded-for") }, node, anomalies)
            }
            AddressSource::Forwarded => {
                self.walk(peer, headers, b"forwarded", const { header_hash(b"forwarded") }, forwarded_for, anomalies)
            }
        }
    }

    /// Whether `address` is a trusted proxy.
    #[must_use]
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(&address))
    }

    /// Walks the elements of all fields called `name` from the right.
    fn walk(
        &self,
        peer: IpAddr,
        headers: &[Header<'_>],
        name: &[u8],
        hash: u64,
        parse: fn(&[u8]) -> Node,
        anomalies: &mut Anomalies,
    ) -> IpAddr {
        let mut last_good = peer;
        let fields = headers.iter().rev().filter(|header| header.is(name, hash));
        for (hop, element) in fields.flat_map(|header| from_right(header.value, b',')).enumerate() {
            if hop == MAX_HOPS {
                *anomalies |= Anomalies::INVALID_FORWARDED;
                break;
            }
            if element.is_empty() {
                continue; // empty list elements mean nothing (RFC 9110, section 5.6.1)
            }
            match parse(element) {
                Node::Address(address) => last_good = address,
                Node::Hidden => break,
                Node::Invalid => {
                    *anomalies |= Anomalies::INVALID_FORWARDED;
                    break;
                }
            }
            if !self.trusts(last_good) {
                break;
            }
        }
        last_good
    }
}

/// One hop of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Address(IpAddr),
    Hidden,
    Invalid,
}

/// The trimmed pieces of `list` between separators that are not in quotes, from the right.
fn from_right(list: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(list);
    std::iter::from_fn(move || {
        let left = rest?;
        let mut in_quotes = false;
        let at = left.iter().rposition(|byte| {
            in_quotes ^= *byte == b'"';
            *byte == separator && !in_quotes
        });
        rest = at.map(|at| &left[..at]);
        Some(trim(&left[at.map_or(0, |at| at + 1)..]))
    })
}

/// The `for` of one element of `Forwarded`: `for="[2001:db8::1]:80";proto=https`.
fn forwarded_for(element: &[u8]) -> Node {
    let mut found = Node::Hidden;
    for pair in from_right(element, b';') {
        let Some(at) = memchr::memchr(b'=', pair) else {
            if pair.is_empty() {
                continue;
            }
            return Node::Invalid;
        };
        if pair[..at].eq_ignore_ascii_case(b"for") {
            if found != Node::Hidden {
                return Node::Invalid; // twice
            }
            let value = &pair[at + 1..];
            found = node(value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value));
        }
    }
    found
}

/// An address with or without port, IPv6 with or without brackets, or a hidden node (RFC 7239, section 6).
fn node(text: &[u8]) -> Node {
    if text.eq_ignore_ascii_case(b"unknown") || text.starts_with(b"_") {
        return Node::Hidden;
    }
    let Ok(text) = std::str::from_utf8(text) else { return Node::Invalid };
    let address = if let Some(inner) = text.strip_prefix('[') {
        inner
            .split_once(']')
            .filter(|(_, port)| port.is_empty() || port.strip_prefix(':').is_some_and(port_is_valid))
            .and_then(|(address, _)| address.parse::<Ipv6Addr>().ok().map(IpAddr::V6))
    } else {
        text.parse::<IpAddr>().ok().or_else(|| {
            let (address, port) = text.split_once(':')?;
            if port_is_valid(port) { address.parse::<Ipv4Addr>().ok().map(IpAddr::V4) } else { None }
        })
    };
    address.map_or(Node::Invalid, |address| Node::Address(address.to_canonical()))
}

/// Digits, or an obfuscated port (`_x`).
fn port_is_valid(port: &str) -> bool {
    port.starts_with('_') || (matches!(port.len(), 1..=5) && port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PEER: &str = "10.0.0.1";

    fn config(source: AddressSource) -> ClientAddressConfig {
        let trusted = ["10.0.0.0/8", "2001:db8::/32"].map(|network| network.parse().expect("a network"));
        ClientAddressConfig { trusted: trusted.to_vec(), source }
    }

    fn resolved(source: AddressSource, peer: &str, fields: &[&str]) -> (String, bool) {
        let name: &[u8] = if source == AddressSource::Forwarded { b"Forwarded" } else { b"X-Forwarded-For" };
        let mut headers = vec![Header::new(b"Host", b"192.0.2.99")];
        headers.extend(fields.iter().map(|value| Header::new(name, value.as_bytes())));
        let mut anomalies = Anomalies::empty();
        let address = config(source).resolve(peer.parse().expect("an address"), &headers, None, &mut anomalies);
        (address.to_string(), !anomalies.is_empty())
    }

    #[test]
    fn x_forwarded_for() {
        let cases: [(&str, &[&str], &str, bool); 19] = [
            ("192.0.2.1", &["192.0.2.2"], "192.0.2.1", false),
            ("::ffff:192.0.2.1", &["192.0.2.2"], "192.0.2.1", false),
            (PEER, &[], PEER, false),
            (PEER, &[""], PEER, false),
            (PEER, &["192.0.2.2"], "192.0.2.2", false),
            ("::ffff:10.0.0.1", &["::ffff:192.0.2.2"], "192.0.2.2", false),
            (PEER, &["192.0.2.9, 192.0.2.2"], "192.0.2.2", false),
            (PEER, &["192.0.2.9, 192.0.2.2 , 10.1.1.1, 10.2.2.2"], "192.0.2.2", false),
            (PEER, &["192.0.2.9, 192.0.2.2", "10.1.1.1"], "192.0.2.2", false),
            (PEER, &["10.3.3.3, 10.1.1.1"], "10.3.3.3", false),
            (PEER, &["192.0.2.2:1234"], "192.0.2.2", false),
            (PEER, &["2001:db9::1"], "2001:db9::1", false),
            (PEER, &["[2001:db9::1]:80, 2001:db8::2"], "2001:db9::1", false),
            (PEER, &["192.0.2.2, ,"], "192.0.2.2", false),
            (PEER, &["192.0.2.2, evil, 10.1.1.1"], "10.1.1.1", true),
            (PEER, &["evil"], PEER, true),
            (PEER, &["unknown, 10.1.1.1"], "10.1.1.1", false),
            (PEER, &["192.0.2.256"], PEER, true),
            (PEER, &["fe80::1%eth0"], PEER, true),
        ];
        for (peer, fields, expected, flagged) in cases {
            assert_eq!(
                resolved(AddressSource::XForwardedFor, peer, fields),
                (expected.to_owned(), flagged),
                "{fields:?}"
            );
        }
    }

    #[test]
    fn forwarded() {
        let cases: [(&[&str], &str, bool); 17] = [
            (&["for=192.0.2.2"], "192.0.2.2", false),
            (&["For=\"192.0.2.2:80\";proto=https"], "192.0.2.2", false),
            (&["for=\"[2001:db9::1]:4711\""], "2001:db9::1", false),
            (&["for=\"[2001:db9::1]\";by=10.0.0.1, for=10.1.1.1"], "2001:db9::1", false),
            (&["proto=https; host=\"a,b;c\" ;for=192.0.2.2"], "192.0.2.2", false),
            (&["for=192.0.2.2", "for=10.1.1.1"], "192.0.2.2", false),
            (&["for=192.0.2.2, for=_hidden, for=10.1.1.1"], "10.1.1.1", false),
            (&["for=unknown"], PEER, false),
            (&["proto=https"], PEER, false),
            (&["for=192.0.2.2:_port"], "192.0.2.2", false),
            (&["for=192.0.2.2:port"], PEER, true),
            (&["192.0.2.2"], PEER, true),
            (&["for=192.0.2.2;for=192.0.2.3"], PEER, true),
            (&["for=\"[2001:db9::1\""], PEER, true),
            (&["for=2001:db9::1"], "2001:db9::1", false),
            (&["for=\"evil, for=192.0.2.2"], "192.0.2.2", false),
            (&["for=x\", for=192.0.2.2, for=10.1.1.1"], "192.0.2.2", false),
        ];
        for (fields, expected, flagged) in cases {
            assert_eq!(resolved(AddressSource::Forwarded, PEER, fields), (expected.to_owned(), flagged), "{fields:?}");
        }
    }

    #[test]
    fn proxy_protocol() {
        let client = Some("::ffff:192.0.2.7".parse().expect("an address"));
        let resolve = |peer: &str, said| {
            let peer = peer.parse().expect("an address");
            config(AddressSource::ProxyProtocol).resolve(peer, &[], said, &mut Anomalies::empty()).to_string()
        };
        assert_eq!(resolve(PEER, client), "192.0.2.7");
        assert_eq!(resolve(PEER, None), PEER);
        assert_eq!(resolve("192.0.2.1", client), "192.0.2.1");
    }

    #[test]
    fn trusts_nobody_by_default() {
        let peer = PEER.parse().expect("an address");
        let headers = [Header::new(b"X-Forwarded-For", b"192.0.2.2")];
        let mut anomalies = Anomalies::empty();
        assert_eq!(ClientAddressConfig::default().resolve(peer, &headers, None, &mut anomalies), peer);
    }

    #[test]
    fn bounds_the_walk() {
        let long = "10.1.1.1,".repeat(100_000);
        assert_eq!(resolved(AddressSource::XForwardedFor, PEER, &[&long]), ("10.1.1.1".to_owned(), true));
    }

    proptest! {
        #[test]
        fn what_the_client_sends_never_hides_what_a_proxy_appends(sent in "[ -~]{0,60}") {
            let field = format!("{sent}, for=192.0.2.2");
            prop_assert_eq!(resolved(AddressSource::Forwarded, PEER, &[&field]), ("192.0.2.2".to_owned(), false));
            let field = format!("{sent}, 192.0.2.2");
            prop_assert_eq!(resolved(AddressSource::XForwardedFor, PEER, &[&field]), ("192.0.2.2".to_owned(), false));
        }
    }
}
