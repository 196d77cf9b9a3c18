//! Rate limits are exact over all workers, reported to the client, and bounded in memory.

use std::collections::{HashMap, HashSet};
use std::thread;

use weir_tests::origin::Echo;
use weir_tests::{Request, Setup, port};

/// A hundred requests at once, and one more every 36 seconds, which is longer than a test.
const HUNDRED: &str = r#"
policies:
  - id: p
    rules:
      - {id: hundred, when: 'true', action: {rate_limit: {key: 'http.request.headers["x-key"][0]', rate: 100/h}}}
"#;

/// Statuses of `count` requests from each of `clients` concurrently, each on its own connection.
fn storm(port: u16, clients: usize, count: usize, request: &Request) -> HashMap<u16, usize> {
    let statuses: Vec<u16> = thread::scope(|scope| {
        let client = || (0..count).map(|_| request.send(port).status).collect::<Vec<_>>();
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    statuses.into_iter().fold(HashMap::new(), |mut sum, status| {
        *sum.entry(status).or_default() += 1;
        sum
    })
}

#[test]
fn a_limit_is_exact_across_workers_under_parallel_load() {
    let mut nginx = Setup::policy(HUNDRED).proxy(Echo::start()).start();
    let counts = storm(nginx.port, 8, 40, &Request::get("/").header("X-Key", "a"));
    assert_eq!(counts, HashMap::from([(200, 100), (429, 220)]));
    assert_eq!(nginx.send(&Request::get("/").header("X-Key", "b")).status, 200, "another key has its own bucket");
    nginx.stop();
    let pids: HashSet<i64> = nginx.accesses(321).iter().map(|line| line["pid"].as_i64().unwrap()).collect();
    assert_eq!(pids.len(), 2, "both workers took part");
}

#[test]
fn an_answer_over_the_limit_says_when_to_retry() {
    let text = r#"
policies:
  - id: p
    rules:
      - {id: two, when: 'true', action: {rate_limit: {key: ip.src, rate: 2/m, body: slow down}}}
"#;
    let nginx = Setup::policy(text).proxy(Echo::start()).start();
    let statuses: Vec<u16> = (0..3).map(|_| nginx.get("/").status).collect();
    assert_eq!(statuses, [200, 200, 429]);
    let refused = nginx.get("/");
    assert_eq!((refused.status, refused.text().as_str()), (429, "slow down"));
    let wait: u64 = refused.header("retry-after").expect("Retry-After").parse().unwrap();
    assert!((1..=30).contains(&wait), "{wait}");
    let policy = refused.header("ratelimit-policy").expect("RateLimit-Policy");
    assert!(policy.contains("q=2") && policy.contains("w=60"), "{policy}");
    let limit = refused.header("ratelimit").expect("RateLimit");
    assert!(limit.contains("r=0"), "{limit}");
    let lines = nginx.attacks(2);
    assert_eq!(lines[0]["rule_ids"], serde_json::json!(["two"]));
    assert_eq!(lines[0]["status"], 429);
    assert_eq!(lines[0]["findings"][0]["key"], "ip:127.0.0.1");
}

#[test]
fn a_limit_recovers_with_time() {
    let text = HUNDRED.replace("100/h", "20/s, burst: 0");
    let nginx = Setup::policy(&text).proxy(Echo::start()).start();
    let mut connection = nginx.connect();
    let request = Request::get("/").header("X-Key", "a");
    assert_eq!(request.send_on(&mut connection).status, 200);
    thread::sleep(std::time::Duration::from_millis(60));
    assert_eq!(request.send_on(&mut connection).status, 200);
}

#[test]
fn counts_survive_a_reload_and_the_loss_of_a_worker() {
    let nginx = Setup::policy(HUNDRED).proxy(Echo::start()).start();
    let request = Request::get("/").header("X-Key", "a");
    assert_eq!(storm(nginx.port, 2, 50, &request), HashMap::from([(200, 100)]));
    nginx.reload();
    assert_eq!(nginx.send(&request).status, 429);
    // A worker that is killed takes its unwritten lines along.
    let _ = nginx.attacks(1);
    nginx.kill_worker();
    assert_eq!(nginx.send(&request).status, 429);
    let keys: HashSet<String> =
        nginx.attacks(2).iter().map(|line| line["findings"][0]["key"].as_str().unwrap().to_owned()).collect();
    assert_eq!(keys.len(), 1, "the secret of the hash is kept as well: {keys:?}");
    assert!(keys.iter().all(|key| key.starts_with("hash:") && key.len() == 21), "{keys:?}");
}

#[test]
fn detect_mode_counts_and_logs_without_blocking() {
    let text = HUNDRED.replace("100/h", "1/h");
    let nginx = Setup::policy(&text).server("weir detect;").proxy(Echo::start()).start();
    assert_eq!(storm(nginx.port, 1, 3, &Request::get("/").header("X-Key", "a")), HashMap::from([(200, 3)]));
    assert_eq!(nginx.attacks(2)[0]["action"], "detect");
}

#[test]
fn excess_keys_evict_others_and_never_fail() {
    let text = HUNDRED.replace("http.request.headers[\"x-key\"][0]", "http.request.uri.query").replace("100/h", "1/h");
    let nginx = Setup::policy(&text).http("weir_rate_limit_zone 64k;").server("location / { return 204; }").start();
    let mut connection = nginx.connect();
    for key in 0..5000 {
        let status = Request::get(&format!("/?{key}")).send_on(&mut connection).status;
        assert!(matches!(status, 200 | 204), "key {key}: {status}");
        if status == 200 || key % 900 == 899 {
            connection = nginx.connect(); // keepalive_requests is 1000
        }
    }
    assert!(nginx.crashes().is_empty());
}

#[test]
fn two_servers_share_a_limit_of_one_policy() {
    let other = port::free();
    let setup = Setup::policy(&HUNDRED.replace("100/h", "1/h")).proxy(Echo::start());
    let nginx = setup.http(&format!("server {{ listen 127.0.0.1:{other}; location / {{ return 204; }} }}")).start();
    let request = Request::get("/").header("X-Key", "a");
    assert_eq!(nginx.send(&request).status, 200);
    assert_eq!(request.send(other).status, 429);
}
