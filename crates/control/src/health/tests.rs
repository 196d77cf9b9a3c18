use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use weir_gateway::resource::{
    ActiveHealth, Balance, CheckKind, HostHeader, Member, Protocol, Resource, Upstream, UpstreamTls,
};

use super::*;
use crate::metrics::HealthCounts;

struct Scene {
    supervisor: Supervisor,
    findings: mpsc::Receiver<Op>,
    metrics: Arc<Metrics>,
}

impl Scene {
    fn new() -> Self {
        let metrics = Arc::new(Metrics::new());
        let (output, findings) = mpsc::channel(4);
        Self { supervisor: start(output, Arc::clone(&metrics)).unwrap(), findings, metrics }
    }

    fn upstream(&mut self, checked: bool) {
        self.upstream_of(checked.then_some((20, 200)));
    }

    /// An upstream; `check`: interval and timeout in milliseconds.
    fn upstream_of(&mut self, check: Option<(u64, u64)>) {
        let active = check.map(|(interval_ms, timeout_ms)| ActiveHealth {
            kind: CheckKind::Tcp,
            interval_ms,
            timeout_ms,
            healthy: 2,
            unhealthy: 2,
        });
        let upstream = Upstream {
            id: "u".to_owned(),
            balance: Balance::RoundRobin,
            protocol: Protocol::Http,
            keepalive: None,
            passive: None,
            active,
            tls: UpstreamTls::default(),
            host: HostHeader::Preserve,
            slow_start_ms: 0,
            resolve_every_ms: 1000,
            fallback: None,
        };
        self.supervisor.tell(&Op::Put(Resource::Upstream(upstream)));
    }

    fn member(&mut self, id: &str, address: &str) {
        let (id, address, socket) = (id.to_owned(), address.to_owned(), address.parse().ok());
        let member = Member { id, address, socket, weight: 1, backup: false, drain: false };
        self.supervisor.tell(&Op::Put(Resource::Member { upstream: "u".to_owned(), member }));
    }

    async fn next(&mut self) -> Op {
        tokio::time::timeout(Duration::from_secs(30), self.findings.recv()).await.unwrap().unwrap()
    }

    async fn nothing_for(&mut self, time: Duration) {
        let found = tokio::time::timeout(time, self.findings.recv()).await;
        assert!(found.is_err(), "{found:?}");
    }

    fn counts(&self) -> Option<HealthCounts> {
        self.metrics.health_counts().get("u").copied()
    }
}

fn health(member: &str, healthy: bool) -> Op {
    Op::Health { upstream: "u".to_owned(), member: member.to_owned(), healthy }
}

#[tokio::test]
async fn a_member_that_goes_and_comes_back_is_two_messages() {
    let mut scene = Scene::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    scene.upstream(true);
    scene.member("a", &address.to_string());
    assert_eq!(scene.next().await, health("a", true));
    scene.nothing_for(Duration::from_millis(150)).await;
    drop(listener);
    assert_eq!(scene.next().await, health("a", false));
    assert_eq!(scene.counts(), Some(HealthCounts { healthy: 0, unhealthy: 1, unknown: 0 }));
    let _listener = TcpListener::bind(address).await.unwrap();
    assert_eq!(scene.next().await, health("a", true));
    scene.nothing_for(Duration::from_millis(150)).await;
}

#[tokio::test]
async fn members_that_are_not_checked_any_more_count_as_well() {
    let mut scene = Scene::new();
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    scene.upstream(true);
    scene.member("a", &closed.to_string());
    assert_eq!(scene.next().await, health("a", false));
    scene.upstream(false);
    assert_eq!(scene.next().await, health("a", true));
    assert_eq!(scene.counts(), None);
    scene.nothing_for(Duration::from_millis(150)).await;
}

#[tokio::test]
async fn names_are_resolved_once_as_long_as_they_do_not_change() {
    let mut scene = Scene::new();
    scene.upstream(false);
    scene.member("a", "localhost:81");
    let Op::Addresses { upstream, member, addresses } = scene.next().await else { panic!("no addresses") };
    assert_eq!((upstream.as_str(), member.as_str()), ("u", "a"));
    assert!(addresses.contains(&SocketAddr::from(([127, 0, 0, 1], 81))), "{addresses:?}");
    scene.nothing_for(Duration::from_millis(1500)).await;
    assert!(scene.metrics.dns_lookups.get() >= 2);
    scene.member("b", "no-such-name.invalid:81");
    scene.nothing_for(Duration::from_millis(300)).await;
    assert!(scene.metrics.dns_failures.get() >= 1);
}

#[tokio::test]
async fn a_thousand_members_are_checked_while_nobody_reads() {
    let mut scene = Scene::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    // A thousand connections at once overflow the listener's queue, and the kernel tries again after a second.
    scene.upstream_of(Some((200, 10_000)));
    for number in 0..1000 {
        scene.member(&number.to_string(), &address);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut seen = std::collections::HashSet::new();
    while seen.len() < 1000 {
        let Op::Health { member, healthy: true, .. } = scene.next().await else { panic!("not well") };
        assert!(seen.insert(member));
    }
}

#[tokio::test]
async fn dropping_the_supervisor_ends_its_thread() {
    let mut scene = Scene::new();
    drop(scene.supervisor);
    assert_eq!(tokio::time::timeout(Duration::from_secs(5), scene.findings.recv()).await.unwrap(), None);
}
