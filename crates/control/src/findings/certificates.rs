//! Certificates that are missing, do not fit, or expire soon.

use std::collections::BTreeSet;

use weir_gateway::resource::{Certificate, Resource, Settings, Site, SiteTls};
use weir_resource::ResourceKind;

use super::{Search, now, resource};
use crate::state::{Held, Key, State};

/// How long before its end a certificate is reported, in days.
const SOON: i64 = 14;
/// Seconds of a day.
const DAY: i64 = 86_400;
/// Host names that a finding lists.
const LISTED: usize = 5;

/// The sites that use a certificate: by its id, or by one of its names, before the change or after it.
pub(super) fn users(state: &State, key: &Key, held: [&Option<Held>; 2]) -> Vec<String> {
    let of_site = |key: &&Key| key.kind == ResourceKind::Sites;
    let mut users: Vec<String> =
        state.referrers(key.kind, &key.id).filter(of_site).map(|key| key.id.to_string()).collect();
    for certificate in held.into_iter().flatten().filter_map(certificate) {
        let owners =
            certificate.names.iter().flat_map(|name| state.owners(ResourceKind::Sites, &format!("host {name}")));
        users.extend(owners.map(|key| key.id.to_string()));
    }
    users
}

fn certificate(held: &Held) -> Option<Certificate> {
    match resource(held)? {
        Resource::Certificate(certificate) => Some(certificate),
        _ => None,
    }
}

/// Whether a certificate is good for a host name of a site (RFC 6125, section 6.4.3: a wildcard is one label).
fn covers(certificate: &Certificate, host: &str) -> bool {
    let wildcard = host.split_once('.').map(|(_, rest)| format!("*.{rest}"));
    certificate.names.iter().any(|name| name == host || Some(name) == wildcard.as_ref())
}

/// Whether a certificate is good for some of the names that a host of a site stands for.
fn covers_some(certificate: &Certificate, host: &str) -> bool {
    covers(certificate, host)
        || host.strip_prefix('*').is_some_and(|suffix| certificate.names.iter().any(|name| name.ends_with(suffix)))
}

impl Search<'_> {
    pub(super) fn certificates(&mut self, sites: &BTreeSet<String>, certificates: &BTreeSet<String>) {
        let get = |id: &String| self.state.get(ResourceKind::Certificates, id).and_then(certificate);
        let touched: Vec<Certificate> = certificates.iter().filter_map(get).collect();
        touched.iter().for_each(|certificate| self.expiring(certificate));
        let sites: Vec<Site> =
            sites.iter().filter_map(|id| self.site(id)).filter(|site| site.tls != SiteTls::default()).collect();
        let is_by_name = sites.iter().any(|site| site.tls.certificate.is_none())
            && self.knows(ResourceKind::Certificates)
            && self.state.count(ResourceKind::Certificates) <= self.bounds.certificates;
        let all: Option<Vec<Certificate>> = is_by_name.then(|| {
            self.state.iter(ResourceKind::Certificates, None).filter_map(|(_, held)| certificate(held)).collect()
        });
        for site in &sites {
            match (&site.tls.certificate, &all) {
                (Some(id), _) => self.named(site, id),
                (None, Some(all)) => self.by_name(site, all),
                (None, None) => {}
            }
        }
    }

    fn site(&self, id: &str) -> Option<Site> {
        match self.state.get(ResourceKind::Sites, id).and_then(resource)? {
            Resource::Site(site) => Some(site),
            _ => None,
        }
    }

    /// A site that says which certificate it presents.
    fn named(&mut self, site: &Site, id: &str) {
        let Some(certificate) = self.state.get(ResourceKind::Certificates, id).and_then(certificate) else { return };
        self.expiring(&certificate);
        let hosts = listed(site.hosts.iter().filter(|host| *host != "*" && !covers(&certificate, host)));
        if let Some(hosts) = hosts {
            let message = format!("the certificate `{id}` does not cover {hosts}: clients will reject it");
            let names = listed(certificate.names.iter()).unwrap_or_else(|| "no host names".to_owned());
            self.add(
                Key::new(ResourceKind::Sites, &site.id),
                "/tls/certificate",
                message,
                format!("it covers {names}"),
            );
        }
    }

    /// A site that presents the certificate whose names fit best.
    fn by_name(&mut self, site: &Site, all: &[Certificate]) {
        let settings = self.state.get(ResourceKind::Settings, "").and_then(resource);
        let default = match settings {
            Some(Resource::Settings(Settings { default_certificate, .. })) => default_certificate,
            _ => None,
        };
        let mut bare = Vec::new();
        for host in &site.hosts {
            let best = all.iter().filter(|one| covers_some(one, host)).max_by_key(|one| one.not_after);
            match best {
                Some(certificate) => self.expiring(certificate),
                None => bare.push(host),
            }
        }
        let Some(hosts) = listed(bare.into_iter()) else { return };
        let outcome = match default {
            Some(default) => format!("clients get the default certificate `{default}`, and will reject it"),
            None => "TLS handshakes fail".to_owned(),
        };
        let message = format!("no certificate covers {hosts}: {outcome}");
        self.add(Key::new(ResourceKind::Sites, &site.id), "/tls", message, "add a certificate for these names");
    }

    fn expiring(&mut self, certificate: &Certificate) {
        let left = certificate.not_after - now();
        if left >= SOON * DAY {
            return;
        }
        let id = &certificate.id;
        let message = match left {
            left if left <= 0 => format!("the certificate `{id}` has expired"),
            left if left < DAY => format!("the certificate `{id}` expires within a day"),
            left => format!("the certificate `{id}` expires in {} days", left / DAY),
        };
        self.add(Key::new(ResourceKind::Certificates, id), "/certificate", message, "replace it with a new one");
    }
}

/// Some names in words; `None` if there are none.
fn listed<'n>(names: impl Iterator<Item = &'n String>) -> Option<String> {
    let all: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let rest = all.len().saturating_sub(LISTED);
    let shown = all[..all.len() - rest].join(", ");
    match rest {
        0 => (!shown.is_empty()).then_some(shown),
        rest => Some(format!("{shown} and {rest} more")),
    }
}
