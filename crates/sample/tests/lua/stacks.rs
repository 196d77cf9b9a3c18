//! Lua stacks match those of the program: through coroutines, recursion, C, FFI, and short-lived
//! functions.

use weir_profile::{Frame, Origin};

use crate::program::{MODES, Mode, check_read, count, demand_privilege, folded, lua, profile};

fn has(stack: &[&Frame], names: &[&str]) -> bool {
    let mut rest = stack.iter();
    names.iter().all(|name| rest.any(|frame| frame.name == *name))
}

#[test]
fn coroutines_stand_on_those_that_resumed_them() {
    demand_privilege();
    for mode in MODES {
        let profile = profile("coroutines.lua", mode);
        check_read(&profile, 0.98);
        // The first function of a coroutine has no caller that names it, so it is named by its
        // line.
        let whole = ["main chunk", "coroutine.wrap", "function@21", "coroutine.resume", "function@13"];
        let innermost = [&whole[..], &["coroutine.wrap", "function@7", "burn"]].concat();
        let samples = profile.health.samples as f64;
        let found = count(&profile, |stack| has(stack, &innermost)) as f64 / samples;
        assert!((0.45..0.75).contains(&found), "{mode:?}: {found}\n{}", folded(&profile));
        let astray = count(&profile, |stack| {
            let lua = lua(stack);
            lua.contains(&"function@7") && !has(stack, &whole)
        });
        assert!(astray as f64 <= 0.01 * samples, "{mode:?}: {astray}\n{}", folded(&profile));
    }
}

#[test]
fn a_recursion_of_two_hundred_frames_is_whole() {
    demand_privilege();
    for mode in MODES {
        let profile = profile("recursion.lua", mode);
        check_read(&profile, 0.98);
        let whole = count(&profile, |stack| {
            let lua = lua(stack);
            lua.iter().filter(|name| **name == "down").count() == 200 && lua[..2] == ["main chunk", "start"]
        });
        assert!(whole as f64 >= 0.9 * profile.health.samples as f64, "{mode:?}: {whole}\n{}", folded(&profile));
    }
}

#[test]
fn functions_that_live_for_one_call_are_read_in_time() {
    demand_privilege();
    for mode in MODES {
        let profile = profile("closures.lua", mode);
        check_read(&profile, 0.98);
        let samples = profile.health.samples as f64;
        let found = count(&profile, |stack| lua(stack) == ["main chunk", "run", "short_lived"]) as f64;
        assert!(found > 0.7 * samples, "{mode:?}: {found} of {samples}\n{}", folded(&profile));
        let known = ["main chunk", "run", "short_lived", "make"];
        let astray = count(&profile, |stack| lua(stack).iter().any(|name| !known.contains(name))) as f64;
        assert!(astray < 0.01 * samples, "{mode:?}: {astray} of {samples}\n{}", folded(&profile));
    }
}

#[test]
fn lua_that_c_calls_stands_on_that_c() {
    demand_privilege();
    let cases: [&[&str]; 4] = [
        &["main chunk", "sorting", "table.sort", "[lj_vm]", "function@3"],
        &["main chunk", "replacing", "string.gsub", "[lj_vm]", "function@4"],
        &["main chunk", "guarding", "pcall", "function@15"],
        &["main chunk", "indexing", "__index"],
    ];
    for mode in MODES {
        let profile = profile("callbacks.lua", mode);
        check_read(&profile, 0.98);
        let samples = profile.health.samples as f64;
        for case in cases {
            let last = case.last().expect("a name");
            let found = count(&profile, |stack| has(stack, case)) as f64;
            let all = count(&profile, |stack| lua(stack).contains(last)) as f64;
            assert!(found > 0.01 * samples, "{mode:?} {case:?}: {found} of {samples}\n{}", folded(&profile));
            assert!(found >= 0.98 * all - 1.0, "{mode:?} {case:?}: {found} of {all}\n{}", folded(&profile));
        }
        let between = count(&profile, |stack| {
            let at = |name: &str| stack.iter().position(|frame| frame.name == name);
            match (at("table.sort"), at("function@3")) {
                (Some(sort), Some(compare)) => stack[sort..compare].iter().all(|frame| frame.origin != Origin::Native),
                _ => false,
            }
        });
        assert_eq!(between, 0, "{mode:?}: table.sort's own C frames lie between\n{}", folded(&profile));
    }
}

#[test]
fn c_that_a_trace_calls_stands_on_the_trace() {
    demand_privilege();
    let profile = profile("foreign.lua", Mode::Compiler);
    check_read(&profile, 0.98);
    let samples = profile.health.samples as f64;
    let found = count(&profile, |stack| {
        let trace = stack.iter().position(|frame| frame.origin == Origin::LuaTrace);
        let above = trace.and_then(|trace| stack.get(trace + 1));
        lua(stack) == ["main chunk", "lengths"] && above.is_some_and(|frame| frame.name.contains("strlen"))
    });
    assert!(found as f64 > 0.7 * samples, "{found} of {samples}\n{}", folded(&profile));
}
