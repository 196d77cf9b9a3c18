//! Finds virtual machines by their dispatch tables.
//!
//! A virtual machine has a table with the addresses of the interpreter's handlers: a hundred
//! consecutive words that point into the interpreter's code, which occurs nowhere else. One scan of
//! the process's memory therefore finds all machines that exist when sampling begins, and no
//! samples are lost until one of them happens to be caught in the interpreter.

use weir_unwind::Process;

use crate::layout::Layout;

/// Maximum amount of memory scanned, in bytes: 128 MiB take some 30 ms. Machines beyond it are
/// found by their samples.
const MAX_BYTES: u64 = 128 << 20;
/// Number of bytes read at once.
const PIECE: u64 = 1 << 20;
/// Number of consecutive words that identify a table; the shortest one has 97 instructions.
const WORDS: usize = 80;
/// Maximum number of tables.
const MAX_TABLES: usize = 64;

/// Addresses of dispatch tables.
pub(crate) fn dispatch_tables(process: &Process, layout: &Layout) -> Vec<u64> {
    let memory = process.memory();
    let mut tables = Vec::new();
    let mut left = MAX_BYTES;
    let mut piece = vec![0; PIECE as usize];
    let own = process.mappings().iter().filter(|mapping| mapping.readable && mapping.writable && !mapping.has_file());
    for mapping in own {
        let mut run = WordRun::default();
        let mut at = mapping.start;
        while at < mapping.end && left > 0 && tables.len() < MAX_TABLES {
            let length = PIECE.min(mapping.end - at).min(left);
            left -= length;
            let read = memory.read(at, &mut piece[..length as usize]).unwrap_or(0);
            for (word, address) in piece[..read].chunks_exact(8).zip((at..).step_by(8)) {
                let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
                tables.extend(run.take(address, layout.in_vm(word)));
            }
            at += length;
        }
    }
    tables
}

/// Words in a row.
#[derive(Default)]
struct WordRun {
    start: u64,
    length: usize,
}

impl WordRun {
    /// Takes the next word; returns the start of a run once it is long enough.
    fn take(&mut self, address: u64, inside: bool) -> Option<u64> {
        if !inside {
            self.length = 0;
            return None;
        }
        if self.length == 0 {
            self.start = address;
        }
        self.length += 1;
        (self.length == WORDS).then_some(self.start)
    }
}
