use weir_gateway::resource::{ActiveHealth, Balance, CheckKind, Resource, ResourceKind, UpstreamTls};

use super::*;

fn upstream(id: &str, interval_ms: Option<u64>) -> Op {
    let active = interval_ms.map(|interval_ms| ActiveHealth {
        kind: CheckKind::Tcp,
        interval_ms,
        timeout_ms: 1000,
        healthy: 2,
        unhealthy: 3,
    });
    let upstream = Upstream {
        id: id.to_owned(),
        balance: Balance::RoundRobin,
        protocol: Protocol::Http,
        keepalive: None,
        passive: None,
        active,
        tls: UpstreamTls::default(),
        host: HostHeader::Preserve,
        slow_start_ms: 0,
        resolve_every_ms: 10_000,
        fallback: None,
    };
    Op::Put(Resource::Upstream(upstream))
}

fn member(upstream: &str, id: &str, address: &str, weight: u32) -> Op {
    let member = Member {
        id: id.to_owned(),
        address: address.to_owned(),
        socket: address.parse().ok(),
        weight,
        backup: false,
        drain: false,
    };
    Op::Put(Resource::Member { upstream: upstream.to_owned(), member })
}

/// What a change means, as text: `u/a watch resolve check`.
fn told(targets: &mut Targets, op: &Op) -> Vec<String> {
    let line = |(key, command): (Key, Command)| {
        let what = match command {
            Command::Watch(work) => {
                let resolve = if work.resolve.is_some() { " resolve" } else { "" };
                let check = if work.check.is_some() { " check" } else { "" };
                format!("watch{resolve}{check}")
            }
            Command::Rest => "rest".to_owned(),
            Command::Forget => "forget".to_owned(),
        };
        format!("{}/{} {what}", key.upstream, key.member)
    };
    let mut lines: Vec<String> = targets.apply(op).into_iter().map(line).collect();
    lines.sort();
    lines
}

#[test]
fn only_what_matters_is_told() {
    let mut targets = Targets::default();
    let gone = |id: &str| Op::Delete { kind: ResourceKind::Members, id: format!("u/{id}") };
    let steps: [(Op, &[&str]); 14] = [
        (upstream("u", None), &[]),
        (member("u", "a", "192.0.2.1:80", 1), &["u/a rest"]),
        (member("u", "a", "192.0.2.1:80", 2), &[]),
        (member("u", "n", "app.internal:80", 1), &["u/n watch resolve"]),
        (upstream("u", Some(1000)), &["u/a watch check", "u/n watch resolve check"]),
        (upstream("u", Some(1000)), &[]),
        (member("u", "a", "192.0.2.1:80", 3), &[]),
        (member("u", "a", "192.0.2.9:80", 3), &["u/a watch check"]),
        (upstream("u", Some(2000)), &["u/a watch check", "u/n watch resolve check"]),
        (upstream("u", None), &["u/a rest", "u/n watch resolve"]),
        (gone("a"), &["u/a forget"]),
        (gone("a"), &[]),
        (Op::Delete { kind: ResourceKind::Upstreams, id: "u".to_owned() }, &["u/n forget"]),
        (Op::Delete { kind: ResourceKind::Upstreams, id: "u".to_owned() }, &[]),
    ];
    for (number, (op, expected)) in steps.into_iter().enumerate() {
        assert_eq!(told(&mut targets, &op), expected, "step {number}: {op:?}");
    }
}

#[test]
fn a_member_may_come_before_its_upstream() {
    let mut targets = Targets::default();
    assert_eq!(told(&mut targets, &member("u", "a", "192.0.2.1:80", 1)), ["u/a rest"]);
    assert_eq!(told(&mut targets, &upstream("u", Some(1000))), ["u/a watch check"]);
}
