//! Optimisation levels are recognised in stripped binaries built by the machine's compilers.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_diagnose::facts::build::{BinaryKind, build_facts};
use weir_diagnose::facts::{OptimisationLevel, OptimisationSource, TailCalls};

/// A chain of filters as in nginx: each does a little and ends with a call of the next one.
fn program() -> String {
    let mut code = String::from(
        "struct r { int n; char *at; long sum; int (*next)(struct r *, int); };\nint extern_(struct r *, int);\n",
    );
    for number in 0..150 {
        let next = if number == 0 { "extern_(r, n + 1)".into() } else { format!("f{}(r, n + 1)", number - 1) };
        writeln!(
            code,
            "__attribute__((noinline)) int f{number}(struct r *r, int n) {{\n  long sum = 0;\n  for (int i = 0; i < r->n; i++) \
             {{ sum += r->at[i] * {number}; r->sum ^= sum; }}\n  if (sum == {number}) return 0;\n  if (n & 1) return \
             r->next(r, n + 2);\n  return {next};\n}}"
        )
        .expect("writes");
    }
    code.push_str("int extern_(struct r *r, int n) { return r->n + n; }\nint main(void) { struct r r = { 0 }; return f149(&r, 0); }\n");
    code
}

/// Compiles and strips.
fn binary(dir: &Path, compiler: &str, flags: &str) -> PathBuf {
    let source = dir.join("program.c");
    std::fs::write(&source, program()).expect("writes");
    let target = dir.join(format!("{compiler}{}", flags.replace(' ', "")));
    let mut command = Command::new(compiler);
    command.args(flags.split(' ')).arg("-s").arg("-o").arg(&target).arg(&source);
    let status = command.status().unwrap_or_else(|error| panic!("{compiler}: {error}: `make setup` installs it"));
    assert!(status.success(), "{compiler} {flags}");
    target
}

#[test]
fn levels_are_recognised_without_debug_information() {
    use {OptimisationLevel as L, TailCalls as T};
    let cases = [
        ("gcc", "-O0", L::O0, T::Missing),
        ("gcc", "-O0 -fomit-frame-pointer", L::O0, T::Missing),
        ("gcc", "-O1", L::O1, T::Missing),
        ("gcc", "-Og", L::O1, T::Missing),
        ("gcc", "-O2", L::O2OrHigher, T::Optimised),
        ("gcc", "-O3", L::O2OrHigher, T::Optimised),
        ("gcc", "-Os", L::O2OrHigher, T::Optimised),
        ("gcc", "-O2 -fno-omit-frame-pointer", L::O2OrHigher, T::Optimised),
        ("gcc", "-O2 -fno-optimize-sibling-calls", L::O2OrHigher, T::Missing),
        ("clang", "-O0", L::O0, T::Missing),
        ("clang", "-O2", L::O2OrHigher, T::Optimised),
    ];
    let dir = tempfile::tempdir().expect("creates");
    for (compiler, flags, level, tail_calls) in cases {
        let path = binary(dir.path(), compiler, flags);
        let build = build_facts(&path, BinaryKind::Executable).expect("readable");
        let judged = &build.optimisation;
        assert_eq!((judged.level, judged.tail_calls), (level, tail_calls), "{compiler} {flags}: {judged:?}");
        assert_eq!(judged.source, OptimisationSource::Code, "{compiler} {flags}");
        assert!(judged.confidence > 0.8, "{compiler} {flags}: {judged:?}");
        assert!(build.stripped && build.producers.is_empty() && !build.build_id.is_empty(), "{build:?}");
    }
}

#[test]
fn debug_information_has_the_last_word() {
    let dir = tempfile::tempdir().expect("creates");
    let source = dir.path().join("program.c");
    std::fs::write(&source, program()).expect("writes");
    for (flags, packed, level) in [
        ("-O1", false, OptimisationLevel::O1),
        ("-O2", true, OptimisationLevel::O2OrHigher),
        ("-O0", true, OptimisationLevel::O0),
    ] {
        let target = dir.path().join("debug");
        let mut command = Command::new("gcc");
        command.args([flags, "-g"]).arg("-o").arg(&target).arg(&source);
        if packed {
            command.arg("-gz");
        }
        assert!(command.status().expect("gcc runs: `make setup` installs it").success());
        let build = build_facts(&target, BinaryKind::Executable).expect("readable");
        assert_eq!(
            (build.optimisation.level, build.optimisation.source),
            (level, OptimisationSource::DebugInformation)
        );
        assert!(build.producers.iter().any(|producer| producer.text.contains(flags)), "{build:?}");
    }
}

#[test]
fn what_is_no_binary_is_an_error() {
    let dir = tempfile::tempdir().expect("creates");
    let real = std::fs::read("/proc/self/exe").expect("readable");
    let header = &real[..4096.min(real.len())];
    for (name, bytes) in [("empty", &b""[..]), ("text", b"#!/bin/sh\n"), ("cut", header)] {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).expect("writes");
        if let Ok(build) = build_facts(&path, BinaryKind::Library) {
            assert_eq!(build.optimisation.level, OptimisationLevel::Unknown, "{name}");
        }
    }
    assert!(build_facts(Path::new("/nowhere"), BinaryKind::Library).is_err());
}
