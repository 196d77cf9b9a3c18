//! Lines: target, content type, cookie; then the body. Every variable of the transaction is
//! bounded and does not change when it is read again.
#![no_main]

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use weir_http::bound::MAX_ITEMS;
use weir_http::{Head, Header, Transaction, Version};

fuzz_target!(|bytes: &[u8]| {
    let mut lines = bytes.splitn(4, |byte| *byte == b'\n');
    let [target, kind, cookie, body] = [(); 4].map(|()| lines.next().unwrap_or_default());
    let headers = [Header::new(b"Content-Type", kind), Header::new(b"Cookie", cookie)];
    let address = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    let question = target.iter().position(|byte| *byte == b'?').unwrap_or(target.len());
    let head = Head {
        method: b"POST",
        target,
        path: &target[..question],
        query: target.get(question + 1..).unwrap_or_default(),
        version: Version::Http11,
        host: b"",
        headers: &headers,
        peer: address,
        peer_port: 1,
        client: address,
        server: address,
        server_port: 2,
        tls: None,
        received_ms: 0,
    };
    let arena = Bump::new();
    let transaction = Transaction::new(head, &arena);
    let early = transaction.all_anomalies();
    transaction.set_body(body);
    let read = || {
        let pairs = [transaction.arguments(), transaction.cookies(), transaction.form(), transaction.json()];
        let parts = (transaction.multipart(), transaction.xml(), transaction.mime(), transaction.extension());
        (pairs.map(<[_]>::as_ptr), parts.0.as_ptr(), parts.1.as_ptr(), parts.2.as_ptr(), parts.3.as_ptr())
    };
    let first = read();
    let all = transaction.all_anomalies();
    assert!(all.contains(early));
    assert_eq!(read(), first);
    assert_eq!(transaction.anomalies(), all);
    for pairs in [transaction.arguments(), transaction.cookies(), transaction.form(), transaction.json()] {
        assert!(pairs.len() <= MAX_ITEMS);
    }
    assert!(arena.allocated_bytes() <= 2 * 1024 * 1024 + 128 * bytes.len(), "linear in the input");
});
