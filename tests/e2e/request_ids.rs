//! Request ids are unique UUIDv7 values; ids of clients are accepted only from trusted peers.

use std::collections::HashSet;

use weir_tests::origin::Echo;
use weir_tests::{Request, Setup};

const EMPTY: &str = "policies: [{id: p, rules: [{id: never, when: 'http.host eq \"never\"', action: block}]}]\n";
const SHOWN: &str = "add_header X-Id $weir_request_id always;";

/// Checks the form of RFC 9562, section 5.7, and returns the milliseconds.
fn time_of(id: &str) -> u64 {
    let groups: Vec<&str> = id.split('-').collect();
    assert_eq!(groups.iter().map(|group| group.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{id}");
    assert!(id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-')), "{id}");
    assert!(groups[2].starts_with('7') && matches!(groups[3].as_bytes()[0], b'8' | b'9' | b'a' | b'b'), "{id}");
    u64::from_str_radix(&[groups[0], groups[1]].concat(), 16).unwrap()
}

#[test]
fn ids_are_unique_uuids_of_the_time_of_the_request() {
    let nginx = Setup::policy(EMPTY).proxy(Echo::start()).server(SHOWN).start();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    let mut ids = HashSet::new();
    for _ in 0..100 {
        let mut connection = nginx.connect();
        for _ in 0..3 {
            let id = Request::get("/").send_on(&mut connection).header("x-id").unwrap().to_owned();
            assert!(time_of(&id).abs_diff(now) < 60_000, "{id} at {now}");
            ids.insert(id);
        }
    }
    assert_eq!(ids.len(), 300);
    let logged: HashSet<String> =
        nginx.accesses(300).iter().map(|line| line["request_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(logged, ids);
}

#[test]
fn inbound_ids_are_accepted_only_from_trusted_peers() {
    for (trusted, policy) in [(true, "127.0.0.1"), (false, "10.0.0.0/8")] {
        let text = format!("client_address: {{trusted: [{policy}]}}\n{EMPTY}");
        let setup = Setup::policy(&text).http("weir_request_id_header X-Request-Id trusted;");
        let nginx = setup.proxy(Echo::start()).server(SHOWN).start();
        let shown = |value: &str| {
            nginx.send(&Request::get("/").header("X-Request-Id", value)).header("x-id").unwrap().to_owned()
        };
        assert_eq!(shown("abc-123_X.y") == "abc-123_X.y", trusted);
        for bad in ["", "a b", "<script>", "\u{e4}", &"x".repeat(65)] {
            time_of(&shown(bad));
        }
        time_of(nginx.get("/").header("x-id").unwrap());
    }
}

#[test]
fn any_peer_is_believed_if_so_configured() {
    let nginx = Setup::policy(EMPTY)
        .http("weir_request_id_header X-Request-Id any;")
        .proxy(Echo::start())
        .server(SHOWN)
        .start();
    let response = nginx.send(&Request::get("/").header("X-Request-Id", "mine"));
    assert_eq!(response.header("x-id"), Some("mine"));
}
