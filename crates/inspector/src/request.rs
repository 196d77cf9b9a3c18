//! A question as the transaction that rules read, as `crates/nginx` makes one of nginx's request.

use std::net::{IpAddr, Ipv4Addr};

use bumpalo::Bump;
use weir_http::path::normalise;
use weir_http::{Anomalies, Head, Header, Tls, Transaction, Version, uri};
use weir_inspect::own::ReceivedQuestion;

/// Names of protocol versions, as `$server_protocol` has them.
const VERSIONS: [Version; 5] = [Version::Http09, Version::Http10, Version::Http11, Version::Http2, Version::Http3];

/// The transaction; nothing without a client's address.
pub(crate) fn transaction<'a>(question: &'a ReceivedQuestion, now_ms: u64, arena: &'a Bump) -> Option<Transaction<'a>> {
    let client = question.client?;
    let fields: Vec<_> = question.headers.iter().map(|(name, value)| Header::new(name, value)).collect();
    let headers: &'a [Header<'a>] = arena.alloc_slice_fill_iter(fields);
    let query = question.target.iter().position(|byte| *byte == b'?').map_or(&b""[..], |at| &question.target[at + 1..]);
    let is_tls = question.scheme == b"https";
    let transaction = Transaction::new(
        Head {
            method: &question.method,
            target: &question.target,
            path: match &question.path[..] {
                [] => arena.alloc_slice_copy(&normalise(&question.target).path),
                path => path,
            },
            query,
            version: version(&question.protocol),
            host: arena.alloc_slice_copy(&uri::host_name(&question.host).to_ascii_lowercase()),
            headers,
            peer: client,
            peer_port: 0,
            client,
            server: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            server_port: if is_tls { 443 } else { 80 },
            tls: is_tls.then(|| tls(question)),
            received_ms: now_ms,
        },
        arena,
    );
    if question.target.contains(&b'#') {
        transaction.flag(Anomalies::INVALID_TARGET);
    }
    transaction.flag(transaction.head.host_anomalies());
    Some(transaction)
}

fn version(name: &[u8]) -> Version {
    VERSIONS.into_iter().find(|version| version.as_bytes() == name).unwrap_or(Version::Http11)
}

fn tls(question: &ReceivedQuestion) -> Tls<'_> {
    let fact = |name: &str| {
        question.tls.iter().find(|(known, _)| known == name).map(|(_, value)| &value[..]).unwrap_or_default()
    };
    Tls { version: fact("version"), cipher: fact("cipher"), server_name: fact("sni"), client_certificate: None }
}

/// Gives the body to the transaction, if there is one: all of it, its beginning, or that it was not sent.
pub(crate) fn give_body<'a>(question: &'a ReceivedQuestion, inflate_to: Option<usize>, transaction: &Transaction<'a>) {
    if question.body_bytes > question.body.len() as u64 {
        transaction.set_body_truncated();
    }
    if question.body.is_empty() {
        return;
    }
    match inflate_to {
        Some(limit) => transaction.set_body_inflated(&question.body, limit),
        None => transaction.set_body(&question.body),
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}
