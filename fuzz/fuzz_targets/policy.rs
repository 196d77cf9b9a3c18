//! Any text is a policy or a list of errors with positions in the file, as YAML and as JSON. A policy
//! that loads, loads again to the same revision and the same rules.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use weir_policy::{MAX_ERRORS, Snapshot};

fuzz_target!(|text: &str| {
    for name in ["/nonexistent/policy.yaml", "/nonexistent/policy.json"] {
        match Snapshot::parse(text, Path::new(name)) {
            Ok(snapshot) => {
                let again = Snapshot::parse(text, Path::new(name)).expect("what loads once loads twice");
                assert_eq!(snapshot.revision(), again.revision());
                assert_eq!(snapshot.rules(), again.rules());
                let names: Vec<&str> = snapshot.policy_names().collect();
                snapshot.plan(&names).expect("its own policies are there");
            }
            Err(errors) => {
                assert!((1..=MAX_ERRORS).contains(&errors.errors().len()));
                let lines = text.matches(['\n', '\r']).count() + 1;
                for error in errors.errors() {
                    assert!(error.line as usize <= lines, "{error}");
                    assert!(!error.excerpt.contains('\u{1b}'), "{error}");
                }
            }
        }
    }
});
