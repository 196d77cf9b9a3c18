//! Many threads, and children.

use std::time::Duration;

use weir_sample::{Options, Session, Target, find};

use crate::program::{HEAD, Program, demand_privilege, record, weight};

#[test]
fn two_thousand_threads_are_sampled() {
    demand_privilege();
    let program = Program::run(&format!(
        "{HEAD}
        __attribute__((noinline)) void work(void) {{ spin(20000); sink++; }}
        void *run(void *x) {{ for (;;) {{ struct timespec time = {{ 0, 200000000 }}; nanosleep(&time, 0); work(); }} }}
        int main(void) {{
            pthread_attr_t attributes; pthread_attr_init(&attributes); pthread_attr_setstacksize(&attributes, 65536);
            for (int i = 0; i < 2000; i++) {{ pthread_t t; if (pthread_create(&t, &attributes, run, 0)) return 1; }}
            ready(); run(0);
        }}"
    ));
    let options = Options {
        off_cpu: Some(Duration::from_millis(1)),
        system_calls: true,
        duration: Some(Duration::from_secs(1)),
        ..Options::default()
    };
    let recorded = program.sample(&options);
    let off_cpu = recorded.off_cpu.expect("asked for");
    assert!(off_cpu.threads.len() > 1000, "{} threads, {:?}", off_cpu.threads.len(), off_cpu.health);
    assert_eq!(off_cpu.health.failed, 0, "{:?}", off_cpu.health);
    let on_cpu = recorded.on_cpu.expect("asked for");
    assert!(weight(&on_cpu, "work") > 0, "{:?}", on_cpu.health);
    assert_eq!(on_cpu.health.complete, on_cpu.health.samples, "stacks of threads end: {:?}", on_cpu.health);
    let called: u64 = on_cpu.system_calls.iter().map(|call| call.calls).sum();
    assert!(called >= 1000, "{:?}", on_cpu.system_calls);
}

#[test]
fn children_are_followed() {
    demand_privilege();
    let mut program = Program::run(&format!(
        "{HEAD}
        __attribute__((noinline)) void child(void) {{ for (;;) spin(1000); }}
        int main(void) {{ char byte; ready(); if (read(0, &byte, 1) != 1) return 1;
            if (!fork()) {{ alarm(5); child(); }} for (;;) pause(); }}"
    ));
    let options = Options { duration: Some(Duration::from_secs(1)), ..Options::default() };
    let mut session = Session::start(&program.found(), &options).expect("sampling starts");
    program.go();
    let profile = session.run(&false.into(), &mut |_| {}).on_cpu.expect("asked for");
    assert!(weight(&profile, "child") > 0, "{:?}", profile.health);
    let child = profile.threads.iter().find(|thread| thread.pid != program.pid()).expect("the child was seen");
    assert_eq!(child.pid, child.tid);
    let _ = std::process::Command::new("kill").arg(child.pid.to_string()).status();
}

#[test]
fn control_groups_and_everything_can_be_sampled() {
    demand_privilege();
    let program = Program::run(&format!(
        "{HEAD}__attribute__((noinline)) void work(void) {{ for (;;) spin(1000); }} int main(void) {{ ready(); work(); }}"
    ));
    for target in [Target::Cgroup("/".into()), Target::All] {
        let found = find(&target).expect("there are processes");
        let options = Options { duration: Some(Duration::from_secs(1)), ..Options::default() };
        let profile = record(&found, &options).on_cpu.expect("asked for");
        assert!(profile.threads.iter().any(|thread| thread.pid == program.pid()), "{target:?} {:?}", profile.health);
        assert!(weight(&profile, "work") > 0, "{target:?} {:?}", profile.health);
    }
}
