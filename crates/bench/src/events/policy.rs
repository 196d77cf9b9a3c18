//! Policies of a given size, as documents for the API, and the changes that rows make to them.

use std::io::Write;

use serde_json::{Value, json};

/// The weights that a member goes round.
const WEIGHTS: u64 = 100;
/// Idle connections to members outlast the turns of others.
const KEEPALIVE: &str = "10m";
/// Most changes of one transaction while a policy is loaded before a run.
pub const LOAD_CHUNK: usize = 1_000;

/// The number of resources in a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PolicySize {
    /// Members of the one upstream.
    pub members: usize,
    /// Sites with one host each.
    pub sites: usize,
    /// Routes, dealt out to the sites, all of them to the upstream.
    pub routes: usize,
}

/// The addresses of the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberPlacement {
    /// Their port.
    pub port: u16,
    /// Over how many addresses of this machine they are dealt out, from 127.0.0.1 on.
    pub addresses: usize,
}

impl MemberPlacement {
    /// Nobody listens there, and every member has an address of its own.
    pub const NOWHERE: Self = Self { port: 9, addresses: usize::MAX };

    fn of(self, member: usize) -> String {
        let number = member % self.addresses;
        format!("127.{}.{}.{}:{}", number / 62_500, number / 250 % 250, 1 + number % 250, self.port)
    }
}

/// A resource and its path below `/api/v1`.
pub type Document = (String, Value);

/// The documents of a policy.
#[must_use]
pub fn documents(size: PolicySize, place: MemberPlacement) -> Vec<Document> {
    let sites = (0..size.sites).map(|n| (format!("/sites/s{n}"), json!({"hosts": [host(n)]})));
    let keepalive = json!({"keepalive": {"idle": KEEPALIVE}});
    let upstream = (size.members > 0).then(|| ("/upstreams/u".to_owned(), keepalive));
    let members = (0..size.members).map(|n| (format!("/upstreams/u/members/m{n}"), json!({"address": place.of(n)})));
    let routes = (0..size.routes).map(|n| {
        let site = format!("s{}", n % size.sites.max(1));
        (format!("/routes/r{n}"), json!({"site": site, "path": format!("/r{n}"), "to": "u"}))
    });
    sites.chain(upstream).chain(members).chain(routes).collect()
}

/// A transaction that puts all of them.
#[must_use]
pub fn put(documents: &[Document]) -> String {
    let change = |(path, body): &Document| json!({"method": "PUT", "path": path, "body": body});
    json!({"changes": documents.iter().map(change).collect::<Vec<_>>()}).to_string()
}

/// A transaction that deletes all of them; members go with their upstream.
#[must_use]
pub fn delete(documents: &[Document]) -> String {
    let own = documents.iter().rev().filter(|(path, _)| !path.contains("/members/"));
    json!({"changes": own.map(|(path, _)| json!({"method": "DELETE", "path": path})).collect::<Vec<_>>()}).to_string()
}

/// The host of a site.
#[must_use]
pub fn host(site: usize) -> String {
    format!("site-{site}.example")
}

/// The change that a row makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The weight of a member.
    Weight,
    /// The hosts of a site.
    Host,
    /// The priority of a route.
    Priority,
}

impl Change {
    /// Writes the request of change number `number` of a policy; every one really changes something.
    pub fn request(self, number: u64, size: PolicySize, into: &mut Vec<u8>) {
        let of = |count: usize| (number % count.max(1) as u64, number / count.max(1) as u64 + 1);
        let (path, body) = match self {
            Self::Weight => {
                let (member, round) = of(size.members);
                (format!("upstreams/u/members/m{member}"), format!("{{\"weight\":{}}}", 1 + round % WEIGHTS))
            }
            Self::Host => {
                let (site, round) = of(size.sites);
                let hosts = format!("[\"site-{site}.example\",\"alias-{site}-{round}.example\"]");
                (format!("sites/s{site}"), format!("{{\"hosts\":{hosts}}}"))
            }
            Self::Priority => {
                let (route, round) = of(size.routes);
                (format!("routes/r{route}"), format!("{{\"priority\":{}}}", round % WEIGHTS))
            }
        };
        into.clear();
        write!(
            into,
            "PATCH /api/v1/{path} HTTP/1.1\r\nHost: control\r\nContent-Type: application/merge-patch+json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("a Vec takes every byte");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const SIZE: PolicySize = PolicySize { members: 3, sites: 2, routes: 5 };

    #[test]
    fn documents_have_paths_of_their_own_and_members_addresses() {
        let size = PolicySize { members: 10_000, sites: 10, routes: 100 };
        let documents = documents(size, MemberPlacement::NOWHERE);
        let paths: HashSet<&String> = documents.iter().map(|(path, _)| path).collect();
        assert_eq!((paths.len(), documents.len()), (10_111, 10_111));
        let addresses: HashSet<&str> = documents.iter().filter_map(|(_, body)| body["address"].as_str()).collect();
        assert_eq!(addresses.len(), 10_000);
        assert!(addresses.iter().all(|text| text.parse::<std::net::SocketAddrV4>().is_ok()));
    }

    #[test]
    fn a_change_of_a_resource_differs_from_the_one_before() {
        for change in [Change::Weight, Change::Host, Change::Priority] {
            let mut request = Vec::new();
            let all: Vec<String> = (0..60)
                .map(|number| {
                    change.request(number, SIZE, &mut request);
                    String::from_utf8(request.clone()).unwrap()
                })
                .collect();
            let mut last = std::collections::HashMap::new();
            for text in &all {
                let (head, body) = text.split_once("\r\n\r\n").unwrap();
                assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{text}");
                let path = head.split(' ').nth(1).unwrap().to_owned();
                assert_ne!(last.insert(path, body.to_owned()).as_deref(), Some(body), "{text}");
            }
        }
    }

    #[test]
    fn what_was_put_is_deleted_again() {
        let documents = documents(SIZE, MemberPlacement::NOWHERE);
        assert_eq!(put(&documents).matches("\"PUT\"").count(), 11);
        let text = delete(&documents);
        assert_eq!(text.matches("\"DELETE\"").count(), 8);
        assert!(text.find("/routes/r0") < text.find("/upstreams/u"), "{text}");
    }
}
