//! A C program that is compiled, run, sampled and stopped.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weir_profile::Profile;
use weir_sample::{Options, Recorded, ResolvedTarget, Session, Target, find};

/// Time for a program to get ready, or to produce enough samples, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Fails if nothing can be sampled here.
pub fn demand_privilege() {
    weir_sample::privilege().unwrap_or_else(|error| panic!("{error}"));
}

/// A program that runs; it is killed when this is dropped.
pub struct Program {
    child: Child,
    _directory: tempfile::TempDir,
}

impl Program {
    /// Compiles and runs C code that closes its standard output when it is ready.
    pub fn run(code: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let source = directory.path().join("program.c");
        let program: PathBuf = directory.path().join("program");
        std::fs::write(&source, code).expect("the source is written");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread", "-o"]);
        let compiled = compiler.arg(&program).arg(&source).status().expect("a C compiler is there");
        assert!(compiled.success(), "the program compiles");
        let mut child =
            Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut said = String::new();
        let begun = Instant::now();
        let output = child.stdout.as_mut().expect("it was piped");
        std::io::Read::read_to_string(output, &mut said).expect("its output can be read");
        assert!(begun.elapsed() < PATIENCE, "the program gets ready");
        Self { child, _directory: directory }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn found(&self) -> ResolvedTarget {
        find(&Target::Pid(self.pid())).expect("it runs")
    }

    /// Lets a program continue that waits for a byte.
    pub fn go(&mut self) {
        self.child.stdin.as_mut().expect("it was piped").write_all(b"x").expect("it reads");
    }

    /// Ends it, and makes its id free.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Samples it.
    pub fn sample(&self, options: &Options) -> Recorded {
        record(&self.found(), options)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Samples processes.
pub fn record(found: &ResolvedTarget, options: &Options) -> Recorded {
    let mut session = Session::start(found, options).expect("sampling starts");
    session.run(&AtomicBool::new(false), &mut |_| {})
}

/// Samples a process until there are enough samples, which takes longer on a busy machine.
pub fn record_enough(found: &ResolvedTarget, options: &Options, enough: u64) -> Recorded {
    let options = Options { duration: Some(PATIENCE), ..options.clone() };
    let mut session = Session::start(found, &options).expect("sampling starts");
    let stop = AtomicBool::new(false);
    session.run(&stop, &mut |progress| {
        if progress.samples >= enough {
            stop.store(true, Ordering::Relaxed);
        }
    })
}

/// Names of a sample's frames, root first.
pub fn names(profile: &Profile, stack: weir_profile::StackId) -> Vec<&str> {
    profile.stack(stack).iter().map(|id| profile.frame(*id).name.as_str()).collect()
}

/// Weight of the samples that have a frame of this name.
pub fn weight(profile: &Profile, name: &str) -> u64 {
    let with = profile.samples.iter().filter(|sample| names(profile, sample.stack).contains(&name));
    with.map(|sample| sample.weight).sum()
}

/// The beginning of every program: `ready()` reports that it is ready.
pub const HEAD: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
volatile unsigned long sink;
static void ready(void) { close(1); }
static void spin(long n) { for (long i = 0; i < n; i++) sink = sink * 31 + i; }
"#;
