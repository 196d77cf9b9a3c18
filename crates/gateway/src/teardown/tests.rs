use std::{rc::Rc, thread};

use super::*;
use crate::{
    Gateway,
    op::Op,
    resource::{Balance, HashKey, PathMatch, Resource, ResourceKind},
    testing::{apply, gateway, member, put_member, route, site, upstream},
};

/// Members and routes of the large gateway; few under Miri, which would take minutes.
const MANY: usize = if cfg!(miri) { 20 } else { 500 };

/// Runs in a separate thread, which postpones.
fn postponing(test: impl FnOnce() + Send + 'static) {
    let test = || {
        postpone();
        test();
        while take_down(1000) {}
    };
    thread::spawn(test).join().unwrap();
}

fn large() -> Gateway {
    let members = (0..MANY).map(|n| put_member("app", member(&format!("m{n}"), 1)));
    let routes = (0..MANY).map(|n| {
        let path = if n % 2 == 0 { format!("/r{n}/x") } else { "/same".into() };
        Op::Put(Resource::Route(route(&format!("r{n}"), "s", PathMatch::Exact(path))))
    });
    let first = [
        Op::Put(Resource::Site(site("s", &["h"]))),
        Op::Put(Resource::Upstream(upstream("app", Balance::Hash(HashKey::Uri)))),
    ];
    gateway(first.into_iter().chain(members).chain(routes))
}

#[test]
fn nothing_is_dropped_before_its_time_and_all_is_in_the_end() {
    postponing(|| {
        let mut before = large();
        while take_down(1000) {}
        let routes: Vec<_> = before.routes().map(Rc::downgrade).collect();
        let members: Vec<_> = before.upstream("app").unwrap().members().map(Rc::downgrade).collect();
        apply(&mut before, Op::Delete { kind: ResourceKind::Upstreams, id: "app".into() }).unwrap();
        drop(before);
        assert!(routes.iter().all(|route| route.strong_count() > 0));
        assert!(members.iter().all(|member| member.strong_count() > 0));
        let mut calls = 0;
        while take_down(1) {
            calls += 1;
            assert!(LEFT.with_borrow(Vec::len) < 1000);
        }
        assert!(calls > 2 * MANY && is_done());
        assert!(routes.iter().all(|route| route.strong_count() == 0));
        assert!(members.iter().all(|member| member.strong_count() == 0));
    });
}

#[test]
fn one_piece_is_few_resources() {
    postponing(|| {
        let routes: Vec<_> = {
            let gateway = large();
            while take_down(1000) {}
            gateway.routes().map(Rc::downgrade).collect()
        };
        let living = || routes.iter().filter(|route| route.strong_count() > 0).count();
        let mut before = living();
        while take_down(1) {
            let now = living();
            assert!(before - now <= 64, "{before} {now}");
            before = now;
        }
    });
}

#[test]
fn what_others_share_stays() {
    postponing(|| {
        let old = large();
        let mut new = old.clone();
        apply(&mut new, Op::Delete { kind: ResourceKind::Routes, id: "r0".into() }).unwrap();
        apply(&mut new, put_member("app", member("m0", 7))).unwrap();
        let digest = new.digest();
        drop(old);
        while take_down(3) {}
        assert_eq!((new.digest(), new.counts().routes, new.counts().members), (digest, MANY - 1, MANY));
        assert!(new.routes().all(|route| route.spec().site == "s"));
        assert_eq!(new.upstream("app").unwrap().members().filter(|member| member.weight() == 1).count(), MANY - 1);
    });
}

#[test]
fn who_does_not_postpone_drops_at_once() {
    let gateway = large();
    let route = Rc::downgrade(gateway.route_entry("r1").unwrap());
    drop(gateway);
    assert!(is_done() && route.strong_count() == 0);
}
