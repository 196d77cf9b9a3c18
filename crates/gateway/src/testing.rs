//! Building blocks for gateways and requests in tests.

use std::{borrow::Cow, net::IpAddr};

use crate::{
    Gateway, Patterns, Refusal, RequestView,
    op::Op,
    resource::{
        Balance, Forward, HeaderChanges, HostHeader, Member, PathMatch, Protocol, RequestMatch, Resource, Retries,
        Route, RouteAction, Site, SiteTls, Split, Timeouts, Upstream, UpstreamTls,
    },
};

/// Applies an operation as a worker does: its frame is its JSON, expressions are compiled when they are asked for.
pub fn apply(gateway: &mut Gateway, op: Op) -> Result<(), Refusal> {
    apply_with(gateway, op, &mut Patterns::new())
}

/// Does the same with the expressions of earlier calls.
pub fn apply_with(gateway: &mut Gateway, op: Op, patterns: &mut Patterns) -> Result<(), Refusal> {
    let frame = serde_json::to_vec(&op).unwrap();
    for _ in 0..100 {
        match gateway.apply(&frame, op.clone(), patterns) {
            Err(Refusal::NeedsPattern(text)) => {
                let regex = Patterns::compile(&text).map_err(Refusal::Invalid)?;
                patterns.insert(&text, regex);
            }
            done => return done,
        }
    }
    panic!("more than 100 expressions in one operation");
}

/// A gateway after these operations.
pub fn gateway(ops: impl IntoIterator<Item = Op>) -> Gateway {
    let mut gateway = Gateway::empty();
    let mut patterns = Patterns::new();
    for op in ops {
        apply_with(&mut gateway, op.clone(), &mut patterns).unwrap_or_else(|refusal| panic!("{op:?}: {refusal}"));
    }
    gateway
}

pub fn site(id: &str, hosts: &[&str]) -> Site {
    let hosts = hosts.iter().map(|host| (*host).into()).collect();
    Site { id: id.into(), hosts, tls: SiteTls::default(), policies: None, response_headers: HeaderChanges::default() }
}

pub fn route(id: &str, site: &str, path: PathMatch) -> Route {
    Route {
        id: id.into(),
        site: site.into(),
        matches: RequestMatch { path, methods: vec![], headers: vec![], query: vec![], cookies: vec![] },
        priority: 0,
        action: RouteAction::Forward(Box::new(forward(&[("app", 1)]))),
        request_headers: HeaderChanges::default(),
        response_headers: HeaderChanges::default(),
        body_limit: 0,
        policies: None,
    }
}

pub fn forward(split: &[(&str, u32)]) -> Forward {
    Forward {
        split: split.iter().map(|(id, weight)| Split { upstream: (*id).into(), weight: *weight }).collect(),
        sticky: None,
        rewrite: None,
        timeouts: Timeouts { connect_ms: 1, send_ms: 1, read_ms: 1 },
        retries: Retries { attempts: 2, on: vec![], timeout_ms: 0, non_idempotent: false },
        mirror: None,
        websocket: true,
        buffering: true,
    }
}

pub fn upstream(id: &str, balance: Balance) -> Upstream {
    Upstream {
        id: id.into(),
        balance,
        protocol: Protocol::Http,
        keepalive: None,
        passive: None,
        active: None,
        tls: UpstreamTls::default(),
        host: HostHeader::Preserve,
        slow_start_ms: 0,
        resolve_every_ms: 0,
        fallback: None,
    }
}

/// A member with an address of its own for each id.
pub fn member(id: &str, weight: u32) -> Member {
    let port = 1 + (crate::frame_digest(id.as_bytes()) % 60_000) as u16;
    let socket = Some(([192, 0, 2, 1], port).into());
    Member { id: id.into(), address: format!("192.0.2.1:{port}"), socket, weight, backup: false, drain: false }
}

pub fn put_member(upstream: &str, member: Member) -> Op {
    Op::Put(Resource::Member { upstream: upstream.into(), member })
}

/// A request from 192.0.2.9.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub host: String,
    pub path: String,
    pub method: String,
    pub query: String,
    pub headers: Vec<(String, String)>,
    pub arguments: Vec<(String, String)>,
    pub cookies: Vec<(String, String)>,
}

/// `GET` of a path.
pub fn get(host: &str, path: &str) -> Request {
    Request { host: host.into(), path: path.into(), method: "GET".into(), ..Request::default() }
}

fn first<'r>(all: &'r [(String, String)], name: &str) -> Option<&'r [u8]> {
    all.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_bytes())
}

impl RequestView for Request {
    fn host(&self) -> &[u8] {
        self.host.as_bytes()
    }

    fn path(&self) -> &[u8] {
        self.path.as_bytes()
    }

    fn method(&self) -> &[u8] {
        self.method.as_bytes()
    }

    fn query_string(&self) -> &[u8] {
        self.query.as_bytes()
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        first(&self.headers, name)
    }

    fn query(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        first(&self.arguments, name).map(Cow::Borrowed)
    }

    fn cookie(&self, name: &str) -> Option<&[u8]> {
        first(&self.cookies, name)
    }

    fn client(&self) -> Option<IpAddr> {
        Some([192, 0, 2, 9].into())
    }
}
