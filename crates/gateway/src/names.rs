//! Host names in one spelling, and their owners.
//!
//! A name may have several owners between two operations of a revision (a host moves from one site to another), so the
//! index keeps all of them and the first by id answers. Wildcards are found by looking up each suffix of the name, the
//! longest first: as many look-ups as the name has labels, however many wildcards there are.

use std::rc::Rc;

use crate::map::{self, Map};

/// The longest host name (RFC 1035, section 2.3.4, including dots).
pub const MAX_HOST: usize = 255;

/// A host name in lower case, without port and trailing dot; on the stack.
#[derive(Clone, Copy)]
pub struct Host {
    bytes: [u8; MAX_HOST],
    length: u8,
}

impl Host {
    /// Normalises `host`. The result is empty if the name is empty, too long or not UTF-8: only the site of `*`
    /// matches it.
    #[must_use]
    pub fn new(host: &[u8]) -> Self {
        let name = without_port(host);
        let name = name.strip_suffix(b".").unwrap_or(name);
        let mut spelt = Self { bytes: [0; MAX_HOST], length: 0 };
        if name.len() <= MAX_HOST && std::str::from_utf8(name).is_ok() {
            spelt.bytes[..name.len()].copy_from_slice(name);
            spelt.bytes[..name.len()].make_ascii_lowercase();
            spelt.length = name.len() as u8;
        }
        spelt
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(out)
    }
}

/// `[::1]:80` → `[::1]`, `a.example:80` → `a.example`.
fn without_port(host: &[u8]) -> &[u8] {
    let from = if host.first() == Some(&b'[') { host.iter().position(|byte| *byte == b']').unwrap_or(0) } else { 0 };
    match host[from..].iter().position(|byte| *byte == b':') {
        Some(colon) => &host[..from + colon],
        None => host,
    }
}

/// Ids by name, sorted and never empty.
type Owners = Map<Rc<str>, Rc<[Rc<str>]>>;

/// Ids by the names they own.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    exact: Owners,
    /// By the part after `*.`.
    wildcards: Owners,
}

/// The number of labels that the `*` of a wildcard stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Labels {
    /// Exactly one: certificates (RFC 9525, section 6.3).
    One,
    /// One or more: sites.
    Some,
}

impl Names {
    pub fn new() -> Self {
        Self { exact: map::empty(), wildcards: map::empty() }
    }

    /// Adds an owner of a name.
    pub fn add(&mut self, name: &str, owner: &str) {
        let (index, key) = self.place(name);
        let mut owners: Vec<Rc<str>> = index.get(key).map(|owners| owners.to_vec()).unwrap_or_default();
        if let Err(at) = owners.binary_search_by(|known| (**known).cmp(owner)) {
            owners.insert(at, owner.into());
            index.insert_mut(key.into(), owners.into());
        }
    }

    /// Removes an owner of a name.
    pub fn remove(&mut self, name: &str, owner: &str) {
        let (index, key) = self.place(name);
        let Some(owners) = index.get(key) else { return };
        let left: Vec<Rc<str>> = owners.iter().filter(|known| ***known != *owner).cloned().collect();
        if left.is_empty() {
            index.remove_mut(key);
        } else {
            index.insert_mut(key.into(), left.into());
        }
    }

    /// The owners of the name itself, by id; never empty.
    pub fn exact(&self, name: &str) -> Option<&[Rc<str>]> {
        self.exact.get(name).map(|owners| &**owners)
    }

    /// The owners of the longest wildcard for the name, by id; never empty.
    pub fn wildcard(&self, name: &str, labels: Labels) -> Option<&[Rc<str>]> {
        if self.wildcards.is_empty() || name.starts_with('.') {
            return None;
        }
        let most = if labels == Labels::One { 1 } else { MAX_HOST };
        let mut suffixes = name.match_indices('.').take(most).map(|(dot, _)| &name[dot + 1..]);
        suffixes.find_map(|suffix| self.wildcards.get(suffix).map(|owners| &**owners))
    }

    fn place<'n>(&mut self, name: &'n str) -> (&mut Owners, &'n str) {
        match name.strip_prefix("*.") {
            Some(suffix) => (&mut self.wildcards, suffix),
            None => (&mut self.exact, name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_one_spelling() {
        let cases: [(&[u8], &str); 10] = [
            (b"Shop.Example", "shop.example"),
            (b"shop.example:8080", "shop.example"),
            (b"shop.example.", "shop.example"),
            (b"shop.example.:80", "shop.example"),
            (b"[2001:DB8::1]:80", "[2001:db8::1]"),
            (b"[::1", "["),
            (b"", ""),
            (b":80", ""),
            (b"\xff", ""),
            (&[b'a'; 256], ""),
        ];
        for (host, expected) in cases {
            assert_eq!(Host::new(host).as_str(), expected);
        }
    }

    #[test]
    fn the_longest_wildcard_has_it() {
        let mut names = Names::new();
        for (name, owner) in [("*.example", "any"), ("*.shop.example", "shop"), ("a.example", "a")] {
            names.add(name, owner);
        }
        let cases = [
            ("x.example", Labels::Some, Some("any")),
            ("x.y.example", Labels::Some, Some("any")),
            ("x.y.example", Labels::One, None),
            ("x.shop.example", Labels::Some, Some("shop")),
            ("y.x.shop.example", Labels::Some, Some("shop")),
            ("shop.example", Labels::Some, Some("any")),
            ("example", Labels::Some, None),
            (".example", Labels::Some, None),
            ("other", Labels::Some, None),
        ];
        for (name, labels, expected) in cases {
            assert_eq!(names.wildcard(name, labels).map(|owners| &*owners[0]), expected, "{name}");
        }
        assert_eq!(names.exact("a.example").map(|owners| &*owners[0]), Some("a"));
    }

    #[test]
    fn a_name_may_change_hands_in_any_order() {
        let mut names = Names::new();
        names.add("a", "one");
        names.add("a", "two");
        names.add("a", "two");
        names.remove("a", "one");
        assert_eq!(names.exact("a").map(|owners| &*owners[0]), Some("two"));
        names.remove("a", "two");
        names.remove("a", "two");
        assert_eq!(names.exact("a"), None);
    }
}
