//! Lua functions have their known shares of time.

use std::collections::BTreeMap;

use weir_profile::{Frame, Origin};

use crate::program::{
    DEVIATIONS, MODES, Mode, check_read, count, demand_privilege, folded, lua, profile, profile_of, stacks,
};

const SHARES: [(&str, f64); 3] = [("half", 0.5), ("third", 0.3), ("fifth", 0.2)];
/// Maximum share of samples without a line: seven times the measured value, and two fifths of the
/// value without knowledge of trace entries and exits.
const UNKNOWN: f64 = 0.0004;
/// Number of samples needed to measure that, and their rate.
const MANY: u64 = 20_000;
const FAST: u32 = 4_999;

#[test]
fn shares_are_those_of_the_program() {
    demand_privilege();
    for mode in MODES {
        let profile = profile("shares.lua", mode);
        check_read(&profile, 0.98);
        let samples = profile.health.samples as f64;
        for (name, share) in SHARES {
            let found = count(&profile, |stack| lua(stack).last() == Some(&name)) as f64 / samples;
            let bound = DEVIATIONS * (share * (1.0 - share) / samples).sqrt() + 0.01;
            assert!(
                (found - share).abs() < bound,
                "{mode:?} {name}: {found:.3} of {samples}, not {share} ± {bound:.3}\n{}",
                folded(&profile)
            );
        }
        let traced = count(&profile, |stack| stack.iter().any(|frame| frame.origin == Origin::LuaTrace)) as f64;
        match mode {
            Mode::Interpreter => assert_eq!(traced, 0.0),
            Mode::Compiler => assert!(traced > 0.5 * samples, "{traced} of {samples}"),
        }
    }
}

fn named(frame: &Frame) -> bool {
    SHARES.iter().any(|(name, _)| *name == frame.name)
}

#[test]
fn frames_have_file_and_line() {
    demand_privilege();
    for mode in MODES {
        let profile = profile_of("shares.lua", mode, FAST, MANY);
        let mut lines = BTreeMap::<u32, u64>::new();
        for (stack, count) in stacks(&profile) {
            for frame in stack.into_iter().filter(|frame| frame.origin == Origin::Lua && named(frame)) {
                assert_eq!(frame.module, "shares.lua");
                assert!(frame.file.ends_with("/tests/lua/programs/shares.lua"), "{frame:?}");
                *lines.entry(frame.line).or_default() += count;
            }
        }
        // At the exit of a trace there are some instructions without a known line.
        let unknown = lines.remove(&0).unwrap_or(0);
        assert!(lines.keys().all(|line| (3..=17).contains(line)), "{mode:?}: {lines:?}");
        let known: u64 = lines.values().sum();
        assert!(known > 0 && unknown as f64 <= UNKNOWN * known as f64, "{mode:?}: {unknown} unknown, {lines:?}");
        let traces: Vec<_> = stacks(&profile)
            .flat_map(|(stack, _)| stack)
            .filter(|frame| frame.origin == Origin::LuaTrace)
            .map(|frame| frame.name.as_str())
            .collect();
        let of_loop = |name: &&str| name.starts_with("trace ") && name.ends_with(" shares.lua:5");
        assert_eq!(traces.iter().any(of_loop), mode == Mode::Compiler, "{traces:?}");
    }
}
