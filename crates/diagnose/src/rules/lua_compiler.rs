//! `lua-not-compiled`, `lua-trace-aborts`: Lua that LuaJIT leaves to its interpreter, or compiles repeatedly.

use weir_profile::Origin;

use super::nginx::again;
use super::stacks::Stacks;
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Evidence, Finding, percent};

pub(super) const NOT_COMPILED: Rule = Rule {
    id: "lua-not-compiled",
    title: "Lua runs in the interpreter",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "the share of Lua's time in compiled traces, builtins that LuaJIT does not compile, and `jit.off()`",
    threshold: "when Lua takes 20 % of the CPU and less than half of that is compiled: 80 % and more of a hot handler is compiled, \
                and below a fifth of the CPU there is little to gain. Needs Lua frames",
    check: not_compiled,
};

pub(super) const TRACE_ABORTS: Rule = Rule {
    id: "lua-trace-aborts",
    title: "LuaJIT keeps compiling",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time in LuaJIT's compiler: recording (`lj_record_*`, `rec_*`), optimising (`lj_opt_*`), assembling (`lj_asm_*`)",
    threshold: "from 3 % of the CPU: the compiler is normally done within seconds after the start",
    check: trace_aborts,
};

/// Builtins that LuaJIT 2.1 does not compile, or only in some forms.
const NOT_COMPILED_BUILTINS: &[&str] = &[
    "table.sort",
    "string.gsub",
    "string.gmatch",
    "string.match",
    "string.find",
    "string.dump",
    "string.format",
    "pairs",
    "next",
    "unpack",
    "select",
    "pcall",
    "xpcall",
    "load",
    "loadstring",
    "coroutine.*",
    "collectgarbage",
    "print",
    "require",
    "table.remove",
    "table.maxn",
    "os.*",
    "io.*",
    "debug.*",
    "setfenv",
    "getfenv",
    "error",
];
const COMPILER: &[&str] = &[
    "lj_record_*",
    "rec_*",
    "recff_*",
    "lj_opt_*",
    "lj_asm_*",
    "asm_*",
    "lj_trace_ins",
    "lj_trace_err*",
    "trace_state",
    "trace_abort",
    "trace_start",
    "trace_stop",
    "lj_snap_add",
    "lj_snap_purge",
    "lj_ffrecord_*",
    "lj_crecord_*",
    "lj_ir_*",
    "fold_*",
    "lj_opt_fold",
];

fn not_compiled(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let lua = stacks.frames(|frame| matches!(frame.origin, Origin::Lua | Origin::LuaTrace | Origin::LuaBuiltin));
    let traces = stacks.frames(|frame| frame.origin == Origin::LuaTrace);
    let (all, compiled) = (stacks.under(&lua), stacks.under(&traces));
    // Without any trace and without evidence of `jit.off()`, the profile may simply lack traces.
    let off = facts.lua.as_ref().map(|lua| lua.jit_off.as_slice()).unwrap_or_default();
    let knows_traces = facts.profile.as_ref().is_some_and(|profile| profile.health.lua > 0) || compiled.samples > 0;
    if !all.reaches(0.2, 50) || compiled.share > all.share / 2.0 || (!knows_traces && off.is_empty()) {
        return None;
    }
    let builtins = stacks.frames(|frame| {
        frame.origin == Origin::LuaBuiltin && super::stacks::is_named(&frame.name, NOT_COMPILED_BUILTINS)
    });
    let interpreted = all.share - compiled.share;
    let sentence = match off.first() {
        Some(_) => {
            format!("Lua runs in the interpreter ({} of the CPU): the compiler is switched off.", percent(interpreted))
        }
        None => format!(
            "Lua runs in the interpreter: {} of the CPU, {} is compiled.",
            percent(interpreted),
            percent(compiled.share)
        ),
    };
    let places = off.iter().take(2).map(|text| Evidence::Figure { name: "jit.off()".into(), value: text.clone() });
    Some(
        Finding::new(NOT_COMPILED.id, sentence)
            .share(interpreted)
            .with(places)
            .with(stacks.lua_callers(&builtins, 4))
            .fix(
                "remove functions that LuaJIT does not compile from hot loops: ngx.re with \"jo\" for string patterns, ipairs or a counted \
                 loop for pairs, table.concat for string.format; require(\"jit.v\").on(FILE) shows what stops it",
            )
            .verify(again(facts, NOT_COMPILED.id)),
    )
}

fn trace_aborts(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let compiler = stacks.of_luajit(COMPILER);
    let part = stacks.under(&compiler);
    part.reaches(0.03, 10).then(|| {
        Finding::new(TRACE_ABORTS.id, format!("{} of the CPU goes to LuaJIT's compiler, which should be done by now.", percent(part.share)))
            .share(part.share)
            .with(stacks.callers(&compiler, 4))
            .fix(
                "require(\"jit.v\").on(FILE) in init_worker_by_lua shows which traces it aborts and why; usual reasons: code made \
                 at request time (loadstring, closures in loops), builtins that are not compiled, and too many traces \
                 (jit.opt.start(\"maxtrace=8000\", \"maxrecord=16000\", \"maxmcode=40960\"))",
            )
            .verify(again(facts, TRACE_ABORTS.id))
    })
}
