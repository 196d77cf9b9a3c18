//! A question and an inspector for tests.

use crate::Question;
use crate::breaker::Limits;
use crate::inspector::{Fail, Inspector, Mode, Protocol, Secret, SentHeaders};

/// A request that posts a cart.
pub fn question() -> Question<'static> {
    Question {
        detector: "test",
        tenant: "",
        request_id: b"r1",
        client: [192, 0, 2, 7].into(),
        method: b"POST",
        scheme: b"https",
        host: b"shop.example",
        authority: b"shop.example:8443",
        target: b"/cart?x=1",
        path: b"/cart",
        protocol: b"HTTP/1.1",
        headers: vec![(b"Host", b"shop.example"), (b"Cookie", b"a=b")],
        body: b"",
        body_bytes: 0,
        findings: Vec::new(),
        score: 0,
        tags: &[],
        tls: Vec::new(),
        consumer: "",
        deadline_ms: 20,
    }
}

/// An inspector with the defaults.
pub fn inspector(protocol: Protocol) -> Inspector {
    Inspector {
        id: "test".into(),
        protocol,
        endpoints: vec!["127.0.0.1:1".into()],
        tls: None,
        path: "/".into(),
        token: Secret::default(),
        deadline_ms: 20,
        fail: Fail::Open,
        mode: Mode::Enforce,
        headers: SentHeaders::All,
        body_bytes: 0,
        sets: Vec::new(),
        sample: 10_000,
        remember_ms: 0,
        skips: Vec::new(),
        breaker: Limits { share: 5000, least: 20, open_ms: 5000 },
    }
}
