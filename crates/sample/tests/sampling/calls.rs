//! System calls are counted exactly.

use std::time::Duration;

use weir_profile::Profile;
use weir_sample::{Options, Session};

use crate::program::{HEAD, Program, demand_privilege};

/// A known number of calls, after a byte has arrived; then exit.
const CODE: &str = r#"
int main(void) {
    char byte;
    ready();
    if (read(0, &byte, 1) != 1) return 1;
    for (int i = 0; i < 12345; i++) syscall(SYS_getppid);
    for (int i = 0; i < 678; i++) close(-1);
    for (int i = 0; i < 5; i++) { struct timespec time = { 0, 5000000 }; nanosleep(&time, 0); }
    return 0;
}
"#;

fn call(profile: &Profile, name: &str) -> (u64, u64) {
    let found = profile.system_calls.iter().find(|call| call.name == name);
    found.map_or((0, 0), |call| (call.calls, call.errors))
}

#[test]
fn calls_are_counted_exactly_until_the_process_ends() {
    demand_privilege();
    let mut program = Program::run(&format!("{HEAD}{CODE}"));
    let options =
        Options { on_cpu: false, system_calls: true, duration: Some(Duration::from_secs(20)), ..Options::default() };
    let mut session = Session::start(&program.found(), &options).expect("sampling starts");
    let mut waits = true;
    let recorded = session.run(&false.into(), &mut |_| {
        if std::mem::take(&mut waits) {
            program.go();
        }
    });
    let profile = recorded.on_cpu.expect("the profile that holds the calls");
    assert_eq!(call(&profile, "getppid"), (12345, 0));
    assert_eq!(call(&profile, "close"), (678, 678));
    let naps = profile.system_calls.iter().find(|call| call.name.ends_with("nanosleep")).expect("it slept");
    assert_eq!((naps.calls, naps.errors), (5, 0));
    assert!(naps.total_ns >= 25_000_000 && naps.max_ns >= 5_000_000 && naps.max_ns <= naps.total_ns, "{naps:?}");
    assert!(profile.meta.remarks.iter().any(|remark| remark.contains("ended after")), "{:?}", profile.meta.remarks);
}
