//! No text, however broken, makes the loader panic or point outside of the file.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use proptest::prelude::*;
use weir_policy::Snapshot;
use weir_resource::{ResourceKind, check, parse_state};

/// Documents of the API.
const DOCUMENTS: [(ResourceKind, &str); 4] = [
    (
        ResourceKind::Routes,
        r#"{"site": "s", "path": {"template": "/a/{b}"}, "methods": ["GET"], "headers": {"a": {"one_of": ["b"]}}, "split": [{"upstream": "u", "weight": 5}], "timeouts": {"read": "5s"}, "body_limit": "1m", "rewrite": {"regex": "a", "to": "/b"}}"#,
    ),
    (
        ResourceKind::Upstreams,
        r#"{"members": {"a": "10.0.0.1:80", "b": {"address": "[::1]:80", "weight": 2}}, "keepalive": {"idle": "1m"}, "health": {"active": {"http": {"path": "/", "expect": "200-299"}}}}"#,
    ),
    (ResourceKind::Sites, r#"{"hosts": ["a.b", "*.c", "*"], "tls": {"min_version": "1.3"}}"#),
    (
        ResourceKind::Certificates,
        r#"{"certificate": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "key": "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----"}"#,
    ),
];

/// Faults stand in the document, or there are none.
fn see(kind: ResourceKind, text: &[u8]) {
    let Err(faults) = check(kind, "x", text) else { return };
    let value: Option<serde_json::Value> = serde_json::from_slice(text).ok();
    for fault in faults {
        assert!(!fault.message.is_empty());
        // Of a key that is given twice, only one is left in `value`.
        let holder = fault.pointer.rsplit_once('/').map_or("", |(holder, _)| holder);
        assert!(value.as_ref().is_none_or(|value| value.pointer(holder).is_some()), "{fault:?}");
    }
}

const SEEDS: [&str; 3] = [
    include_str!("../../../examples/demo.yaml"),
    include_str!("../../../examples/minimal.yaml"),
    r#"{"lists": {"a": {"strings": ["x"]}}, "policies": [{"id": "p", "rules": [{"id": "a", "when": "http.host in $a", "actions": [{"block": {"status": 404}}]}]}]}"#,
];

fn load(text: &str) {
    for name in ["p.yaml", "p.json"] {
        let Err(errors) = Snapshot::parse(text, Path::new(name)) else { continue };
        assert!(!errors.errors().is_empty());
        let lines: Vec<&str> = text.trim_start_matches('\u{feff}').split('\n').collect();
        for error in errors.errors() {
            // A lone carriage return ends a line too.
            let carriages = text.matches('\r').count();
            assert!(error.line as usize <= lines.len() + carriages, "{error}");
            assert!(!error.to_string().contains('\u{1b}'), "{error}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_is_a_policy_or_an_error(text in "\\PC{0,200}") {
        load(&text);
    }

    #[test]
    fn any_bytes_are_a_document_or_faults(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        ResourceKind::ALL.into_iter().for_each(|kind| see(kind, &bytes));
        let _ = parse_state(&String::from_utf8_lossy(&bytes), Path::new("s.yaml"));
    }

    #[test]
    fn broken_documents_are_faults(seed in 0..DOCUMENTS.len(), edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..6, "\\PC{0,3}|[0-9\"{}\\[\\]:,]{0,3}|null|-1|\"a\""), 1..4)) {
        let (kind, text) = DOCUMENTS[seed];
        let mut text: Vec<char> = text.chars().collect();
        for (at, length, insert) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + length).min(text.len());
            text.splice(at..end, insert.chars());
        }
        let text: String = text.into_iter().collect();
        see(kind, text.as_bytes());
        let _ = parse_state(&format!("{kind}:\n  x: {text}\n"), Path::new("s.yaml"));
    }

    #[test]
    fn any_structure_is_a_policy_or_an_error(text in "([ \n\t]|[-?:,{}\\[\\]&*!|>'\"%@`#]|policies|id|when|rules|- |: |\u{1b}|\r){0,80}") {
        load(&text);
    }

    #[test]
    fn broken_policies_are_errors(seed in 0..SEEDS.len(), edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, "\\PC{0,4}|[\n\t\r'\":{}\\[\\]&*]{0,3}"), 1..6)) {
        let mut text: Vec<char> = SEEDS[seed].chars().collect();
        for (at, length, insert) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + length).min(text.len());
            text.splice(at..end, insert.chars());
        }
        load(&text.into_iter().collect::<String>());
    }

    #[test]
    fn any_bytes_in_a_file_are_a_policy_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200), list in prop::collection::vec(any::<u8>(), 0..100)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.yaml");
        std::fs::write(&path, &bytes).unwrap();
        let _ = Snapshot::load(&path);
        std::fs::write(folder.path().join("l"), &list).unwrap();
        for kind in ["addresses", "strings", "integers"] {
            let policy = format!("geo: l\nlists: {{l: {{kind: {kind}, file: l}}}}\npolicies: [{{id: p, rules: [{{id: a, when: ssl, action: log}}]}}]\n");
            std::fs::write(&path, policy).unwrap();
            let errors = Snapshot::load(&path).unwrap_err();
            assert!(errors.errors().iter().any(|error| error.message.contains("MMDB")), "{errors}");
        }
    }
}
