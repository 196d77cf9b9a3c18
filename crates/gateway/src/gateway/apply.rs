//! Changes: each operation in O(changed), whole or not at all.
//!
//! References are whole at the end of a revision, not between its operations: a route may come before its site, and a
//! host may have two sites for a moment. Only a member needs its upstream first, since it has no place without.

use std::{net::SocketAddr, rc::Rc};

use super::{Gateway, Place, SettingsEntry};
use crate::{
    certificate::CertificateEntry,
    frame_digest,
    member::Member,
    op::Op,
    path::Trie,
    pattern::Patterns,
    refusal::Refusal,
    resource::{self, Balance, Resource, ResourceKind},
    route::{PolicyNames, RouteEntry},
    site::Site,
    upstream::{MAX_WEIGHT, Upstream},
};

/// The number of members that one call of [`Gateway::settle`] prepares.
const SETTLED: u32 = 64;

impl Gateway {
    /// Applies an operation. `frame` is the JSON it was read from, which the digest is made of.
    ///
    /// After an error nothing has changed. Deleting an upstream deletes its members (and takes their part of the
    /// digest); deleting a site leaves its routes, which are out of reach until the site is there again. What runtime
    /// operations say of members that are gone is ignored.
    pub fn apply(&mut self, frame: &[u8], op: Op, patterns: &mut Patterns) -> Result<(), Refusal> {
        self.begin(frame_digest(frame), op, patterns)?;
        while self.settle() {}
        Ok(())
    }

    /// As [`Self::apply`], from the frame's [`frame_digest`], but what takes longer than a few µs is left for
    /// [`Self::settle`]. Until that is done the gateway takes further operations, and is not to be served.
    pub fn begin(&mut self, digest: u64, op: Op, patterns: &mut Patterns) -> Result<(), Refusal> {
        match op {
            Op::Put(resource) => self.put(resource, digest, patterns),
            Op::Delete { kind, id } => self.delete(kind, &id),
            Op::Health { upstream, member, healthy } => {
                self.change_member(&upstream, &member, |member| set_health(member, healthy));
                Ok(())
            }
            Op::Addresses { upstream, member, addresses } => {
                self.change_member(&upstream, &member, |member| set_addresses(member, addresses));
                Ok(())
            }
        }
    }

    fn put(&mut self, resource: Resource, digest: u64, patterns: &mut Patterns) -> Result<(), Refusal> {
        match resource {
            Resource::File(_)
            | Resource::List(_)
            | Resource::RuleSet(_)
            | Resource::Inspector(_)
            | Resource::Policy(_) => {
                let before = self.documents.put(&resource, digest);
                self.digest ^= digest ^ before.map_or(0, |(_, digest)| digest);
                Ok(())
            }
            Resource::Consumer(consumer) => self.put_consumer(&consumer, digest),
            Resource::Certificate(certificate) => self.put_certificate(certificate, digest),
            Resource::Settings(settings) => self.put_settings(settings, digest),
            Resource::Upstream(upstream) => self.put_upstream(upstream, digest),
            Resource::Member { upstream, member } => self.put_member(&upstream, member, digest),
            Resource::Topics(topics) => self.put_topics(topics, digest),
            Resource::Site(site) => self.put_site(site, digest),
            Resource::Route(route) => self.put_route(RouteEntry::new(route, digest, patterns)?),
        }
    }

    fn delete(&mut self, kind: ResourceKind, id: &str) -> Result<(), Refusal> {
        match kind {
            ResourceKind::Files
            | ResourceKind::Lists
            | ResourceKind::RuleSets
            | ResourceKind::Inspectors
            | ResourceKind::Policies => {
                let before = self.documents.set(kind, id, None).ok_or_else(|| unknown(kind.singular(), id))?;
                self.digest ^= before.1;
                Ok(())
            }
            ResourceKind::Consumers => self.delete_consumer(id),
            ResourceKind::Certificates => self.delete_certificate(id),
            ResourceKind::Settings => self.put_settings(resource::Settings::default(), 0),
            ResourceKind::Upstreams => self.delete_upstream(id),
            ResourceKind::Members => match id.split_once('/') {
                Some((upstream, member)) => self.delete_member(upstream, member),
                None => Err(unknown(kind.singular(), id)),
            },
            ResourceKind::Topics => self.delete_topics(id),
            ResourceKind::Sites => self.delete_site(id),
            ResourceKind::Routes => self.delete_route(id),
        }
    }

    /// Does up to 100 µs of the work that operations have left; returns whether there is more.
    pub fn settle(&mut self) -> bool {
        let Some(id) = self.unsettled.last() else { return false };
        let more = self.upstreams.get_mut(id).is_some_and(|upstream| Rc::make_mut(upstream).settle(SETTLED));
        if !more {
            self.unsettled.pop();
        }
        more || !self.unsettled.is_empty()
    }

    /// Takes a member out until a time (of the caller's clock, in ms), when the caller calls [`Self::readmit`].
    ///
    /// Returns `false`, and changes nothing, if the member is not there, or is the last that is available and there is
    /// no fallback: a server that fails now and then is better than none. The state of members is shared by all
    /// revisions; a gateway that is being built beside the one in service must be told as well.
    pub fn eject(&mut self, upstream: &str, member: &str, until_ms: u64) -> bool {
        let Some(group) = self.upstreams.get(upstream) else { return false };
        let ejected = group.member(member).is_some_and(|member| member.state().ejected_until().is_some());
        if !ejected && group.spec().fallback.is_none() && group.is_last(member) {
            return false;
        }
        self.change_member(upstream, member, |member| member.state.ejected_until.set(Some(until_ms)))
    }

    /// Readmits a member that [`Self::eject`] took out; its slow start begins. `false` if there is no such member.
    pub fn readmit(&mut self, upstream: &str, member: &str) -> bool {
        self.change_member(upstream, member, |member| {
            member.state.ejected_until.set(None);
            member.state.since_ms.set(None);
        })
    }

    fn put_site(&mut self, spec: resource::Site, digest: u64) -> Result<(), Refusal> {
        if let Some(host) =
            spec.hosts.iter().find(|host| host.is_empty() || host.bytes().any(|b| b.is_ascii_uppercase()))
        {
            return Err(Refusal::Invalid(format!("site `{}`: host `{host}` must be a name in lower case", spec.id)));
        }
        let id: Rc<str> = spec.id.as_str().into();
        let site = Rc::new(Site::new(spec, digest));
        let before = self.at_place(&id, |place| place.site.replace(site.clone()));
        self.digest ^= digest ^ before.as_ref().map_or(0, |before| before.digest);
        // New hosts first, so that the remaining ones always have their site.
        let old = before.as_ref().map_or(&[][..], |before| &before.spec().hosts);
        let new = &site.spec().hosts;
        new.iter().filter(|host| !old.contains(host)).for_each(|host| self.hosts.add(host, &id));
        old.iter().filter(|host| !new.contains(host)).for_each(|host| self.hosts.remove(host, &id));
        Ok(())
    }

    fn delete_site(&mut self, id: &str) -> Result<(), Refusal> {
        if self.sites.get(id).is_none_or(|place| place.site.is_none()) {
            return Err(unknown("site", id));
        }
        if let Some(site) = self.at_place(&id.into(), |place| place.site.take()) {
            self.digest ^= site.digest;
            site.spec().hosts.iter().for_each(|host| self.hosts.remove(host, id));
        }
        Ok(())
    }

    /// Changes a site's place, which is made before and dropped after if there is nothing in it.
    fn at_place<T>(&mut self, id: &Rc<str>, change: impl FnOnce(&mut Place) -> T) -> T {
        let mut place = match self.sites.get(id) {
            Some(place) => place.clone(),
            None => Place { site: None, routes: Trie::new() },
        };
        let answer = change(&mut place);
        if place.site.is_none() && place.routes.is_empty() {
            self.sites.remove_mut(id);
        } else {
            self.sites.insert_mut(id.clone(), place);
        }
        answer
    }

    fn put_route(&mut self, route: RouteEntry) -> Result<(), Refusal> {
        let route = Rc::new(route);
        let site = &route.spec().site;
        let before = self.routes.get(&*route.spec().id).cloned();
        if let Some(before) = before.as_ref().filter(|before| before.spec().site != *site) {
            self.at_place(&before.spec().site.as_str().into(), |place| place.routes.remove(before));
        }
        self.at_place(&site.as_str().into(), |place| {
            if let Some(before) = before.as_ref().filter(|before| before.spec().site == *site) {
                place.routes.remove(before);
            }
            place.routes.insert(&route);
        });
        self.digest ^= route.digest ^ before.map_or(0, |before| before.digest);
        self.routes.insert_mut(route.spec().id.as_str().into(), route);
        Ok(())
    }

    fn delete_route(&mut self, id: &str) -> Result<(), Refusal> {
        let route = self.routes.get(id).cloned().ok_or_else(|| unknown("route", id))?;
        self.digest ^= route.digest;
        self.at_place(&route.spec().site.as_str().into(), |place| place.routes.remove(&route));
        self.routes.remove_mut(id);
        Ok(())
    }

    fn put_upstream(&mut self, spec: resource::Upstream, digest: u64) -> Result<(), Refusal> {
        self.digest ^= digest;
        match self.upstreams.get_mut(&*spec.id) {
            Some(upstream) => {
                self.digest ^= upstream.digest;
                if matches!(spec.balance, Balance::Hash(_)) && !matches!(upstream.spec().balance, Balance::Hash(_)) {
                    self.unsettled.push(spec.id.as_str().into());
                }
                Rc::make_mut(upstream).replace(spec, digest);
            }
            None => self.upstreams.insert_mut(spec.id.as_str().into(), Rc::new(Upstream::new(spec, digest))),
        }
        Ok(())
    }

    fn delete_upstream(&mut self, id: &str) -> Result<(), Refusal> {
        let upstream = self.upstreams.get(id).cloned().ok_or_else(|| unknown("upstream", id))?;
        self.digest ^= upstream.digest ^ upstream.members_digest;
        self.members -= upstream.members().len();
        self.upstreams.remove_mut(id);
        Ok(())
    }

    fn put_member(&mut self, upstream: &str, spec: resource::Member, digest: u64) -> Result<(), Refusal> {
        if spec.weight > MAX_WEIGHT {
            let (id, weight) = (&spec.id, spec.weight);
            return Err(Refusal::Invalid(format!("member `{id}`: weight {weight} is more than {MAX_WEIGHT}")));
        }
        let missing = || missing(&spec.id, upstream);
        let group = self.upstreams.get_mut(upstream).ok_or_else(missing)?;
        let before = Rc::make_mut(group).put_member(spec, digest);
        self.digest ^= digest ^ before.unwrap_or(0);
        self.members += usize::from(before.is_none());
        Ok(())
    }

    fn delete_member(&mut self, upstream: &str, id: &str) -> Result<(), Refusal> {
        if self.upstreams.get(upstream).is_none_or(|group| group.member(id).is_none()) {
            return Err(unknown("member", &format!("{upstream}/{id}")));
        }
        let group = self.upstreams.get_mut(upstream).map(Rc::make_mut);
        if let Some(digest) = group.and_then(|group| group.delete_member(id)) {
            self.digest ^= digest;
            self.members -= 1;
        }
        Ok(())
    }

    /// Changes the state of a member; `false` if there is no such member.
    fn change_member(&mut self, upstream: &str, id: &str, change: impl FnOnce(&mut Member)) -> bool {
        if self.upstreams.get(upstream).is_none_or(|group| group.member(id).is_none()) {
            return false;
        }
        self.upstreams.get_mut(upstream).is_some_and(|group| Rc::make_mut(group).change_member(id, change))
    }

    fn put_certificate(&mut self, resource: resource::Certificate, digest: u64) -> Result<(), Refusal> {
        let id: Rc<str> = resource.id.as_str().into();
        if self.certificates.get(&id).is_some() {
            self.delete_certificate(&id)?;
        }
        resource.names.iter().for_each(|name| self.certificate_names.add(name, &id));
        self.digest ^= digest;
        self.certificates.insert_mut(id, Rc::new(CertificateEntry { resource, digest }));
        Ok(())
    }

    fn delete_certificate(&mut self, id: &str) -> Result<(), Refusal> {
        let entry = self.certificates.get(id).cloned().ok_or_else(|| unknown("certificate", id))?;
        entry.resource.names.iter().for_each(|name| self.certificate_names.remove(name, id));
        self.digest ^= entry.digest;
        self.certificates.remove_mut(id);
        Ok(())
    }

    fn put_consumer(&mut self, resource: &resource::Consumer, digest: u64) -> Result<(), Refusal> {
        let id = &resource.id;
        let consumer = crate::consumer(resource)
            .map_err(|(at, why)| Refusal::Invalid(format!("consumer `{id}`: credential {at}: {why}")))?;
        self.consumers.put(consumer);
        self.digest ^= digest ^ self.consumer_digests.get(&**id).copied().unwrap_or(0);
        self.consumer_digests.insert_mut(id.as_str().into(), digest);
        Ok(())
    }

    fn delete_consumer(&mut self, id: &str) -> Result<(), Refusal> {
        self.consumers.remove(id).ok_or_else(|| unknown("consumer", id))?;
        self.digest ^= self.consumer_digests.get(id).copied().unwrap_or(0);
        self.consumer_digests.remove_mut(id);
        Ok(())
    }

    fn put_topics(&mut self, topics: resource::Topics, digest: u64) -> Result<(), Refusal> {
        let id: Rc<str> = topics.id.as_str().into();
        self.digest ^= digest ^ self.topics.get(&id).map_or(0, |(_, digest)| *digest);
        self.topics.insert_mut(id, (Rc::new(topics), digest));
        Ok(())
    }

    fn delete_topics(&mut self, id: &str) -> Result<(), Refusal> {
        let kind = ResourceKind::Topics.singular();
        let (_, digest) = self.topics.get(id).ok_or_else(|| unknown(kind, id))?;
        self.digest ^= digest;
        self.topics.remove_mut(id);
        Ok(())
    }

    fn put_settings(&mut self, spec: resource::Settings, digest: u64) -> Result<(), Refusal> {
        // Empty settings are equivalent to none.
        let digest = if spec == resource::Settings::default() { 0 } else { digest };
        self.digest ^= digest ^ self.settings.digest;
        let compiled = spec.compiled.clone().map(|document| {
            let digest = frame_digest(document.json.as_bytes());
            (document, digest)
        });
        self.documents.set(ResourceKind::Settings, "", compiled);
        let policies = PolicyNames::new(spec.policies.clone());
        self.settings = Rc::new(SettingsEntry { spec, policies, digest });
        Ok(())
    }
}

/// A member that comes back starts slowly.
fn set_health(member: &mut Member, healthy: bool) {
    if healthy && !member.healthy {
        member.state.since_ms.set(None);
    }
    member.healthy = healthy;
}

fn set_addresses(member: &mut Member, addresses: Vec<SocketAddr>) {
    if member.weight() == 0 {
        member.state.since_ms.set(None);
    }
    member.addresses = addresses.into();
}

fn unknown(what: &'static str, id: &str) -> Refusal {
    Refusal::Unknown { what, id: id.into() }
}

fn missing(member: &str, upstream: &str) -> Refusal {
    Refusal::MissingReference { what: "member", id: member.into(), needs: "upstream", missing: upstream.into() }
}
