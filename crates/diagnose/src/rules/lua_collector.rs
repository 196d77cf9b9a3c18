//! `lua-gc`: collecting the garbage of requests.

use super::nginx::again;
use super::stacks::Stacks;
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Finding, percent};

pub(super) const GARBAGE: Rule = Rule {
    id: "lua-gc",
    title: "Lua's garbage collector is busy",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time in LuaJIT's collector (`lj_gc_*`, `gc_onestep`, `propagatemark`, ...), and the part of it in its allocator",
    threshold: "from 8 % of the CPU: at its default pace the collector follows allocation, and 2 to 5 % is usual for \
                handlers that produce some garbage",
    check,
};

const COLLECTOR: &[&str] = &[
    "lj_gc_*",
    "gc_*",
    "propagatemark",
    "propagate_gray",
    "sweepstring",
    "atomic",
    "lj_func_freeuv",
    "lj_func_free",
    "lj_tab_free",
    "lj_str_free",
    "lj_trace_free",
    "lj_cdata_free",
];
const ALLOCATOR: &[&str] = &["lj_alloc_*", "lj_mem_*"];

fn check(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let collector = stacks.of_luajit(COLLECTOR);
    let part = stacks.under(&collector);
    if !part.reaches(0.08, 10) {
        return None;
    }
    let allocator = stacks.under(&stacks.named(ALLOCATOR));
    Some(
        Finding::new(GARBAGE.id, format!("{} of the CPU goes to Lua's garbage collector.", percent(part.share)))
            .share(part.share)
            .with(stacks.callers(&collector, 3))
            .figure("in LuaJIT's allocator", percent(allocator.share))
            .fix(
                "produce less garbage: keep tables between requests (tablepool, table.clear), avoid closures and string building \
                 in handlers; a larger pause (collectgarbage(\"setpause\", 400) in init_worker_by_lua) trades memory for CPU",
            )
            .verify(again(facts, GARBAGE.id)),
    )
}
