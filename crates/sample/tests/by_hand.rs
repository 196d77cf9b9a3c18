//! For looking at what sampling gives of any process, as folded stacks:
//!
//! ```text
//! WEIR_SAMPLE_PID=4711 WEIR_SAMPLE_SECONDS=3 cargo test -p weir-sample --test by_hand -- --ignored --nocapture
//! ```
//!
//! `WEIR_SAMPLE_TARGET` names a program, a control group (a path) or `all` instead. `WEIR_SAMPLE_OFF_CPU=1`, `WEIR_SAMPLE_CALLS=1`, `WEIR_SAMPLE_BACKEND=perf`, `WEIR_SAMPLE_HZ=999` do what they say.

use std::env;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use weir_profile::Profile;
use weir_sample::{Backend, Options, Session, Target, find};

fn number(name: &str) -> Option<u32> {
    env::var(name).ok()?.parse().ok()
}

#[test]
#[ignore = "needs a process to look at"]
fn any_process() {
    let target = match env::var("WEIR_SAMPLE_TARGET") {
        Ok(all) if all == "all" => Target::All,
        Ok(path) if path.starts_with('/') => Target::Cgroup(path.into()),
        Ok(name) => Target::Name(name),
        Err(_) => Target::Pid(number("WEIR_SAMPLE_PID").expect("WEIR_SAMPLE_PID names a process")),
    };
    let options = Options {
        duration: Some(Duration::from_secs(number("WEIR_SAMPLE_SECONDS").unwrap_or(3).into())),
        frequency_hz: number("WEIR_SAMPLE_HZ").unwrap_or(99),
        off_cpu: number("WEIR_SAMPLE_OFF_CPU").map(|_| Duration::from_millis(1)),
        system_calls: number("WEIR_SAMPLE_CALLS").is_some(),
        backend: if env::var("WEIR_SAMPLE_BACKEND").is_ok() { Backend::PerfEvent } else { Backend::Auto },
        ..Options::default()
    };
    let found = match find(&target) {
        Ok(found) => found,
        Err(error) => panic!("{error}"),
    };
    let begun = Instant::now();
    let mut session = match Session::start(&found, &options) {
        Ok(session) => session,
        Err(error) => panic!("{error}"),
    };
    eprintln!("started in {:?}", begun.elapsed());
    let recorded = session.run(&AtomicBool::new(false), &mut |_| {});
    eprintln!("over after {:?}", begun.elapsed());
    for profile in [recorded.on_cpu, recorded.off_cpu].into_iter().flatten() {
        show(&profile);
    }
}

fn show(profile: &Profile) {
    let mut samples = profile.samples.clone();
    samples.sort_by_key(|sample| std::cmp::Reverse(sample.weight));
    for sample in &samples {
        let names: Vec<_> = profile.stack(sample.stack).iter().map(|id| profile.frame(*id).name.as_str()).collect();
        let thread = &profile.threads[sample.thread.0 as usize];
        println!(
            "{}-{}/{};{} {} ({})",
            thread.name,
            thread.pid,
            thread.tid,
            names.join(";"),
            sample.weight,
            sample.count
        );
    }
    for call in profile.system_calls.iter().take(30) {
        println!("{call:?}");
    }
    println!("{:?}\n{:?}", profile.meta, profile.health);
}
