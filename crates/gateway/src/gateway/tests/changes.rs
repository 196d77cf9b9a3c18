//! What operations refuse, and what they leave.

use super::*;
use crate::testing::{member, put_member, upstream};

#[test]
fn refusals_change_nothing_and_say_why() {
    let mut bad_redirect = route("r2", "s", prefix("/"));
    bad_redirect.action = RouteAction::Redirect { to: "/{nope}".into(), status: 308 };
    let cases = [
        (Op::Delete { kind: ResourceKind::Sites, id: "x".into() }, "there is no site `x` to delete"),
        (Op::Delete { kind: ResourceKind::Routes, id: "x".into() }, "there is no route `x` to delete"),
        (Op::Delete { kind: ResourceKind::Upstreams, id: "x".into() }, "there is no upstream `x` to delete"),
        (Op::Delete { kind: ResourceKind::Members, id: "app/x".into() }, "there is no member `app/x` to delete"),
        (Op::Delete { kind: ResourceKind::Certificates, id: "x".into() }, "there is no certificate `x` to delete"),
        (put_member("x", member("a", 1)), "member `a`: there is no upstream `x`"),
        (put_member("app", member("a", 1001)), "member `a`: weight 1001 is more than 1000"),
        (Op::Put(Resource::Site(site("s", &["A.example"]))), "site `s`: host `A.example` must be a name in lower case"),
        (Op::Put(Resource::Route(route("r", "s", exact("x")))), "path `x`: it must begin with `/`"),
        (Op::Put(Resource::Route(bad_redirect)), "`/{nope}`: there is no `nope`; there are path, query, host"),
    ];
    let upstream = Op::Put(Resource::Upstream(upstream("app", crate::resource::Balance::RoundRobin)));
    let mut gateway = gateway([Op::Put(Resource::Site(site("s", &["*"]))), upstream]);
    let (digest, counts) = (gateway.digest(), gateway.counts());
    for (op, expected) in cases {
        assert_eq!(apply(&mut gateway, op).unwrap_err().to_string(), expected);
        assert_eq!((gateway.digest(), gateway.counts()), (digest, counts), "{expected}");
    }
    let needs = Op::Put(Resource::Route(route("r", "s", regex("/[0-9]"))));
    let refused = gateway.apply(b"", needs, &mut Patterns::new());
    assert_eq!(refused, Err(Refusal::NeedsPattern("/[0-9]".into())));
}

#[test]
fn a_host_may_move_within_a_revision() {
    let mut gateway = gateway([
        Op::Put(Resource::Site(site("b", &["h"]))),
        Op::Put(Resource::Route(route("later", "c", prefix("/")))),
        Op::Put(Resource::Site(site("c", &["h"]))),
        Op::Put(Resource::Site(site("b", &["other"]))),
    ]);
    assert_eq!(id_of(&gateway, &get("h", "/")), "later");
    apply(&mut gateway, Op::Delete { kind: ResourceKind::Sites, id: "c".into() }).unwrap();
    assert_eq!(id_of(&gateway, &get("h", "/")), "no site");
    apply(&mut gateway, Op::Put(Resource::Site(site("c", &["h"])))).unwrap();
    assert_eq!(id_of(&gateway, &get("h", "/")), "later");
}

#[test]
fn the_same_policies_keep_their_text() {
    let put = |text: &str| Op::PutPolicies { text: text.into() };
    let mut gateway = gateway([put("{}")]);
    let first = gateway.policies().unwrap().clone();
    apply(&mut gateway, put("{}")).unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, gateway.policies().unwrap()));
    apply(&mut gateway, put("")).unwrap();
    assert_eq!(gateway.policies(), None);
}
