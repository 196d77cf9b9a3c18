//! Any request to a rule set with every operator and transformation: filters and folding change
//! no outcome, and nothing panics.
//!
//! Lines: target, a header, content type, cookie, type of the answer, the answer; then the body.
//! The rules, the site and the comparison are those of `cargo test -p weir-engine --test rule_sets`.
#![no_main]
#![allow(dead_code)]

#[path = "../../crates/engine/tests/rule_sets/everything.rs"]
mod everything;
#[path = "../../crates/engine/tests/rule_sets/site.rs"]
mod site;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use site::{Answer, Request, Site};

fuzz_target!(|bytes: &[u8]| {
    static SITE: OnceLock<Site> = OnceLock::new();
    let site = SITE.get_or_init(everything::site);
    let mut lines = bytes.splitn(7, |byte| *byte == b'\n');
    let [target, header, kind, cookie, answer_kind, answer, body] = [(); 7].map(|()| lines.next().unwrap_or_default());
    let named = |name: &str, value: &[u8]| (name.to_owned(), value.to_vec());
    let request = Request {
        method: if body.is_empty() { "GET" } else { "POST" },
        target: target.to_vec(),
        headers: vec![named("Host", b"a"), named("Content-Type", kind), named("Cookie", cookie), named("X-A", header)],
        body: body.to_vec(),
        bounded: false,
        truncated: bytes.len() % 7 == 1,
        answer: (!answer_kind.is_empty()).then(|| Answer {
            status: 200,
            headers: vec![named("Content-Type", answer_kind)],
            body: answer.to_vec(),
        }),
    };
    site.see(&request);
});
