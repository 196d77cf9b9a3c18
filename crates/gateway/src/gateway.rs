//! The state that a worker serves: look-ups. How it changes is in [`apply`].
//!
//! A request holds an `Rc` of the gateway it began with and so sees one revision from start to end.

mod apply;

use std::rc::Rc;

use weir_auth::Consumers;

use crate::{
    certificate::CertificateEntry,
    documents::Documents,
    map::{self, ById},
    matched::{Allow, Found, Matched},
    names::{Host, Labels, Names},
    path::Trie,
    request::RequestView,
    resource::{ResourceKind, Settings, Topics},
    route::{PolicyNames, RouteEntry},
    site::Site,
    upstream::{Choice, Picked, Unavailable, Upstream},
};

/// The largest number of fallbacks that are followed, which also bounds a cycle.
pub const MAX_FALLBACKS: usize = 4;

/// Sites, routes, upstreams, certificates, topics, settings, and the documents that are compiled. A clone is O(1) and shares what it holds.
#[derive(Clone, Debug)]
pub struct Gateway {
    revision: u64,
    digest: u64,
    sites: ById<Place>,
    hosts: Names,
    routes: ById<Rc<RouteEntry>>,
    upstreams: ById<Rc<Upstream>>,
    members: usize,
    certificates: ById<Rc<CertificateEntry>>,
    certificate_names: Names,
    consumers: Consumers,
    /// The digest of each consumer's frame.
    consumer_digests: ById<u64>,
    /// Each with its digest.
    topics: ById<(Rc<Topics>, u64)>,
    settings: Rc<SettingsEntry>,
    documents: Documents,
    /// Upstreams whose members cannot all be found by key yet; none in a gateway in service.
    unsettled: Vec<Rc<str>>,
}

/// A site and its routes. Either may be there without the other between two operations of a revision.
#[derive(Clone, Debug)]
struct Place {
    site: Option<Rc<Site>>,
    routes: Trie,
}

#[derive(Debug, Default)]
struct SettingsEntry {
    spec: Settings,
    policies: PolicyNames,
    digest: u64,
}

/// The number of resources of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sites.
    pub sites: usize,
    /// Routes.
    pub routes: usize,
    /// Upstreams.
    pub upstreams: usize,
    /// Members of all upstreams.
    pub members: usize,
    /// Certificates.
    pub certificates: usize,
    /// Consumers.
    pub consumers: usize,
    /// Sets of topics.
    pub topics: usize,
}

impl Gateway {
    /// An empty gateway: no request finds a site.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            revision: 0,
            digest: 0,
            sites: map::empty(),
            hosts: Names::new(),
            routes: map::empty(),
            upstreams: map::empty(),
            members: 0,
            certificates: map::empty(),
            certificate_names: Names::new(),
            consumers: Consumers::default(),
            consumer_digests: map::empty(),
            topics: map::empty(),
            settings: Rc::default(),
            documents: Documents::default(),
            unsettled: Vec::new(),
        }
    }

    /// The revision set by [`Self::set_revision`].
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Sets the revision.
    pub fn set_revision(&mut self, revision: u64) {
        self.revision = revision;
    }

    /// XOR of [`crate::frame_digest`] over the frames of the live resources: the same for the same resources, whatever
    /// operations led to them.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The site of a host: its exact name, else the longest wildcard, else `*`. Any spelling of the host will do.
    #[must_use]
    pub fn site(&self, host: &[u8]) -> Option<&Rc<Site>> {
        self.place(Host::new(host).as_str())?.site.as_ref()
    }

    fn place(&self, host: &str) -> Option<&Place> {
        let exact = || self.hosts.exact(host).filter(|_| !host.is_empty());
        let owners = exact().or_else(|| self.hosts.wildcard(host, Labels::Some)).or_else(|| self.hosts.exact("*"))?;
        self.sites.get(owners.first()?)
    }

    /// The route of a request. Allocates nothing unless more than 24 places of the site's paths fit.
    pub fn route<'g>(&'g self, request: &dyn RequestView) -> Found<'g> {
        let Some(place) = self.place(Host::new(request.host()).as_str()) else { return Found::NoSite };
        let Some(site) = &place.site else { return Found::NoSite };
        let mut allow = Allow::default();
        let path = request.path();
        match place.routes.walk(path).find(|route| route.holds(request, &mut allow)) {
            Some(route) => {
                Found::Route(Matched { site: site.clone(), route: route.clone(), params: route.path().params(path) })
            }
            None if allow.methods().is_empty() => Found::NoRoute,
            None => Found::MethodNotAllowed { allow },
        }
    }

    /// An upstream.
    #[must_use]
    pub fn upstream(&self, id: &str) -> Option<&Rc<Upstream>> {
        self.upstreams.get(id)
    }

    /// All upstreams, in arbitrary order.
    pub fn upstreams(&self) -> impl ExactSizeIterator<Item = &Rc<Upstream>> {
        self.upstreams.values()
    }

    /// Picks a member of an upstream; if none of it is available, of its fallback, at most [`MAX_FALLBACKS`] times.
    pub fn pick(&self, upstream: &str, choice: &Choice<'_>) -> Result<Picked, Unavailable> {
        let mut upstream = self.upstreams.get(upstream).ok_or(Unavailable::NoUpstream)?;
        for _ in 0..=MAX_FALLBACKS {
            if upstream.is_available() {
                return upstream.pick(choice).ok_or(Unavailable::AllTried);
            }
            let fallback = upstream.spec().fallback.as_deref().and_then(|id| self.upstreams.get(id));
            upstream = fallback.ok_or(Unavailable::NoMember)?;
        }
        Err(Unavailable::NoMember)
    }

    /// A route.
    #[must_use]
    pub fn route_entry(&self, id: &str) -> Option<&Rc<RouteEntry>> {
        self.routes.get(id)
    }

    /// All routes, in arbitrary order.
    pub fn routes(&self) -> impl ExactSizeIterator<Item = &Rc<RouteEntry>> {
        self.routes.values()
    }

    /// The policies that a resource names, if its kind can name some.
    #[must_use]
    pub fn policies_of(&self, kind: ResourceKind, id: &str) -> Option<&[String]> {
        match kind {
            ResourceKind::Settings => Some(&self.settings.spec.policies),
            ResourceKind::Sites => self.site_by_id(id)?.spec().policies.as_deref(),
            ResourceKind::Routes => self.route_entry(id)?.spec().policies.as_deref(),
            ResourceKind::Files
            | ResourceKind::Lists
            | ResourceKind::RuleSets
            | ResourceKind::Inspectors
            | ResourceKind::Policies
            | ResourceKind::Consumers
            | ResourceKind::Certificates
            | ResourceKind::Upstreams
            | ResourceKind::Members
            | ResourceKind::Topics => None,
        }
    }

    /// A site by its id.
    #[must_use]
    pub fn site_by_id(&self, id: &str) -> Option<&Rc<Site>> {
        self.sites.get(id)?.site.as_ref()
    }

    /// All sites, in arbitrary order.
    pub fn sites(&self) -> impl Iterator<Item = &Rc<Site>> {
        self.sites.values().filter_map(|place| place.site.as_ref())
    }

    /// The certificate to show for a name (SNI): what its site says; else one that has the name; else one that has a
    /// wildcard for it (of one label); else that of the settings. Of several, the one that expires last.
    #[must_use]
    pub fn certificate(&self, sni: &[u8]) -> Option<&Rc<CertificateEntry>> {
        let host = Host::new(sni);
        let name = host.as_str();
        let said = || self.certificates.get(self.place(name)?.site.as_ref()?.spec().tls.certificate.as_deref()?);
        let newest = |owners: &[Rc<str>]| {
            let all = owners.iter().filter_map(|id| self.certificates.get(id));
            all.max_by_key(|certificate| certificate.resource.not_after)
        };
        said()
            .or_else(|| self.certificate_names.exact(name).and_then(newest))
            .or_else(|| self.certificate_names.wildcard(name, Labels::One).and_then(newest))
            .or_else(|| self.certificates.get(self.settings.spec.default_certificate.as_deref()?))
    }

    /// Who may send requests, by their credentials.
    #[must_use]
    pub fn consumers(&self) -> &Consumers {
        &self.consumers
    }

    /// A set of topics.
    #[must_use]
    pub fn topics(&self, id: &str) -> Option<&Rc<Topics>> {
        self.topics.get(id).map(|(topics, _)| topics)
    }

    /// All sets of topics, in arbitrary order; at most [`crate::resource::MAX_TOPICS`] if control has checked them.
    pub fn all_topics(&self) -> impl Iterator<Item = &Rc<Topics>> {
        self.topics.values().map(|(topics, _)| topics)
    }

    /// A certificate by its id.
    #[must_use]
    pub fn certificate_by_id(&self, id: &str) -> Option<&Rc<CertificateEntry>> {
        self.certificates.get(id)
    }

    /// The compiled documents. Their digest differs after a change.
    #[must_use]
    pub fn documents(&self) -> &Documents {
        &self.documents
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings.spec
    }

    /// Policies of sites and routes that name none.
    #[must_use]
    pub fn default_policies(&self) -> &PolicyNames {
        &self.settings.policies
    }

    /// The number of resources of each kind.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            sites: self.sites().count(),
            routes: self.routes.size(),
            upstreams: self.upstreams.size(),
            members: self.members,
            certificates: self.certificates.size(),
            consumers: self.consumers.len(),
            topics: self.topics.size(),
        }
    }
}

impl Default for Gateway {
    fn default() -> Self {
        Self::empty()
    }
}

#[cfg(test)]
mod tests;
