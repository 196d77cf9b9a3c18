//! Deep stacks are either complete or cut, counted accordingly, and bounded.

use weir_profile::Profile;
use weir_sample::{MOST_STACK, Options};

use crate::program::{HEAD, Program, demand_privilege, names, record_enough};

fn sampled(depth: u32, stack_bytes: u32) -> Profile {
    let program = Program::run(&format!(
        "{HEAD}__attribute__((noinline)) void dive(int left) {{ if (left) dive(left - 1); else for (;;) spin(1000); sink++; }}
        int main(void) {{ ready(); dive({depth}); }}"
    ));
    let options = Options { frequency_hz: 499, stack_bytes, ..Options::default() };
    let profile = record_enough(&program.found(), &options, 100).on_cpu.expect("asked for");
    assert!(profile.health.samples > 5, "{:?}", profile.health);
    assert_eq!(profile.health.failed, 0, "{:?}", profile.health);
    profile
}

fn deepest(profile: &Profile) -> Vec<&str> {
    let stacks = profile.samples.iter().map(|sample| names(profile, sample.stack));
    stacks.max_by_key(Vec::len).expect("samples")
}

#[test]
fn a_thousand_frames_are_whole_where_their_bytes_fit() {
    demand_privilege();
    let profile = sampled(1000, MOST_STACK);
    let names = deepest(&profile);
    assert!(profile.health.complete * 100 >= profile.health.samples * 99, "{:?}", profile.health);
    assert!(names.iter().filter(|name| **name == "dive").count() >= 1000, "{}", names.len());
    assert!(names.contains(&"main"));
}

#[test]
fn deeper_ones_are_cut_and_counted() {
    demand_privilege();
    let profile = sampled(100_000, 8192);
    assert_eq!(profile.health.truncated, profile.health.samples, "{:?}", profile.health);
    let names = deepest(&profile);
    assert_eq!(names[0], "[truncated]");
    // Frames of the unwinder (1,024), of the kernel (127), and the marker.
    assert!(names.len() <= 1024 + 127 + 1, "{}", names.len());
}
