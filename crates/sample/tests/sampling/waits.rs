//! Waits: their stacks and durations, and the sum of short ones.

use std::time::Duration;

use weir_sample::Options;

use crate::program::{HEAD, Program, demand_privilege, names, weight};

fn options() -> Options {
    Options {
        on_cpu: false,
        off_cpu: Some(Duration::from_millis(1)),
        duration: Some(Duration::from_secs(2)),
        ..Options::default()
    }
}

#[test]
fn sleeping_functions_are_shown_with_their_time() {
    demand_privilege();
    let program = Program::run(&format!(
        "{HEAD}
        __attribute__((noinline)) void nap(void) {{ struct timespec time = {{ 0, 60000000 }}; nanosleep(&time, 0); sink++; }}
        __attribute__((noinline)) void rest(void) {{ struct timespec time = {{ 0, 5000000 }}; nanosleep(&time, 0); sink++; }}
        int main(void) {{ ready(); for (;;) {{ nap(); rest(); }} }}"
    ));
    let profile = program.sample(&options()).off_cpu.expect("asked for");
    let (nap, rest) = (weight(&profile, "nap") as f64 / 1e9, weight(&profile, "rest") as f64 / 1e9);
    let sampled = profile.meta.duration_ns as f64 / 1e9;
    // The first wait and the last may be cut. Time until a CPU is free belongs to a wait: on a busy machine the ratio
    // is not 12.
    assert!((0.5 * sampled..=1.1 * sampled).contains(&(nap + rest)), "{nap} {rest} of {sampled}");
    assert!(nap > 2.0 * rest && rest > 0.0, "{nap} {rest}");
    let longest = profile.samples.iter().max_by_key(|sample| sample.weight).expect("samples");
    let names = names(&profile, longest.stack);
    assert!(names.windows(2).any(|names| names == ["main", "nap"]), "{names:?}");
    assert!(names.iter().any(|name| name.contains("nanosleep")), "{names:?}");
    assert!(profile.health.complete > 10 && profile.health.failed == 0, "{:?}", profile.health);
}

#[test]
fn short_waits_are_summed_up() {
    demand_privilege();
    let program = Program::run(&format!(
        "{HEAD}int main(void) {{ ready(); for (;;) {{ struct timespec time = {{ 0, 20000 }}; nanosleep(&time, 0); }} }}"
    ));
    let options =
        Options { off_cpu: Some(Duration::from_secs(1)), duration: Some(Duration::from_secs(1)), ..options() };
    let profile = program.sample(&options).off_cpu.expect("asked for");
    let short = weight(&profile, "[waits shorter than 1s]");
    assert!(short > 100_000_000, "{short} {:?}", profile.samples);
    assert_eq!(profile.health.samples, 0, "nothing was copied for them");
}

#[test]
fn floods_of_waits_are_capped_and_said() {
    demand_privilege();
    let program = Program::run(&format!(
        "{HEAD}void *nap(void *x) {{ for (;;) {{ struct timespec time = {{ 0, 1100000 }}; nanosleep(&time, 0); }} }}
        int main(void) {{ for (int i = 0; i < 8; i++) {{ pthread_t t; pthread_create(&t, 0, nap, 0); }} ready(); nap(0); }}"
    ));
    let profile = program.sample(&options()).off_cpu.expect("asked for");
    let waits: u64 = profile.samples.iter().map(|sample| sample.count).sum();
    assert!(waits >= profile.health.samples, "each wait is in a stack: {waits} {:?}", profile.health);
    // 400 a second and CPU: src/ebpf/config.rs.
    let cpus = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let seconds = profile.meta.duration_ns / 1_000_000_000 + 2;
    assert!(profile.health.complete <= seconds * 400 * cpus, "{:?}", profile.health);
    let capped = weight(&profile, "[user stack not taken]") > 0;
    let said = profile.meta.remarks.iter().any(|remark| remark.contains("waits have no user stack"));
    assert!(!said || capped, "{:?}", profile.meta.remarks);
}

#[test]
fn waits_that_never_end_are_shown() {
    demand_privilege();
    let program = Program::run(&format!(
        "{HEAD}
        __attribute__((noinline)) void *hang(void *x) {{ for (;;) {{ pause(); sink++; }} }}
        __attribute__((noinline)) void idle(void) {{ for (;;) {{ pause(); sink++; }} }}
        int main(void) {{ pthread_t t; pthread_create(&t, 0, hang, 0); usleep(20000); ready(); idle(); }}"
    ));
    let options = Options { duration: Some(Duration::from_millis(500)), ..options() };
    let profile = program.sample(&options).off_cpu.expect("asked for");
    for name in ["hang", "idle"] {
        // It counts as waiting from the moment at which the session begins, or from its last run
        // before.
        let (waited, sampled) = (weight(&profile, name) as f64, profile.meta.duration_ns as f64);
        assert!((0.8 * sampled..=sampled).contains(&waited), "{name} {waited} of {sampled} {:?}", profile.meta.remarks);
    }
    assert_eq!((profile.health.samples, profile.health.complete), (2, 2), "{:?}", profile.health);
}
