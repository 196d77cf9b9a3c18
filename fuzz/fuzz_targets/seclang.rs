//! Any bytes are rules or have errors whose positions are within them. Files are in memory, and the
//! text may include itself.
#![no_main]

use std::collections::BTreeMap;
use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use weir_rules::seclang::{Memory, OnUnsupported, Options, RuleSource, load_from};

fuzz_target!(|bytes: &[u8]| {
    let files = Memory(BTreeMap::from([(PathBuf::from("self"), bytes.to_vec())]));
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    for on_unsupported in [OnUnsupported::Error, OnUnsupported::Warn] {
        let options = Options { lint: true, on_unsupported, ..Options::default() };
        let problems = match load_from(&[RuleSource::File("self".into())], &options, &files) {
            Ok(loaded) => loaded.warnings,
            Err(problems) => {
                assert!(!problems.is_empty());
                problems
            }
        };
        for problem in problems {
            assert!(problem.line >= 1 && problem.line as usize <= lines, "{problem}");
            assert!(!problem.to_string().contains('\n'), "{problem}");
        }
    }
});
