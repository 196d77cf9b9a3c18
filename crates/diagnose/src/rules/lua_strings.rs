//! `lua-string-interning`, `lua-table-growth`: the cost of each string and table that a request
//! creates. It is spread over many functions, none of which stands out, and therefore needs a rule.

use super::nginx::again;
use super::stacks::Stacks;
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Finding, percent};

pub(super) const INTERNING: Rule = Rule {
    id: "lua-string-interning",
    title: "Lua creates many strings",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time in `lj_str_new` and what it calls (hashing, comparing, growing the string table), and the Lua lines \
               that lead to it",
    threshold: "from 3 % of the CPU: a handler that reads a few variables stays below 2 %, while the gateway on which \
                this rule is based had 5 %, with half of its CPU time related to it",
    check: interning,
};

pub(super) const TABLE_GROWTH: Rule = Rule {
    id: "lua-table-growth",
    title: "Lua tables grow step by step",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time in `lj_tab_resize` and its callers, and the Lua lines that lead to it",
    threshold: "from 3 % of the CPU: tables created with their size, or with a handful of keys, stay below 1 %",
    check: growth,
};

const STRINGS: &[&str] = &[
    "lj_str_new",
    "lj_str_alloc",
    "lj_str_resize",
    "lj_str_rehash_chain",
    "lj_str_hash*",
    "hash_dense",
    "hash_sparse",
];
const TABLES: &[&str] = &["lj_tab_resize", "lj_tab_rehash", "rehashtab", "lj_tab_reasize"];

fn interning(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let set = stacks.named(STRINGS);
    let part = stacks.under(&set);
    part.reaches(0.03, 10).then(|| {
        Finding::new(INTERNING.id, format!("{} of the CPU goes to creating Lua strings (interning).", percent(part.share)))
            .share(part.share)
            .with(stacks.callers(&set, 4))
            .fix(
                "create fewer strings: one table.concat (or string.buffer) instead of `..` in loops, string.byte instead of string.sub \
                 to read a byte, no copies of unused variables, no messages that the log level drops",
            )
            .verify(again(facts, INTERNING.id))
    })
}

fn growth(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let set = stacks.named(TABLES);
    let part = stacks.under(&set);
    part.reaches(0.03, 10).then(|| {
        Finding::new(TABLE_GROWTH.id, format!("{} of the CPU goes to growing Lua tables.", percent(part.share)))
            .share(part.share)
            .with(stacks.callers(&set, 4))
            .fix(
                "create tables with their size, require(\"table.new\")(array, hash), write all keys in the constructor, keep \
                 tables between requests (tablepool, table.clear) and use locals instead of ngx.ctx where possible",
            )
            .verify(again(facts, TABLE_GROWTH.id))
    })
}
