//! Limits of a token or certificate: the kinds of resources and the sites that its holder may read and change.
//!
//! A site's holder may read and change that site and its routes. Other kinds have to be named, and are then open as a
//! whole: an upstream belongs to no site. What a change does is known only when it is applied, so the publisher asks
//! twice: for the targets before, and for every document as it was and as it becomes.

use std::fmt;

use weir_resource::ResourceKind;

use crate::state::{Held, Key};

/// The limits. Without kinds and sites nothing is within them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Kinds whose resources are within the limits. A kind brings the kinds that belong to it: upstreams their members.
    pub kinds: Vec<ResourceKind>,
    /// Sites that are within the limits with their routes; other sites and routes then are not.
    pub sites: Vec<String>,
}

impl Scope {
    /// Whether some resources of this kind are within the limits. The settings never are.
    #[must_use]
    pub fn has_kind(&self, kind: ResourceKind) -> bool {
        let is_named = |kind| self.kinds.contains(&kind);
        let of_site = matches!(kind, ResourceKind::Sites | ResourceKind::Routes) && !self.sites.is_empty();
        !kind.is_singleton() && (is_named(kind) || kind.parent().is_some_and(is_named) || of_site)
    }

    /// Whether a resource is within the limits; `held` is its document, without which a route is only judged by its
    /// kind.
    #[must_use]
    pub fn has(&self, key: &Key, held: Option<&Held>) -> bool {
        let has_site = |id: &str| self.sites.is_empty() || self.sites.iter().any(|site| site == id);
        self.has_kind(key.kind)
            && match key.kind {
                ResourceKind::Sites => has_site(&key.id),
                ResourceKind::Routes => {
                    let references = held.map_or(&[][..], |held| &held.document.references);
                    references.iter().filter(|one| one.kind == ResourceKind::Sites).all(|one| has_site(&one.id))
                }
                ResourceKind::Files
                | ResourceKind::Lists
                | ResourceKind::RuleSets
                | ResourceKind::Inspectors
                | ResourceKind::Policies
                | ResourceKind::Consumers
                | ResourceKind::Certificates
                | ResourceKind::Settings
                | ResourceKind::Upstreams
                | ResourceKind::Members
                | ResourceKind::Topics => true,
            }
    }
}

/// As people read it: `sites shop and their routes; lists, upstreams`.
impl fmt::Display for Scope {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<&str> = self.kinds.iter().map(|kind| kind.plural()).collect();
        let sites = match self.sites.as_slice() {
            [] => String::new(),
            [one] => format!("site {one} and its routes"),
            more => format!("sites {} and their routes", more.join(", ")),
        };
        let separator = if kinds.is_empty() || sites.is_empty() { "" } else { "; " };
        write!(out, "{sites}{separator}{}", kinds.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_within_the_limits_by_name_and_by_site() {
        use ResourceKind::{Files, Lists, Members, Routes, Settings, Sites, Upstreams};
        let scope = |kinds: &[ResourceKind], sites: &[&str]| Scope {
            kinds: kinds.to_vec(),
            sites: sites.iter().map(|site| (*site).to_owned()).collect(),
        };
        let cases: [(Scope, &[ResourceKind], &[ResourceKind]); 4] = [
            (scope(&[Upstreams], &[]), &[Upstreams, Members], &[Sites, Routes, Lists, Settings, Files]),
            (scope(&[Members], &[]), &[Members], &[Upstreams]),
            (scope(&[], &["shop"]), &[Sites, Routes], &[Upstreams, Lists, Settings]),
            (scope(&[Lists, Settings], &["shop"]), &[Sites, Routes, Lists], &[Settings, Files]),
        ];
        for (scope, within, beyond) in cases {
            assert!(within.iter().all(|kind| scope.has_kind(*kind)), "{scope}");
            assert!(!beyond.iter().any(|kind| scope.has_kind(*kind)), "{scope}");
        }
        let scope = scope(&[Lists, Routes], &["shop", "blog"]);
        assert_eq!(scope.to_string(), "sites shop, blog and their routes; lists, routes");
        assert!(scope.has(&Key::new(Sites, "shop"), None) && !scope.has(&Key::new(Sites, "other"), None));
    }
}
