//! Processes that have ended, or end during sampling.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weir_sample::{Backend, Options, SampleError, Session, Target, find};

use crate::program::{HEAD, Program, demand_privilege, weight};

fn spinning() -> Program {
    Program::run(&format!(
        "{HEAD}__attribute__((noinline)) void work(void) {{ for (;;) spin(1000); }} int main(void) {{ ready(); work(); }}"
    ))
}

fn options(backend: Backend) -> Options {
    Options { frequency_hz: 499, duration: Some(Duration::from_secs(20)), backend, ..Options::default() }
}

#[test]
fn what_was_seen_of_a_process_that_ends_is_kept() {
    demand_privilege();
    for backend in [Backend::Ebpf, Backend::PerfEvent] {
        let mut program = spinning();
        let mut session = Session::start(&program.found(), &options(backend)).expect("sampling starts");
        let stop = AtomicBool::new(false);
        let recorded = session.run(&stop, &mut |progress| {
            if progress.elapsed > Duration::from_millis(400) {
                program.kill();
            }
        });
        let profile = recorded.on_cpu.expect("asked for");
        assert!(weight(&profile, "work") > 0, "{backend:?} {:?}", profile.health);
        assert!(profile.meta.remarks.iter().any(|remark| remark.contains("ended after")), "{:?}", profile.meta.remarks);
    }
}

#[test]
fn a_process_goes_on_without_its_main_thread() {
    demand_privilege();
    for backend in [Backend::Ebpf, Backend::PerfEvent] {
        let mut program = Program::run(&format!(
            "{HEAD}void *work(void *x) {{ for (;;) spin(1000); }}
            int main(void) {{ char byte; pthread_t t; pthread_create(&t, 0, work, 0); ready();
                if (read(0, &byte, 1) != 1) return 1; pthread_exit(0); }}"
        ));
        let mut session = Session::start(&program.found(), &options(backend)).expect("sampling starts");
        let (stop, mut waits) = (AtomicBool::new(false), true);
        let recorded = session.run(&stop, &mut |progress| {
            if std::mem::take(&mut waits) {
                program.go();
            }
            stop.store(progress.elapsed > Duration::from_millis(800), Ordering::Relaxed);
        });
        let profile = recorded.on_cpu.expect("asked for");
        assert!(!profile.meta.remarks.iter().any(|remark| remark.contains("ended after")), "{backend:?}");
        assert!(profile.meta.duration_ns > 700_000_000 && weight(&profile, "work") > 0, "{backend:?}");
    }
}

#[test]
fn a_process_that_is_gone_before_the_start_ends_the_session() {
    demand_privilege();
    let mut program = spinning();
    let found = program.found();
    program.kill();
    match Session::start(&found, &options(Backend::Ebpf)) {
        Err(SampleError::NoSuchProcess { pid }) => assert_eq!(pid, program.pid()),
        other => panic!("{other:?}"),
    }
    assert!(matches!(find(&Target::Pid(program.pid())), Err(SampleError::NoSuchProcess { .. })));
}

#[test]
fn a_session_stops_when_it_is_told_to() {
    demand_privilege();
    let program = spinning();
    let stop = AtomicBool::new(false);
    let mut session = Session::start(&program.found(), &options(Backend::Auto)).expect("sampling starts");
    let mut called = 0;
    let recorded = session.run(&stop, &mut |_| {
        called += 1;
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(called, 1, "it went on after it was told to stop");
    assert!(recorded.on_cpu.is_some() && recorded.off_cpu.is_none());
}

#[test]
fn a_sampled_process_is_not_traced() {
    demand_privilege();
    let program = spinning();
    let status = format!("/proc/{}/status", program.pid());
    let mut session =
        Session::start(&program.found(), &Options { duration: Some(Duration::from_millis(300)), ..Options::default() })
            .expect("sampling starts");
    let mut looked = 0;
    session.run(&AtomicBool::new(false), &mut |_| {
        let text = std::fs::read_to_string(&status).expect("it runs");
        assert!(text.contains("TracerPid:\t0"), "{text}");
        assert!(text.contains("State:\tR"), "{text}");
        looked += 1;
    });
    assert!(looked > 0);
}
