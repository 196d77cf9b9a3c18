//! Every instruction of a program: wherever a sample may fall, the stack is unwound to its root.
//!
//! The program is stepped with ptrace, through prologues and epilogues, the dynamic linker's lazy
//! binding, libc's vector code, a signal handler and the vdso.

use std::collections::BTreeMap;
use std::path::Path;

use weir_profile::Frame;
use weir_unwind::{NativeFrame, Process, Symbols, UnwindEnd, Unwinder};

use crate::support::{self, Traced};

/// Steps of one run at most; the programs take fewer.
const MAX_STEPS: usize = 200_000;

struct Outcome {
    steps: usize,
    /// How many did not come to the root, by how it ended and where it was.
    bad: BTreeMap<String, usize>,
    /// Different chains of names, innermost first, with how often they were seen.
    chains: BTreeMap<Vec<String>, usize>,
}

fn step_through(program: &Path, arguments: &[&str]) -> Outcome {
    let mut traced = Traced::start(program, arguments);
    let mut process = Process::open(traced.pid()).unwrap();
    let (mut unwinder, mut symbols) = (Unwinder::new(), Symbols::new());
    let mut outcome = Outcome { steps: 0, bad: BTreeMap::new(), chains: BTreeMap::new() };
    let mut frames: Vec<NativeFrame> = Vec::new();
    while outcome.steps < MAX_STEPS && traced.step() {
        outcome.steps += 1;
        let registers = traced.registers();
        let stack = traced.stack(&registers);
        frames.clear();
        let end = unwinder.unwind(&mut process, &registers, &stack, None, &mut frames);
        let mut named: Vec<Frame> = Vec::new();
        for frame in &frames {
            symbols.resolve(&process, frame.lookup, &mut named);
        }
        if end != UnwindEnd::Root {
            let last = named.last().map_or("", |frame| frame.name.as_str());
            *outcome.bad.entry(format!("{end:?} at {last}, ip {:#x}", frames.last().unwrap().ip)).or_default() += 1;
        }
        *outcome.chains.entry(named.into_iter().map(|frame| frame.name).collect()).or_default() += 1;
    }
    assert!(outcome.steps > 1000 && outcome.steps < MAX_STEPS, "{} steps", outcome.steps);
    outcome
}

impl Outcome {
    /// Whether there is a chain that goes through these functions, in this order, from the innermost.
    fn has(&self, names: &[&str]) -> bool {
        self.chains.keys().any(|chain| {
            let mut wanted = names.iter();
            let mut next = wanted.next();
            for name in chain {
                if Some(&name.as_str()) == next {
                    next = wanted.next();
                }
            }
            next.is_none()
        })
    }
}

const CHAINS: &[&[&str]] = &[
    &["leaf", "compare", "qsort_r", "chain", "main"],
    &["leaf", "each", "inner", "library_sum", "chain", "main"],
    &["leaf", "with_alloca", "aligned", "recursion", "recursion", "recursion", "chain", "main"],
    &["vsnprintf", "variadic", "chain", "main"],
    &["leaf", "on_signal", "raise", "chain", "main"],
    &["longjmp", "jumps", "chain", "main"],
    &["malloc", "chain", "main"],
    &["leaf", "many_arguments", "chain", "main"],
    &["_exit", "last", "main"],
    &["leaf", "each", "[unknown]", "runs_generated", "chain", "main"],
];

const FLAG_SETS: &[&[&str]] = &[
    &["-O2", "-fomit-frame-pointer", "-Wl,-z,lazy"],
    &["-O0", "-Wl,-z,lazy"],
    &["-O3", "-march=x86-64-v3", "-fomit-frame-pointer", "-no-pie"],
];

#[test]
fn every_instruction_is_unwound_to_the_root() {
    for flags in FLAG_SETS {
        let directory = tempfile::tempdir().unwrap();
        let outcome = step_through(&support::work(directory.path(), flags), &[]);
        eprintln!("{flags:?}: {} steps, not to the root: {:#?}", outcome.steps, outcome.bad);
        assert_eq!(outcome.bad, BTreeMap::new(), "{flags:?}");
        let missing: Vec<_> = CHAINS.iter().filter(|chain| !outcome.has(chain)).collect();
        assert!(missing.is_empty(), "{flags:?}: {missing:?} are not among {:#?}", outcome.chains.keys());
    }
}

#[test]
fn stripped_programs_are_unwound_as_well_and_each_function_has_one_name() {
    let directory = tempfile::tempdir().unwrap();
    let program = support::work(directory.path(), &["-O2", "-fomit-frame-pointer", "-s"]);
    let outcome = step_through(&program, &[]);
    assert_eq!(outcome.bad, BTreeMap::new());
    assert!(!outcome.has(&["leaf"]));
    let names: std::collections::BTreeSet<&String> =
        outcome.chains.keys().flatten().filter(|name| name.starts_with("work+0x")).collect();
    // main, leaf, chain, compare, each, ...: not one for each instruction.
    assert!((8..20).contains(&names.len()), "{names:?}");
}

#[test]
fn threads_are_unwound_to_their_start() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = step_through(&support::work(directory.path(), &["-O2", "-fomit-frame-pointer"]), &["thread"]);
    assert_eq!(outcome.bad, BTreeMap::new());
    assert!(outcome.has(&["leaf", "compare", "qsort_r", "chain", "thread"]), "{:#?}", outcome.chains.keys());
    assert!(!outcome.has(&["chain", "main"]));
}
