//! `lua-table-sort`: LuaJIT does not compile `table.sort`. Each comparison goes through the C API,
//! and the code around the call is not compiled either.

use super::nginx::again;
use super::stacks::Stacks;
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Confidence, Finding, Severity, percent};

pub(super) const TABLE_SORT: Rule = Rule {
    id: "lua-table-sort",
    title: "table.sort in the request path",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time below `table.sort` (`lj_cf_table_sort`, `auxsort`), and the Lua lines that call it",
    threshold: "from 5 % of the CPU: sorting a handful of keys per request stays below 1 %",
    check,
};

fn check(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let sort = stacks.lua_named(&["lj_cf_table_sort", "auxsort", "table.sort", "lj_ffh_table_sort"]);
    let named = stacks.under(&sort);
    if named.reaches(0.05, 10) {
        return Some(finding(facts, named.share).with(stacks.callers(&sort, 4)));
    }
    // A stripped LuaJIT without Lua frames leaves one piece of evidence: only sorting compares through the API.
    let less = stacks.named(&["lua_lessthan"]);
    let compared = stacks.under(&less);
    compared
        .reaches(0.05, 10)
        .then(|| finding(facts, compared.share).confidence(Confidence::Possible).with(stacks.callers(&less, 2)))
}

fn finding(facts: &Facts, share: f64) -> Finding {
    Finding::new(TABLE_SORT.id, format!("{} of the CPU goes to table.sort, which LuaJIT does not compile.", percent(share)))
        .severity(if share >= 0.2 { Severity::Serious } else { Severity::Warning })
        .share(share)
        .fix(
            "sort less: keep sorted tables between requests, sort only what must be in order, count instead of sorting where \
             keys are few (bytes, small integers); or write the sort in Lua (insertion sort below 20 elements, merge sort \
             above), which the compiler turns into machine code",
        )
        .verify(again(facts, TABLE_SORT.id))
}
