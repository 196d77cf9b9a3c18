//! A Lua program that is run, sampled and stopped.

use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use weir_profile::{Frame, Origin, Profile};
use weir_sample::{Options, Session, Target, find};

/// Minimum number of samples for measuring shares.
const ENOUGH: u64 = 1_200;
const PATIENCE: Duration = Duration::from_secs(60);
/// Minimum share of samples in Lua with a complete stack.
const READ: f64 = 0.98;
/// Time for a program to get to its work.
const START: Duration = Duration::from_millis(300);
/// Allowed deviation of a share, in standard deviations: by chance one run in some ten thousand
/// exceeds it.
pub const DEVIATIONS: f64 = 4.5;

/// How LuaJIT runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Interpreter,
    Compiler,
}

pub const MODES: [Mode; 2] = [Mode::Interpreter, Mode::Compiler];

/// Fails if nothing can be sampled here.
pub fn demand_privilege() {
    weir_sample::privilege().unwrap_or_else(|error| panic!("{error}"));
}

pub fn path(program: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/lua/programs", program].iter().collect()
}

/// A process that is killed when this is dropped.
pub struct Running(pub Child);

impl Running {
    pub fn start(program: &str, mode: Mode, arguments: &[&str]) -> Self {
        let mut command = Command::new("luajit");
        command.arg(if mode == Mode::Interpreter { "-joff" } else { "-jon" });
        let child = command.args(arguments).arg(path(program)).arg("1000").spawn().expect("luajit starts");
        sleep(START);
        Self(child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Samples a process.
pub fn sample(pid: u32, time: Duration) -> Profile {
    let found = find(&Target::Pid(pid)).expect("it runs");
    let options = Options { frequency_hz: 997, duration: Some(time), ..Options::default() };
    let mut session = Session::start(&found, &options).expect("sampling starts");
    let recorded = session.run(&AtomicBool::new(false), &mut |_| {});
    recorded.on_cpu.expect("asked for")
}

/// Runs a program and samples it until there are enough samples, which takes longer on a busy
/// machine.
pub fn profile(program: &str, mode: Mode) -> Profile {
    profile_of(program, mode, 997, ENOUGH)
}

/// The same with a given number of samples, at a given rate.
pub fn profile_of(program: &str, mode: Mode, frequency_hz: u32, enough: u64) -> Profile {
    let running = Running::start(program, mode, &[]);
    let found = find(&Target::Pid(running.0.id())).expect("it runs");
    let options = Options { frequency_hz, duration: Some(PATIENCE), ..Options::default() };
    let mut session = Session::start(&found, &options).expect("sampling starts");
    let stop = AtomicBool::new(false);
    let recorded = session.run(&stop, &mut |progress| stop.store(progress.samples >= enough, Ordering::Relaxed));
    recorded.on_cpu.expect("asked for")
}

/// Checks that Lua stacks are complete, for all samples with Lua, which almost all samples have.
pub fn check_read(profile: &Profile, mostly: f64) {
    let health = &profile.health;
    assert!(health.samples >= 50, "{health:?}");
    assert!(health.lua as f64 >= mostly * health.samples as f64, "{health:?}");
    assert!(health.lua_read as f64 >= READ * health.lua as f64, "{health:?}");
}

/// Stacks with their number of samples.
pub fn stacks(profile: &Profile) -> impl Iterator<Item = (Vec<&Frame>, u64)> {
    profile
        .samples
        .iter()
        .map(|sample| (profile.stack(sample.stack).iter().map(|id| profile.frame(*id)).collect(), sample.count))
}

/// Names of the Lua functions of a stack, root first.
pub fn lua<'a>(stack: &[&'a Frame]) -> Vec<&'a str> {
    stack.iter().filter(|frame| frame.origin == Origin::Lua).map(|frame| frame.name.as_str()).collect()
}

/// Number of samples whose stack is of a kind.
pub fn count(profile: &Profile, mut is: impl FnMut(&[&Frame]) -> bool) -> u64 {
    stacks(profile).filter(|(stack, _)| is(stack)).map(|(_, count)| count).sum()
}

/// Folded stacks, for messages.
pub fn folded(profile: &Profile) -> String {
    let mut lines: Vec<String> = stacks(profile)
        .map(|(stack, count)| {
            let names: Vec<_> = stack.iter().map(|frame| frame.name.as_str()).collect();
            format!("{count:6} {}", names.join(";"))
        })
        .collect();
    lines.sort_by(|a, b| b.cmp(a));
    lines.truncate(40);
    lines.join("\n")
}
