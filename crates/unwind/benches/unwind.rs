//! The cost of a sample: unwinding stacks of a C program with warm caches, and naming them.
//!
//! `cargo bench -p weir-unwind`. The samples are taken once, by stepping a program that the C
//! compiler of the system makes; the figure is for all of them, with the number of frames printed.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use weir_unwind::{Process, Registers, Symbols, Unwinder};

#[path = "../tests/unwinding/support.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "of the tests, which use the rest of it")]
mod support;

/// One sample per this many instructions.
const EVERY: usize = 50;

fn unwind(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let program = support::work(directory.path(), &["-O2", "-fomit-frame-pointer"]);
    let mut traced = support::Traced::start(&program, &[]);
    let mut process = Process::open(traced.pid()).expect("a process of this test");
    let mut samples: Vec<(Registers, Vec<u8>)> = Vec::new();
    for step in 0.. {
        if !traced.step() {
            break;
        }
        if step % EVERY == 0 {
            let registers = traced.registers();
            let stack = traced.stack(&registers);
            samples.push((registers, stack));
        }
    }
    let (mut unwinder, mut symbols) = (Unwinder::new(), Symbols::new());
    let mut frames = Vec::new();
    for (registers, stack) in &samples {
        unwinder.unwind(&mut process, registers, stack, None, &mut frames);
    }
    println!("{} samples, {} frames", samples.len(), frames.len());
    let mut group = criterion.benchmark_group("unwind");
    group.throughput(Throughput::Elements(frames.len() as u64));
    group.bench_function("frames", |bencher| {
        bencher.iter(|| {
            for (registers, stack) in &samples {
                frames.clear();
                black_box(unwinder.unwind(&mut process, registers, stack, None, &mut frames));
            }
        });
    });
    let mut all = Vec::new();
    for (registers, stack) in &samples {
        unwinder.unwind(&mut process, registers, stack, None, &mut all);
    }
    group.bench_function("names", |bencher| {
        let mut names = Vec::new();
        bencher.iter(|| {
            for frame in &all {
                names.clear();
                black_box(symbols.resolve(&process, frame.lookup, &mut names));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, unwind);
criterion_main!(benches);
