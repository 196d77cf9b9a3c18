//! Damaged binaries: an error or unknown frames, never a panic.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use weir_unwind::{Module, Symbols};

use crate::support;

/// Damaged copies of each kind.
const COPIES: usize = 150;

/// Reproducible pseudo-random numbers (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Runs every query on a binary.
fn look_at(path: &Path) -> bool {
    let Ok(module) = Module::open(path).map(Arc::new) else { return false };
    let mut symbols = Symbols::new();
    let addresses = (0x1000..0x2400).step_by(37).chain([0, u64::MAX, 1 << 40]);
    for address in addresses {
        let mut frames = Vec::new();
        symbols.resolve_in(&module, address, &mut frames);
        assert!(!frames.is_empty());
        let _ = (module.frame_range(address), module.symbol_at(address));
        let _ = (module.section_at(address).is_some(), module.bytes_at(address).is_some());
    }
    for name in ["main", "leaf", "", "nothing"] {
        let _ = module.symbol_range(name);
    }
    true
}

#[test]
fn damaged_binaries_do_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    let program = support::work(directory.path(), &["-O2", "-g"]);
    let whole = fs::read(&program).unwrap();
    let path = directory.path().join("damaged");
    let mut numbers = Numbers(0x5eed_1234_abcd);
    let mut opened = 0;
    for _ in 0..COPIES {
        fs::write(&path, &whole[..numbers.below(whole.len())]).unwrap();
        opened += usize::from(look_at(&path));
        let mut flipped = whole.clone();
        for _ in 0..1 + numbers.below(20) {
            // Half of them are in the headers and tables, which are at both ends.
            let bound = if numbers.below(2) == 0 { 0x1000 } else { whole.len() };
            let from_end = numbers.below(2) == 0;
            let at = numbers.below(bound);
            let at = if from_end { whole.len() - 1 - at } else { at };
            flipped[at] ^= 1 << numbers.below(8);
        }
        fs::write(&path, &flipped).unwrap();
        opened += usize::from(look_at(&path));
    }
    // Most can be opened, so the damage reached the parsers.
    assert!(opened > COPIES, "{opened}");
    assert!(look_at(&program));
    for bytes in [&b""[..], b"\x7fELF", b"#!/bin/sh\n", &[0; 4096]] {
        fs::write(&path, bytes).unwrap();
        assert!(!look_at(&path));
    }
    assert!(Module::open(Path::new("/nonexistent")).is_err() && Module::open(directory.path()).is_err());
}
