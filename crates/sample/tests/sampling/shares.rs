//! Functions have their known shares of time.

use std::time::Duration;

use weir_profile::Profile;
use weir_sample::{Backend, Options};

use crate::program::{HEAD, Program, demand_privilege, names, record_enough, weight};

/// Three functions with 5, 3 and 2 parts of the same work, each below a caller.
const CODE: &str = r#"
__attribute__((noinline)) void half(void) { for (long i = 0; i < 50000; i++) sink = sink * 31 + i; }
__attribute__((noinline)) void third(void) { for (long i = 0; i < 30000; i++) sink = sink * 31 + i; }
__attribute__((noinline)) void fifth(void) { for (long i = 0; i < 20000; i++) sink = sink * 31 + i; }
__attribute__((noinline)) void caller(void) { half(); third(); fifth(); sink++; }
int main(void) { ready(); for (;;) caller(); }
"#;
const SHARES: [(&str, f64); 3] = [("half", 0.5), ("third", 0.3), ("fifth", 0.2)];
/// Allowed deviation of a share, in standard deviations: by chance one run in some ten thousand
/// exceeds it.
const DEVIATIONS: f64 = 4.5;
/// Samples: about a second of a CPU.
const ENOUGH: u64 = 500;

fn options(backend: Backend) -> Options {
    Options { frequency_hz: 499, backend, ..Options::default() }
}

fn check(profile: &Profile) {
    let (total, samples) = (profile.total() as f64, profile.health.samples as f64);
    assert!(samples >= 100.0, "{:?}", profile.health);
    for (name, share) in SHARES {
        let found = weight(profile, name) as f64 / total;
        let bound = DEVIATIONS * (share * (1.0 - share) / samples).sqrt() + 0.01;
        assert!((found - share).abs() < bound, "{name}: {found:.3} of {samples} samples, not {share} ± {bound:.3}");
    }
    assert!(profile.health.complete as f64 >= 0.99 * samples, "{:?}", profile.health);
    let deepest = profile.samples.iter().max_by_key(|sample| sample.weight).expect("samples");
    let names = names(profile, deepest.stack);
    assert!(names.windows(3).any(|names| names == ["main", "caller", "half"]), "{names:?}");
    assert_eq!(profile.threads.len(), 1);
    assert_eq!(profile.threads[0].name, "program");
}

#[test]
fn shares_are_those_of_the_program() {
    demand_privilege();
    let program = Program::run(&format!("{HEAD}{CODE}"));
    let profile = record_enough(&program.found(), &options(Backend::Ebpf), ENOUGH).on_cpu.expect("asked for");
    assert_eq!(profile.meta.method, "ebpf");
    check(&profile);
}

#[test]
fn perf_events_see_the_same_shares_and_say_that_they_were_used() {
    demand_privilege();
    let program = Program::run(&format!("{HEAD}{CODE}"));
    let profile = record_enough(&program.found(), &options(Backend::PerfEvent), ENOUGH).on_cpu.expect("asked for");
    assert_eq!(profile.meta.method, "perf_event");
    assert!(
        profile.meta.remarks.iter().any(|remark| remark.starts_with("perf events were used")),
        "{:?}",
        profile.meta
    );
    check(&profile);
}

#[test]
fn perf_events_refuse_what_they_cannot_do() {
    demand_privilege();
    let program = Program::run(&format!("{HEAD}{CODE}"));
    for (options, what) in [
        (Options { off_cpu: Some(Duration::from_millis(1)), ..options(Backend::PerfEvent) }, "sampling of waits"),
        (Options { system_calls: true, ..options(Backend::PerfEvent) }, "counting of system calls"),
    ] {
        let error = weir_sample::Session::start(&program.found(), &options).expect_err("not possible");
        assert!(error.to_string().starts_with(what), "{error}");
    }
}
