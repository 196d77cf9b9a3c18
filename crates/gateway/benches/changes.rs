//! What a change, a match and a pick cost with 10, 1,000 and 10,000 of a kind: they must not differ much.
//!
//! `cargo bench --profile quick -p weir-gateway`. Each change is read from its frame and applied to a clone
//! of the gateway in service, which is then replaced, as a worker does. Medians of rounds, in ns. What the sizes differ
//! by is mostly memory that is not in the caches.

use std::{borrow::Cow, hint::black_box, net::IpAddr, time::Instant};

use weir_gateway::{
    Choice, Found, Gateway, Patterns, RequestView,
    op::Op,
    resource::{
        Balance, Forward, HashKey, HeaderChanges, HostHeader, Member, PathMatch, Protocol, RequestMatch, Resource,
        Retries, Route, RouteAction, Site, SiteTls, Split, Timeouts, Upstream, UpstreamTls,
    },
};

const SIZES: [usize; 3] = [10, 1_000, 10_000];
const ROUNDS: usize = 41;
const PER_ROUND: usize = 500;

fn main() {
    println!("{:<28} {:>9} {:>9} {:>9} {:>7}", "ns", SIZES[0], SIZES[1], SIZES[2], "ratio");
    let rows: [Row; 14] = [
        ("change a member's weight", |n| {
            change(members(n, Balance::RoundRobin), |k| put_member(k % n, 1 + k as u32 % 2))
        }),
        ("the same, balanced by hash", |n| change(members(n, hash()), |k| put_member(k % n, 1 + k as u32 % 2))),
        ("change a member's health", |n| change(members(n, Balance::RoundRobin), |k| health(k % n, k / n % 2 == 1))),
        ("replace a route (exact)", |n| change(routes(n, exact), |k| put_route(k % n, exact))),
        ("replace a route (template)", |n| change(routes(n, template), |k| put_route(k % n, template))),
        ("replace a route (same path)", |n| change(routes(n, same), |k| put_route(k % n, same))),
        ("replace a site", |n| change(sites(n), |k| put_site(k % n))),
        ("match (exact)", |n| matching(routes(n, exact), |k| format!("/api/v1/r{}", k % n))),
        ("match (template)", |n| matching(routes(n, template), |k| format!("/api/r{}/7/x", k % n))),
        ("match a host of sites", |n| hosts(sites(n), n)),
        ("pick: round robin", |n| picking(members(n, Balance::RoundRobin))),
        ("pick: least connections", |n| picking(members(n, Balance::LeastConnections))),
        ("pick: EWMA", |n| picking(members(n, Balance::Ewma))),
        ("pick: hash", |n| picking(members(n, hash()))),
    ];
    for (name, row) in rows {
        let [small, middle, large] = SIZES.map(row);
        println!("{name:<28} {small:>9.0} {middle:>9.0} {large:>9.0} {:>7.2}", large / small);
    }
    for (what, op) in [("member", put_member(1, 1)), ("route", put_route(1, exact)), ("site", put_site(1))] {
        let frame = serde_json::to_vec(&op).unwrap_or_default();
        let read = median(|_| _ = black_box(serde_json::from_slice::<Op>(black_box(&frame))));
        println!("of which reading the frame of a {what}: {read:.0} ns");
    }
}

/// A name, and what measures the time in ns at a size.
type Row = (&'static str, fn(usize) -> f64);

/// Median time of a call, in ns.
fn median(mut call: impl FnMut(usize)) -> f64 {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|round| {
            let begin = Instant::now();
            (0..PER_ROUND).for_each(|n| call(round * PER_ROUND + n));
            begin.elapsed().as_nanos() as f64 / PER_ROUND as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

fn apply(gateway: &mut Gateway, frame: &[u8], op: Op) {
    gateway.apply(frame, op, &mut Patterns::new()).unwrap_or_else(|refusal| panic!("{refusal}"));
}

fn build(ops: impl Iterator<Item = Op>) -> Gateway {
    let mut gateway = Gateway::empty();
    ops.for_each(|op| apply(&mut gateway, &serde_json::to_vec(&op).unwrap_or_default(), op));
    gateway
}

/// A change from its frame on, as a worker does it: read, apply to a clone, replace what was in service.
fn change(mut gateway: Gateway, op: impl Fn(usize) -> Op) -> f64 {
    let frames: Vec<_> = (0..ROUNDS * PER_ROUND).map(|n| serde_json::to_vec(&op(n)).unwrap_or_default()).collect();
    median(|n| {
        let mut next = gateway.clone();
        match serde_json::from_slice(&frames[n]) {
            Ok(op) => apply(&mut next, &frames[n], op),
            Err(error) => panic!("{error}"),
        }
        gateway = next;
    })
}

fn matching(gateway: Gateway, path: impl Fn(usize) -> String) -> f64 {
    let requests: Vec<_> = (0..1000).map(|n| Get { host: "h.example".into(), path: path(n * 7919) }).collect();
    median(|n| {
        let found = gateway.route(black_box(&requests[n % requests.len()]));
        assert!(matches!(black_box(found), Found::Route(_)));
    })
}

fn hosts(gateway: Gateway, count: usize) -> f64 {
    let hosts: Vec<_> = (0..1000).map(|n| format!("www.s{}.example:443", n * 7919 % count)).collect();
    median(|n| assert!(black_box(gateway.site(black_box(hosts[n % hosts.len()].as_bytes()))).is_some()))
}

fn picking(gateway: Gateway) -> f64 {
    median(|n| {
        let random = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let choice = Choice { now_ms: 1, key: Some(random), random, tried: &[] };
        assert!(black_box(gateway.pick("app", &choice)).is_ok());
    })
}

fn hash() -> Balance {
    Balance::Hash(HashKey::Ip)
}

fn members(count: usize, balance: Balance) -> Gateway {
    let upstream = Upstream {
        id: "app".into(),
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
    };
    build([Op::Put(Resource::Upstream(upstream))].into_iter().chain((0..count).map(|n| put_member(n, 1))))
}

fn put_member(n: usize, weight: u32) -> Op {
    let socket = Some(([127, 0, 0, 1], 1 + n as u16).into());
    let address = format!("127.0.0.1:{}", 1 + n);
    let member = Member { id: format!("m{n}"), address, socket, weight, backup: false, drain: false };
    Op::Put(Resource::Member { upstream: "app".into(), member })
}

fn health(n: usize, healthy: bool) -> Op {
    Op::Health { upstream: "app".into(), member: format!("m{n}"), healthy }
}

fn exact(n: usize) -> PathMatch {
    PathMatch::Exact(format!("/api/v1/r{n}"))
}

fn template(n: usize) -> PathMatch {
    PathMatch::Template(format!("/api/r{n}/{{id}}/x"))
}

fn same(_: usize) -> PathMatch {
    PathMatch::Exact("/api".into())
}

fn routes(count: usize, path: fn(usize) -> PathMatch) -> Gateway {
    let site = Op::Put(Resource::Site(site("s", vec!["*".into()])));
    build([site].into_iter().chain((0..count).map(|n| put_route(n, path))))
}

fn put_route(n: usize, path: fn(usize) -> PathMatch) -> Op {
    let forward = Forward {
        split: vec![Split { upstream: "app".into(), weight: 1 }],
        sticky: None,
        rewrite: None,
        timeouts: Timeouts { connect_ms: 5000, send_ms: 60_000, read_ms: 60_000 },
        retries: Retries { attempts: 2, on: vec![], timeout_ms: 0, non_idempotent: false },
        mirror: None,
        websocket: true,
        buffering: true,
    };
    let matches = RequestMatch { path: path(n), methods: vec![], headers: vec![], query: vec![], cookies: vec![] };
    let route = Route {
        id: format!("r{n}"),
        site: "s".into(),
        matches,
        priority: 0,
        action: RouteAction::Forward(Box::new(forward)),
        request_headers: HeaderChanges::default(),
        response_headers: HeaderChanges::default(),
        body_limit: 1 << 20,
        policies: None,
    };
    Op::Put(Resource::Route(route))
}

fn site(id: &str, hosts: Vec<String>) -> Site {
    Site { id: id.into(), hosts, tls: SiteTls::default(), policies: None, response_headers: HeaderChanges::default() }
}

fn sites(count: usize) -> Gateway {
    build((0..count).map(put_site))
}

fn put_site(n: usize) -> Op {
    Op::Put(Resource::Site(site(&format!("s{n}"), vec![format!("s{n}.example"), format!("*.s{n}.example")])))
}

struct Get {
    host: String,
    path: String,
}

impl RequestView for Get {
    fn host(&self) -> &[u8] {
        self.host.as_bytes()
    }

    fn path(&self) -> &[u8] {
        self.path.as_bytes()
    }

    fn method(&self) -> &[u8] {
        b"GET"
    }

    fn query_string(&self) -> &[u8] {
        b""
    }

    fn header(&self, _: &str) -> Option<&[u8]> {
        None
    }

    fn query(&self, _: &str) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn cookie(&self, _: &str) -> Option<&[u8]> {
        None
    }

    fn client(&self) -> Option<IpAddr> {
        None
    }
}
