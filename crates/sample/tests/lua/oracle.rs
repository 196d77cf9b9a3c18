//! Comparison with LuaJIT's own profiler (`jit.p`) under the same load at the same time.
//!
//! `jit.p` requests the Lua stack at the next instruction (or guard of a trace) after each tick of
//! the CPU clock, so both sample the same process and may differ only by their sampling errors. Its
//! own work is excluded.

use std::collections::HashMap;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use crate::program::{
    DEVIATIONS, MODES, Mode, Running, check_read, count, demand_privilege, folded, lua, path, sample,
};

/// CPU time that the program takes, in seconds.
const SECONDS: &str = "1.5";
/// Allowed difference beyond chance: `jit.p` sees a function a few instructions late.
const LATE: f64 = 0.03;
const FUNCTIONS: [&str; 4] = ["integers", "tables", "texts", "fibonacci"];

#[test]
fn shares_by_function_are_those_of_jit_p() {
    demand_privilege();
    for mode in MODES {
        let directory = tempfile::tempdir().expect("a directory");
        let report = directory.path().join("jit.p");
        let mut command = Command::new("luajit");
        command.arg(if mode == Mode::Interpreter { "-joff" } else { "-jon" });
        command.arg(format!("-jp=fri1m0,{}", report.display())).arg(path("mixed.lua")).arg(SECONDS);
        let mut running = Running(command.spawn().expect("luajit starts"));
        sleep(Duration::from_millis(100));
        let profile = sample(running.0.id(), Duration::from_millis(1300));
        assert!(running.0.wait().expect("it ends").success());
        check_read(&profile, 0.9);

        let report = std::fs::read_to_string(&report).expect("jit.p writes");
        let theirs = read(&report);
        let ours: HashMap<&str, u64> = FUNCTIONS
            .iter()
            .map(|name| {
                let own = |stack: &[&weir_profile::Frame]| {
                    let lua = lua(stack);
                    lua.last() == Some(name) && !stack.iter().any(|frame| frame.module == "p.lua")
                };
                (*name, count(&profile, own))
            })
            .collect();
        let totals = (ours.values().sum::<u64>() as f64, theirs.values().sum::<u64>() as f64);
        assert!(totals.0 > 100.0 && totals.1 > 100.0, "{mode:?}: {ours:?} {theirs:?}\n{}", folded(&profile));
        for name in FUNCTIONS {
            let our = ours[name] as f64 / totals.0;
            let their = theirs.get(name).copied().unwrap_or(0) as f64 / totals.1;
            let variance = their * (1.0 - their) * (1.0 / totals.0 + 1.0 / totals.1);
            let bound = DEVIATIONS * variance.sqrt() + LATE;
            eprintln!("{mode:?} {name}: {our:.3}, jit.p {their:.3} ± {bound:.3}");
            assert!((our - their).abs() < bound, "{mode:?} {name}: {our:.3} and {their:.3}\n{}", folded(&profile));
        }
    }
}

/// Lines of `count  function`.
fn read(report: &str) -> HashMap<&str, u64> {
    report
        .lines()
        .filter_map(|line| line.trim().split_once(char::is_whitespace))
        .filter(|(_, name)| FUNCTIONS.contains(&name.trim()))
        .map(|(count, name)| (name.trim(), count.parse().expect("a number")))
        .collect()
}
