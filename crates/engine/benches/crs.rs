//! What the Core Rule Set costs in the engine alone: ordinary requests whose values never repeat, and requests made to
//! be dear.
//!
//! `cargo bench -p weir-engine --bench crs [-- NAME...]` prints microseconds per request at each paranoia level. With
//! `WEIR_TIMES=n` it runs n requests of the name, for callgrind and profilers; `WEIR_COSTS=1` prints what each
//! rule took of them. `WEIR_INPUT=file` measures an input of the fuzz target `work`, `WEIR_REQUESTS=file` runs
//! requests as `bench/load/dump.lua` writes them instead of its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use bumpalo::Bump;
use weir_engine::seclang::Program;
use weir_engine::{Meter, NoMeter, RuleIndex};

#[path = "crs/engine.rs"]
mod engine;
#[path = "crs/requests.rs"]
mod requests;

use engine::{SETUP, evaluate, plan, program};
use requests::{REQUESTS, Request, read_all, request_of};

/// Calls, matches and time of each rule and lane.
#[derive(Default)]
struct Costs {
    rules: BTreeMap<u32, (u64, u64, u64)>,
    lanes: BTreeMap<u32, (u64, u64)>,
}

impl Meter for Costs {
    fn sampled(&self) -> bool {
        true
    }
    fn now(&self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 processor has the instruction.
        return unsafe { core::arch::x86_64::_rdtsc() };
        #[cfg(not(target_arch = "x86_64"))]
        0
    }
    fn rule(&mut self, rule: RuleIndex, hit: bool, ticks: u64) {
        let cost = self.rules.entry(rule.0).or_default();
        *cost = (cost.0 + 1, cost.1 + u64::from(hit), cost.2 + ticks);
    }
    fn lane(&mut self, lane: u32, ticks: u64) {
        let cost = self.lanes.entry(lane).or_default();
        *cost = (cost.0 + 1, cost.1 + ticks);
    }
}

impl Costs {
    fn print(&self, program: &Program, times: u64) {
        let mut lines: Vec<(u64, String)> = Vec::new();
        for (rule, (calls, hits, ticks)) in &self.rules {
            let id = rule.checked_sub(1).map_or(0, |at| program.rules()[at as usize].id);
            lines.push((
                *ticks,
                format!(
                    "rule {id:<8} {:>8.2} calls {:>8.2} hits",
                    *calls as f64 / times as f64,
                    *hits as f64 / times as f64
                ),
            ));
        }
        for (lane, (calls, ticks)) in &self.lanes {
            lines.push((*ticks, format!("lane {lane:<8} {:>8.2} calls {:>13}", *calls as f64 / times as f64, "")));
        }
        lines.sort_by_key(|line| std::cmp::Reverse(line.0));
        lines.iter().take(60).for_each(|(ticks, line)| println!("{line} {:>8} ticks", ticks / times));
    }
}

fn main() {
    assert!(Path::new(SETUP).is_file(), "there is no {SETUP}: `make setup` installs it");
    let chosen: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let requests = || {
        let is_chosen = |name: &&str| chosen.is_empty() || chosen.iter().any(|one| name == one);
        REQUESTS.iter().filter(move |(name, _)| is_chosen(name))
    };
    let sent =
        std::env::var_os("WEIR_REQUESTS").map(|path| read_all(&std::fs::read(path).expect("the file can be read")));
    let program = program();
    let level = std::env::var("WEIR_LEVEL").unwrap_or_default();
    if let Some(times) = std::env::var("WEIR_TIMES").ok().and_then(|times| times.parse::<u64>().ok()) {
        let (plan, mut arena) = (plan(&program, if level.is_empty() { "1" } else { &level }), Bump::new());
        let mut run = |make: &dyn Fn(u64) -> Request| {
            let mut costs = std::env::var_os("WEIR_COSTS").map(|_| Costs::default());
            let mut took = Vec::with_capacity(times as usize);
            for number in 0..times {
                arena.reset();
                let (request, started) = (make(number), Instant::now());
                match &mut costs {
                    Some(costs) => evaluate(&plan, &request, &arena, costs),
                    None => evaluate(&plan, &request, &arena, &mut NoMeter),
                };
                took.push(started.elapsed().as_nanos());
            }
            took.sort_unstable();
            println!("{:.1} us each (median)", took[took.len() / 2] as f64 / 1e3);
            if let Some(costs) = costs {
                costs.print(&program, times);
            }
        };
        match &sent {
            Some(sent) => run(&|number| sent[number as usize % sent.len()].clone()),
            None => requests().for_each(|(_, make)| run(make)),
        }
        return;
    }
    if let Some(path) = std::env::var_os("WEIR_INPUT") {
        let bytes = std::fs::read(path).expect("the input can be read");
        let request = request_of(&bytes).expect("the input makes a request");
        for level in ["1", "2", "4"] {
            let (plan, mut arena) = (plan(&program, level), Bump::new());
            for _ in 0..3 {
                arena.reset();
                let started = Instant::now();
                let (findings, anomalies, units) = evaluate(&plan, &request, &arena, &mut NoMeter);
                let (bytes, ms) = (request.bytes(), started.elapsed().as_secs_f64() * 1e3);
                println!("level {level}: {bytes} bytes, {ms:.2} ms, {units} units, {findings} findings, {anomalies:?}");
            }
        }
        return;
    }
    println!("{:<18} {:>9} {:>10} {:>10} {:>10}", "request", "bytes", "level 1", "level 2", "level 4");
    let plans = ["1", "2", "4"].map(|level| plan(&program, level));
    for (name, make) in requests() {
        let bytes = make(0).bytes();
        let mut line = format!("{name:<18} {bytes:>9}");
        let mut notes = String::new();
        for plan in &plans {
            let mut arena = Bump::new();
            let (mut times, mut number, begun) = (Vec::new(), 0, Instant::now());
            while begun.elapsed().as_millis() < 400 || times.len() < 5 {
                let request = make(number);
                arena.reset();
                let started = Instant::now();
                let (findings, anomalies, spent) = evaluate(plan, &request, &arena, &mut NoMeter);
                times.push(started.elapsed().as_nanos() as f64 / 1e3);
                if number == 0 {
                    let names: Vec<_> = anomalies.names().collect();
                    notes += &format!(" {findings}{} ({} units)", names.join("+"), spent / 1000);
                }
                number += 1;
            }
            times.sort_by(f64::total_cmp);
            line += &format!(" {:>10.1}", times[times.len() / 2]);
        }
        println!("{line}   findings{notes}");
    }
}
