//! Bounds on structure: files in cycles and uses of `unsafe`, per crate. Each failure lists every
//! offender. The numbers are what the code needs today: they may be lowered at any time, and raised
//! only with a reason that convinces a reviewer.

use std::path::{Path, PathBuf};

use weir_tidy::cycles::Cycles;
use weir_tidy::tokens::tokens;
use weir_tidy::{assert_none, crates, sources};

/// The most files of a crate that may be in cycles; 0 for crates that are not listed. `make cycles`
/// shows the cycles.
const FILES_IN_CYCLES: &[(&str, usize)] = &[
    ("ablate", 2),
    ("auth", 3),
    ("bench", 5),
    ("bus", 2),
    ("cli", 4),
    ("diagnose", 4),
    ("engine", 30),
    ("gateway", 9),
    ("http", 3),
    ("ledger", 3),
    ("luajit", 2),
    ("measure", 4),
    ("nginx", 62),
    ("policy", 41),
    ("profile", 4),
    ("rules", 13),
    ("unwind", 7),
];

/// The most uses of the word `unsafe` in the sources of a crate, and the reason for them; 0 for crates
/// that are not listed.
const UNSAFE: &[(&str, usize, &str)] = &[
    ("bans", 2, "a table in a mapped file that other processes read, reserving its blocks"),
    ("bench", 29, "starts processes, memory shared between them, system calls without a safe wrapper"),
    ("bus", 26, "memory shared between processes: rings, bells, streams, the journal, memory without a file"),
    ("cli", 11, "signals, process groups, the terminal"),
    (
        "control",
        21,
        "peer credentials, sandboxing of a process, FIFOs, sockets that nginx inherits, limits, kinds of file systems, \
         pages of mapped files that are gone",
    ),
    ("diagnose", 2, "system calls without a safe wrapper"),
    ("engine", 3, "AVX2 instructions, once the processor is known to have them"),
    ("gateway", 19, "a pointer whose contents are dropped later, in slices"),
    ("ledger", 14, "counters in mapped files that other processes write, clocks, process lookups"),
    ("measure", 8, "starts processes and measures their CPU time"),
    ("nginx", 727, "the interface of nginx is C"),
    ("policy", 3, "files opened below a descriptor, mapped files"),
    ("sample", 23, "memory shared with the kernel: BPF ring, perf events"),
    ("transform", 1, "SSE2 instructions"),
    ("tools", 1, "the terminal"),
    ("unwind", 6, "memory of other processes, mapped binaries"),
];

#[test]
fn files_in_cycles_do_not_increase() {
    let counts = crates().into_iter().map(|name| (Cycles::of(&name).files(), name));
    let bound = |name: &str| FILES_IN_CYCLES.iter().find(|row| row.0 == name).map_or(0, |row| row.1);
    let above = counts.filter(|(count, name)| *count > bound(name));
    let above: Vec<String> =
        above.map(|(count, name)| format!("(\"{name}\", {count}), not {}", bound(&name))).collect();
    assert_none("more files in cycles than stated, see `make cycles`", &above);
}

#[test]
fn unsafe_code_is_where_the_list_says() {
    let sources: Vec<(PathBuf, String)> = sources().collect();
    let mut above = Vec::new();
    for name in crates() {
        let dir = Path::new("crates").join(&name).join("src");
        let own = sources.iter().filter(|(path, _)| path.starts_with(&dir));
        let count: usize =
            own.map(|(_, text)| tokens(text).iter().filter(|token| token.word() == Some("unsafe")).count()).sum();
        let bound = UNSAFE.iter().find(|row| row.0 == name).map_or(0, |row| row.1);
        if count > bound {
            above.push(format!("{name}: {count}, not {bound}"));
        }
    }
    assert_none("more `unsafe` than stated", &above);
}
