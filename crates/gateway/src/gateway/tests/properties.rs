//! Whatever operations led to a gateway, it finds what a plain matcher over the same resources finds, its digest is
//! that of what is live, and a gateway taken earlier is not affected.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::{frame_digest, resource::Balance, testing::apply_with};

/// The live resources, in plain maps.
#[derive(Clone, Debug, Default)]
struct Plain {
    sites: BTreeMap<String, crate::resource::Site>,
    routes: BTreeMap<String, Route>,
    upstreams: BTreeSet<String>,
    members: BTreeMap<(String, String), crate::resource::Member>,
    frames: BTreeMap<String, u64>,
}

impl Plain {
    fn apply(&mut self, op: &Op) {
        let digest = frame_digest(&serde_json::to_vec(op).unwrap());
        let mut put = |key: String| _ = self.frames.insert(key, digest);
        match op {
            Op::Put(Resource::Site(site)) => {
                put(format!("site {}", site.id));
                self.sites.insert(site.id.clone(), site.clone());
            }
            Op::Delete { kind: ResourceKind::Sites, id } => {
                self.frames.remove(&format!("site {id}"));
                self.sites.remove(id);
            }
            Op::Put(Resource::Route(route)) => {
                put(format!("route {}", route.id));
                self.routes.insert(route.id.clone(), route.clone());
            }
            Op::Delete { kind: ResourceKind::Routes, id } => {
                self.frames.remove(&format!("route {id}"));
                self.routes.remove(id);
            }
            Op::Put(Resource::Upstream(upstream)) => {
                put(format!("upstream {}", upstream.id));
                self.upstreams.insert(upstream.id.clone());
            }
            Op::Delete { kind: ResourceKind::Upstreams, id } => {
                self.frames.remove(&format!("upstream {id}"));
                self.frames.retain(|key, _| !key.starts_with(&format!("member {id} ")));
                self.upstreams.remove(id);
                self.members.retain(|(upstream, _), _| upstream != id);
            }
            Op::Put(Resource::Member { upstream, member }) => {
                put(format!("member {upstream} {}", member.id));
                self.members.insert((upstream.clone(), member.id.clone()), member.clone());
            }
            Op::Delete { kind: ResourceKind::Members, id } => {
                let (upstream, id) = id.split_once('/').unwrap();
                self.frames.remove(&format!("member {upstream} {id}"));
                self.members.remove(&(upstream.to_owned(), id.to_owned()));
            }
            _ => {}
        }
    }

    fn digest(&self) -> u64 {
        self.frames.values().fold(0, |sum, digest| sum ^ digest)
    }

    fn site(&self, host: &str) -> Option<&crate::resource::Site> {
        let with = |host: &str| self.sites.values().find(|site| site.hosts.iter().any(|known| known == host));
        let suffixes = host.match_indices('.').map(|(dot, _)| format!("*{}", &host[dot..]));
        with(host).or_else(|| suffixes.into_iter().find_map(|wildcard| with(&wildcard))).or_else(|| with("*"))
    }

    fn route(&self, request: &Request) -> String {
        let Some(site) = self.site(&request.host) else { return "no site".into() };
        let of_site = self.routes.values().filter(|route| route.site == site.id);
        let mut fit: Vec<&Route> = of_site.filter(|route| fits(&route.matches.path, &request.path)).collect();
        // The only conditions here are methods: a route that has some goes before one that has none.
        fit.sort_by_key(|route| {
            let any_method = route.matches.methods.is_empty();
            (-route.priority, specificity(&route.matches.path), any_method, route.id.clone())
        });
        let allowed =
            |route: &&&Route| route.matches.methods.is_empty() || route.matches.methods.contains(&request.method);
        match fit.iter().find(allowed) {
            Some(route) => route.id.clone(),
            None if fit.is_empty() => "no route".into(),
            None => {
                let mut methods: Vec<&str> = Vec::new();
                for method in fit.iter().flat_map(|route| &route.matches.methods) {
                    if !methods.contains(&method.as_str()) {
                        methods.push(method);
                    }
                }
                format!("allow {}", methods.join(", "))
            }
        }
    }
}

fn fits(path: &PathMatch, text: &str) -> bool {
    let Some(rest) = text.strip_prefix('/') else { return false };
    let given: Vec<&str> = rest.split('/').collect();
    match path {
        PathMatch::Exact(path) => path == text,
        PathMatch::Prefix(path) => {
            let path = path.trim_end_matches('/');
            text.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }
        PathMatch::Template(path) => {
            let wanted: Vec<&str> = path[1..].split('/').collect();
            let (wanted, rest) = match wanted.split_last() {
                Some((last, before)) if last.ends_with("*}") => (before, true),
                _ => (&wanted[..], false),
            };
            let enough = if rest { given.len() > wanted.len() } else { given.len() == wanted.len() };
            let one = |(wanted, given): (&&str, &&str)| {
                if wanted.starts_with('{') { !given.is_empty() } else { wanted == given }
            };
            enough && wanted.iter().zip(&given).all(one)
        }
        PathMatch::Regex(pattern) => Patterns::compile(pattern).unwrap().is_whole(text.as_bytes()),
    }
}

/// Kind, then the more specific, smaller first.
fn specificity(path: &PathMatch) -> (u8, i64, i64, i64) {
    match path {
        PathMatch::Exact(_) => (0, 0, 0, 0),
        PathMatch::Template(path) => {
            let pieces = || path[1..].split('/');
            let literals = pieces().filter(|piece| !piece.starts_with('{')).count() as i64;
            let named = pieces().filter(|piece| piece.starts_with('{') && !piece.ends_with("*}")).count() as i64;
            (1, -literals, -named, i64::from(path.ends_with("*}")))
        }
        PathMatch::Regex(path) => (2, -(path.len() as i64), 0, 0),
        PathMatch::Prefix(path) => (3, -(path.trim_end_matches('/').len() as i64), 0, 0),
    }
}

fn any_path() -> impl Strategy<Value = PathMatch> {
    let literal = "(/[ab]{0,1}){1,4}";
    let piece = prop_oneof![3 => Just("a"), 3 => Just("b"), 1 => Just("")].prop_map(String::from);
    let pieces = prop::collection::vec((piece, any::<bool>()), 1..5);
    let templates = (pieces, any::<bool>()).prop_map(|(pieces, rest)| {
        let one = |(n, (piece, named)): (usize, &(String, bool))| {
            if *named { format!("/{{p{n}}}") } else { format!("/{piece}") }
        };
        let path: String = pieces.iter().enumerate().map(one).collect();
        PathMatch::Template(if rest { path + "/{rest*}" } else { path })
    });
    prop_oneof![
        2 => literal.prop_map(PathMatch::Exact),
        2 => literal.prop_map(PathMatch::Prefix),
        3 => templates,
        1 => prop::sample::select(vec!["/a/.*", "/[ab]/?", "/a/b", "/a/a?/.+", ".*", "/b/(a|b)", "//.*"])
            .prop_map(|pattern| PathMatch::Regex(pattern.into())),
    ]
}

fn any_op() -> impl Strategy<Value = Op> {
    let id = |kind: &'static str, count: u32| (0..count).prop_map(move |n| format!("{kind}{n}"));
    let host = prop::sample::select(vec!["x", "a.x", "*.x", "*.a.x", "*", "y"]).prop_map(String::from);
    let methods = prop::collection::vec(prop::sample::select(vec!["GET", "PUT", "POST"]).prop_map(String::from), 0..2);
    let routes =
        (id("r", 24), id("s", 3), any_path(), -1..2i32, methods).prop_map(|(id, site, path, priority, methods)| {
            let mut route = Route { priority, ..route(&id, &site, path) };
            route.matches.methods = methods;
            Op::Put(Resource::Route(route))
        });
    let sites = (id("s", 3), prop::collection::btree_set(host, 0..3)).prop_map(|(id, hosts)| {
        let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
        Op::Put(Resource::Site(site(&id, &hosts)))
    });
    let members = (id("u", 2), id("m", 30), 0..4u32, any::<bool>()).prop_map(|(upstream, id, weight, backup)| {
        put_member(&upstream, crate::resource::Member { backup, ..member(&id, weight) })
    });
    let balance = prop::sample::select(vec![Balance::RoundRobin, Balance::Hash(HashKey::Ip), Balance::Ewma]);
    prop_oneof![
        12 => routes,
        4 => sites,
        6 => members,
        3 => id("r", 24).prop_map(|id| Op::Delete { kind: ResourceKind::Routes, id }),
        1 => id("s", 3).prop_map(|id| Op::Delete { kind: ResourceKind::Sites, id }),
        2 => (id("u", 2), balance).prop_map(|(id, balance)| Op::Put(Resource::Upstream(upstream(&id, balance)))),
        1 => id("u", 2).prop_map(|id| Op::Delete { kind: ResourceKind::Upstreams, id }),
        2 => (id("u", 2), id("m", 30)).prop_map(|(upstream, id)| Op::Delete { kind: ResourceKind::Members, id: format!("{upstream}/{id}") }),
        2 => (id("u", 2), id("m", 30), any::<bool>())
            .prop_map(|(upstream, member, healthy)| Op::Health { upstream, member, healthy }),
    ]
}

fn any_request() -> impl Strategy<Value = Request> {
    let host = prop::sample::select(vec!["x", "a.x", "b.x", "c.a.x", "y", "z"]);
    let method = prop::sample::select(vec!["GET", "PUT", "POST"]);
    (host, "(/[abc]{0,1}){1,5}", method)
        .prop_map(|(host, path, method)| Request { method: method.into(), ..get(host, &path) })
}

/// The weights of all members of an upstream that are available.
fn weights(gateway: &Gateway, upstream: &str) -> u64 {
    gateway.upstream(upstream).map_or(0, |all| all.members().map(|member| u64::from(member.weight())).sum())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn finds_what_a_plain_matcher_finds(
        ops in prop::collection::vec(any_op(), 1..120),
        requests in prop::collection::vec(any_request(), 30),
        kept_at in any::<usize>(),
    ) {
        let (mut gateway, mut plain, mut patterns) = (Gateway::empty(), Plain::default(), Patterns::new());
        let mut kept = None;
        for (n, op) in ops.iter().enumerate() {
            if n == kept_at % ops.len() {
                kept = Some((gateway.clone(), plain.clone()));
            }
            if apply_with(&mut gateway, op.clone(), &mut patterns).is_ok() {
                plain.apply(op);
            }
        }
        let kept = kept.expect("it is taken before one of the operations");
        for (gateway, plain) in [(gateway, plain), kept] {
            for request in &requests {
                prop_assert_eq!(id_of(&gateway, request), plain.route(request), "{:?}", request);
            }
            prop_assert_eq!(gateway.digest(), plain.digest());
            let counts = Counts {
                sites: plain.sites.len(),
                routes: plain.routes.len(),
                upstreams: plain.upstreams.len(),
                members: plain.members.len(),
                certificates: 0,
                consumers: 0,
                topics: 0,
            };
            prop_assert_eq!(gateway.counts(), counts);
            for upstream in &plain.upstreams {
                let choice = Choice { now_ms: 1, key: Some(7), random: 9, tried: &[] };
                prop_assert_eq!(gateway.pick(upstream, &choice).is_ok(), weights(&gateway, upstream) > 0);
            }
        }
    }

    #[test]
    fn operations_read_from_any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "\\PC{0,80}") {
        let templates = [
            format!(r#"{{"delete":{{"kind":"sites","id":{text:?}}}}}"#),
            format!(r#"{{"put":{{"policy":{{"id":"p","hash":{text:?},"json":{text:?}}}}}}}"#),
            text.clone(),
        ];
        for frame in templates.iter().map(String::as_bytes).chain([&bytes[..]]) {
            if let Ok(op) = serde_json::from_slice::<Op>(frame) {
                let _ = Gateway::empty().apply(frame, op, &mut Patterns::new());
            }
        }
    }

    #[test]
    fn any_path_text_is_taken_or_refused(text in "[/a{}*.()\\[\\]|\\PC]{0,40}", path in "/[/a{}*.\\PC]{0,40}") {
        for kind in [PathMatch::Exact, PathMatch::Prefix, PathMatch::Template, PathMatch::Regex] {
            let mut gateway = with([]);
            let mut redirect = route("r", "s", kind(text.clone()));
            redirect.action = RouteAction::Redirect { to: text.clone(), status: 302 };
            for route in [route("r", "s", kind(text.clone())), redirect] {
                let _ = apply(&mut gateway, Op::Put(Resource::Route(route)));
                let request = get("h", &path);
                if let Found::Route(matched) = gateway.route(&request) {
                    let mut out = Vec::new();
                    matched.redirect(&request, &mut out);
                    prop_assert!(out.iter().all(|byte| (0x21..0x7f).contains(byte)), "{:?}", out);
                }
            }
        }
    }
}
