//! Counters that two services share, and what they do when the server goes away and comes back.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use weir_inspect::{Advice, Question};

use crate::client::{Client, PATIENCE, Running, get, start};

struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts a server on that port.
    fn start(port: u16, folder: &Path) -> Self {
        let command = ["redis-server", "valkey-server"].into_iter().find_map(|name| {
            let mut command = Command::new(name);
            command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
            command.arg("--dir").arg(folder).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().ok()
        });
        let child = command.expect("redis-server or valkey-server is installed: `make setup`");
        let server = Self { child, port };
        let begun = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < PATIENCE, "the server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn service(port: u16, folder: &Path) -> Running {
    let text = format!(
        r#"detectors:
  limit:
    kind: counters
    redis: {{url: "redis://127.0.0.1:{port}", timeout: 2s}}
    limits:
      - {{id: all, rate: 50/d, key: ip.src}}
      - {{id: users, rate: 3/d, key: 'http.host', distinct: 'http.request.headers["x-user"][0]', when: 'http.request.uri.path eq "/users"'}}
"#
    );
    start(&text, folder)
}

fn wait_for(service: &Running, line: &str) {
    let begun = Instant::now();
    while !service.metrics().contains(line) {
        assert!(begun.elapsed() < PATIENCE, "{line}\n{}", service.metrics());
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn passes(client: &mut Client, question: &Question<'_>, times: u32) -> u32 {
    (0..times).map(|_| u32::from(client.ask(question).advice == Advice::Pass)).sum()
}

const UP: &str = r#"weir_inspector_redis_up{detector="limit"} 1"#;
const DOWN: &str = r#"weir_inspector_redis_up{detector="limit"} 0"#;

#[test]
fn two_services_count_as_one_and_go_on_alone() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(free_port(), folder.path());
    let services = [service(server.port, folder.path()), service(server.port, folder.path())];
    services.iter().for_each(|service| wait_for(service, UP));
    // Four clients of two services at once: exactly 50 pass.
    let passed: u32 = std::thread::scope(|scope| {
        let asking: Vec<_> = services
            .iter()
            .cycle()
            .take(4)
            .map(|service| scope.spawn(move || passes(&mut service.client(), &get("limit", "/"), 40)))
            .collect();
        asking.into_iter().map(|asking| asking.join().unwrap()).sum()
    });
    assert_eq!(passed, 50);
    let mut client = services[0].client();
    let refused = client.ask(&get("limit", "/"));
    assert_eq!((refused.advice, refused.status), (Advice::Refuse, 429));
    assert!(refused.reason.starts_with("all: 161 in 86400 s, at most 50"), "{}", refused.reason);
    // Distinct values, from both.
    let mut other = services[1].client();
    let user = |name: &'static [u8]| {
        let mut question = get("limit", "/users");
        question.client = [192, 0, 2, name[0]].into();
        question.headers.push((b"X-User", name));
        question
    };
    for (name, advice) in
        [(b"a", Advice::Pass), (b"b", Advice::Pass), (b"a", Advice::Pass), (b"c", Advice::Pass), (b"d", Advice::Refuse)]
    {
        assert_eq!(other.ask(&user(name)).advice, advice, "{name:?}");
    }
    assert_eq!(client.ask(&user(b"e")).advice, Advice::Refuse);
    // Without the server each goes on with what it has seen itself: 81 and 80 requests.
    let port = server.port;
    drop(server);
    assert_eq!(passes(&mut client, &get("limit", "/"), 3), 0);
    wait_for(&services[0], DOWN);
    let mut question = get("limit", "/");
    question.client = [198, 51, 100, 1].into();
    assert_eq!(passes(&mut client, &question, 60), 50, "counted in memory");
    let fallbacks = services[0].metrics();
    assert!(fallbacks.contains("weir_inspector_redis_fallbacks_total{detector=\"limit\"} 6"), "{fallbacks}");
    // It comes back.
    let _server = Server::start(port, folder.path());
    wait_for(&services[0], UP);
    assert_eq!(passes(&mut client, &get("limit", "/"), 51), 50, "a new server has counted nothing");
}

#[test]
fn a_service_starts_without_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let service = service(free_port(), folder.path());
    assert_eq!(passes(&mut service.client(), &get("limit", "/"), 60), 50);
    assert!(service.metrics().contains(DOWN));
}
