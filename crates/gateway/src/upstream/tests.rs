use std::collections::HashMap;

use super::*;
use crate::{
    Gateway, Outcome,
    op::Op,
    resource::{HashKey, Resource},
    testing::{self, apply, gateway, member, put_member, upstream},
};

const CHOICE: Choice<'_> = Choice { now_ms: 0, key: None, random: 0, tried: &[] };

fn random(n: u64) -> u64 {
    crate::digest::pair(n, 99)
}

/// A gateway with the upstream `app` of members m0, m1, ... of these weights.
fn app(balance: Balance, weights: &[u32]) -> Gateway {
    let members = weights.iter().enumerate().map(|(n, weight)| put_member("app", member(&format!("m{n}"), *weight)));
    gateway([Op::Put(Resource::Upstream(upstream("app", balance)))].into_iter().chain(members))
}

fn pick(gateway: &Gateway, n: u64) -> String {
    let choice = Choice { random: random(n), key: Some(random(n + 1)), ..CHOICE };
    gateway.pick("app", &choice).unwrap().spec().id.clone()
}

fn counts(gateway: &Gateway, picks: u64) -> HashMap<String, i64> {
    let mut counts = HashMap::new();
    (0..picks).for_each(|n| *counts.entry(pick(gateway, n)).or_default() += 1);
    counts
}

#[test]
fn round_robin_is_exact_to_a_few_requests() {
    for weights in [vec![1, 1], vec![1, 2, 3], vec![1; 100], vec![95, 5], vec![1000, 1, 0], (1..200).collect()] {
        let total: u32 = weights.iter().sum();
        let rounds = 20;
        let counts = counts(&app(Balance::RoundRobin, &weights), u64::from(total) * rounds);
        for (n, weight) in weights.iter().enumerate() {
            let off = counts.get(&format!("m{n}")).copied().unwrap_or_default() - i64::from(*weight) * rounds as i64;
            assert!(off.abs() <= 5, "{} members, m{n} of weight {weight}: off by {off}", weights.len());
        }
    }
}

#[test]
fn round_robin_goes_on_through_changes() {
    let mut app = app(Balance::RoundRobin, &[1, 1, 1, 1]);
    let mut counts = HashMap::<String, i64>::new();
    for n in 0..1000 {
        *counts.entry(pick(&app, n)).or_default() += 1;
        apply(&mut app, put_member("app", member("m1", 1 + n as u32 % 2))).unwrap();
        apply(&mut app, put_member("app", member("m1", 1))).unwrap();
    }
    assert!(counts.values().all(|count| (245..=255).contains(count)), "{counts:?}");
}

#[test]
fn least_connections_takes_the_idlest_for_its_weight() {
    for size in [4, 32] {
        let app = app(Balance::LeastConnections, &vec![2; size]);
        let all = app.upstream("app").unwrap();
        for (n, member) in all.members().enumerate() {
            (0..n + 1).for_each(|_| member.state().begin());
        }
        let least = all.members().min_by_key(|member| member.state().active()).unwrap().spec().id.clone();
        assert!((0..100).all(|n| pick(&app, n) == least));
    }
}

#[test]
fn least_connections_evens_out_many() {
    let app = app(Balance::LeastConnections, &[1; 1000]);
    for n in 0..10_000 {
        app.pick("app", &Choice { random: random(n), ..CHOICE }).unwrap().state().begin();
    }
    let most = app.upstream("app").unwrap().members().map(|member| member.state().active()).max();
    assert!(most <= Some(12), "{most:?}");
}

#[test]
fn equals_share() {
    for balance in [Balance::LeastConnections, Balance::Ewma] {
        let counts = counts(&app(balance, &[1; 4]), 4000);
        assert!(counts.values().all(|count| (850..1150).contains(count)), "{counts:?}");
    }
}

#[test]
fn ewma_avoids_the_slow() {
    let app = app(Balance::Ewma, &[1; 3]);
    for (member, latency) in app.upstream("app").unwrap().members().zip([50_000, 900, 60_000]) {
        member.state().begin();
        member.state().finish(0, latency, Outcome::Success, None);
    }
    assert_eq!(counts(&app, 100).len(), 1);
}

#[test]
fn hashing_keeps_a_key() {
    let mut app = app(Balance::Hash(HashKey::Ip), &[1; 20]);
    let before: Vec<_> = (0..500).map(|n| pick(&app, n)).collect();
    apply(&mut app, Op::Health { upstream: "app".into(), member: "m3".into(), healthy: false }).unwrap();
    for (n, was) in before.iter().enumerate() {
        let now = pick(&app, n as u64);
        assert!(if was == "m3" { now != "m3" } else { now == *was }, "{was} → {now}");
    }
    apply(&mut app, Op::Health { upstream: "app".into(), member: "m3".into(), healthy: true }).unwrap();
    assert_eq!((0..500).map(|n| pick(&app, n)).collect::<Vec<_>>(), before);
}

#[test]
fn hashing_may_come_and_go() {
    let mut switched = app(Balance::RoundRobin, &[1, 2, 3, 0]);
    apply(&mut switched, Op::Put(Resource::Upstream(upstream("app", Balance::Hash(HashKey::Uri))))).unwrap();
    let hashed = app(Balance::Hash(HashKey::Uri), &[1, 2, 3, 0]);
    assert!((0..500).all(|n| pick(&hashed, n) == pick(&switched, n)));
    apply(&mut switched, Op::Put(Resource::Upstream(upstream("app", Balance::RoundRobin)))).unwrap();
    assert_eq!(counts(&switched, 600).len(), 3);
}

#[test]
fn who_is_out_is_never_picked() {
    type TakeOut = (&'static str, fn(&mut Gateway));
    let out: [TakeOut; 5] = [
        ("weight", |app| apply(app, put_member("app", member("m1", 0))).unwrap()),
        ("drain", |app| {
            let drained = resource::Member { drain: true, ..member("m1", 1) };
            apply(app, put_member("app", drained)).unwrap();
        }),
        ("health", |app| {
            apply(app, Op::Health { upstream: "app".into(), member: "m1".into(), healthy: false }).unwrap();
        }),
        ("unresolved", |app| {
            let name = resource::Member { socket: None, address: "app.internal:80".into(), ..member("m1", 1) };
            apply(app, put_member("app", name)).unwrap();
        }),
        ("ejected", |app| assert!(app.eject("app", "m1", 5))),
    ];
    for balance in [Balance::RoundRobin, Balance::LeastConnections, Balance::Ewma, Balance::Hash(HashKey::Ip)] {
        for (what, take_out) in out {
            for size in [3, 50] {
                let mut app = app(balance.clone(), &vec![1; size]);
                take_out(&mut app);
                assert!(!counts(&app, 1000).contains_key("m1"), "{balance:?}, {what}, {size}");
            }
        }
    }
}

#[test]
fn tried_members_are_avoided_while_there_are_others() {
    for balance in [Balance::RoundRobin, Balance::LeastConnections, Balance::Ewma, Balance::Hash(HashKey::Ip)] {
        let app = app(balance, &[1000, 1, 1, 1]);
        for n in 0..200 {
            let mut tried = Vec::new();
            for _ in 0..4 {
                let choice = Choice { random: random(n), key: Some(random(n)), tried: &tried, ..CHOICE };
                let identity = app.pick("app", &choice).unwrap().identity();
                assert!(!tried.contains(&identity));
                tried.push(identity);
            }
            let last = app.pick("app", &Choice { tried: &tried, ..CHOICE });
            assert_eq!(last.unwrap_err(), Unavailable::AllTried);
        }
    }
}

#[test]
fn backups_then_fallback_then_none() {
    let with_fallback =
        |id: &str, to: &str| resource::Upstream { fallback: Some(to.into()), ..upstream(id, Balance::RoundRobin) };
    let backup = resource::Member { backup: true, ..member("b", 1) };
    let mut app = gateway([
        Op::Put(Resource::Upstream(with_fallback("app", "other"))),
        Op::Put(Resource::Upstream(with_fallback("other", "app"))),
        put_member("app", member("a", 1)),
        put_member("app", backup),
        put_member("other", member("o", 1)),
    ]);
    let mut sick = |upstream: &str, id: &str| {
        let expected = pick(&app, 1);
        apply(&mut app, Op::Health { upstream: upstream.into(), member: id.into(), healthy: false }).unwrap();
        expected
    };
    assert_eq!([sick("app", "a"), sick("app", "b"), sick("other", "o")], ["a", "b", "o"]);
    assert_eq!(app.pick("app", &CHOICE).unwrap_err(), Unavailable::NoMember);
    assert_eq!(app.pick("none", &CHOICE).unwrap_err(), Unavailable::NoUpstream);
}

#[test]
fn the_last_one_is_not_ejected() {
    let mut app = app(Balance::RoundRobin, &[1, 1]);
    assert!(app.eject("app", "m0", 100));
    assert!(!app.eject("app", "m1", 100), "the last");
    assert_eq!(pick(&app, 1), "m1");
    assert!(app.readmit("app", "m0"));
    assert_eq!(counts(&app, 100).len(), 2);
    assert!(!app.eject("app", "none", 100) && !app.eject("none", "m1", 100));
}

#[test]
fn slow_start_lets_few_through() {
    for balance in [Balance::RoundRobin, Balance::LeastConnections] {
        let slow = resource::Upstream { slow_start_ms: 1000, ..upstream("app", balance) };
        let mut app = gateway([Op::Put(Resource::Upstream(slow)), put_member("app", member("old", 1))]);
        app.pick("app", &CHOICE).unwrap();
        apply(&mut app, put_member("app", member("new", 1))).unwrap();
        let share = |now_ms| {
            let picks = (0..2000).map(|n| app.pick("app", &Choice { now_ms, random: random(n), ..CHOICE }).unwrap());
            picks
                .filter(|picked| {
                    picked.state().begin();
                    picked.spec().id == "new"
                })
                .count()
        };
        let shares = [share(5000), share(5500), share(9000)];
        app.upstream("app").unwrap().members().for_each(|member| {
            while member.state().active() > 0 {
                member.state().finish(0, 0, Outcome::Unknown, None);
            }
        });
        assert!(shares[0] < 400 && shares[0] > 20, "{shares:?}");
        assert!(shares[0] < shares[1] && shares[1] < shares[2], "{shares:?}");
    }
}

#[test]
fn state_survives_changes_of_the_same_server() {
    let mut app = app(Balance::RoundRobin, &[1, 1]);
    let state = |app: &Gateway| app.upstream("app").unwrap().member("m0").unwrap().state().clone();
    let first = state(&app);
    first.begin();
    apply(&mut app, put_member("app", member("m0", 7))).unwrap();
    apply(&mut app, Op::Put(Resource::Upstream(upstream("app", Balance::Ewma)))).unwrap();
    apply(&mut app, put_member("app", resource::Member { backup: true, ..member("m0", 7) })).unwrap();
    assert!(Rc::ptr_eq(&first, &state(&app)));
    let moved = testing::member("elsewhere", 1);
    apply(&mut app, put_member("app", resource::Member { id: "m0".into(), ..moved })).unwrap();
    assert!(!Rc::ptr_eq(&first, &state(&app)));
}

#[test]
fn names_get_and_keep_their_addresses() {
    let name = || resource::Member { socket: None, address: "app.internal:80".into(), ..member("n", 1) };
    let addresses = vec![([192, 0, 2, 7], 80).into(), ([192, 0, 2, 8], 80).into()];
    let resolved = Op::Addresses { upstream: "app".into(), member: "n".into(), addresses: addresses.clone() };
    let mut app = gateway([
        Op::Put(Resource::Upstream(upstream("app", Balance::RoundRobin))),
        put_member("app", name()),
        resolved,
        put_member("app", resource::Member { weight: 5, ..name() }),
    ]);
    let picked = app.pick("app", &CHOICE).unwrap();
    assert_eq!((picked.addresses(), picked.address(3)), (&addresses[..], Some(addresses[1])));
    apply(&mut app, Op::Addresses { upstream: "app".into(), member: "n".into(), addresses: vec![] }).unwrap();
    assert!(app.pick("app", &CHOICE).is_err());
}
