//! `lua-string-interning`, `lua-table-growth`: what Lua does for each string and table that a request
//! makes. No such function stands out by itself, which is why it takes a rule.

use super::nginx::again;
use super::stacks::Stacks;
use super::{Needs, Rule, Source};
use crate::facts::Facts;
use crate::finding::{Finding, percent};

pub(super) const INTERNING: Rule = Rule {
    id: "lua-string-interning",
    title: "Lua makes many strings",
    needs: Needs::All(&[Source::Profile]),
    looks_at: "time in `lj_str_new` and what it calls (hashing, comparing, growing of the table of strings), and the Lua lines \
               that lead to it",
    threshold: "from 3 % of the CPU: a handler that looks at a few variables stays below 2 %, while the gateway of the \
                story that this rule is made from had 5 %, and half of its CPU behind it",
    check: interning,
};

pub(super) const TABLE_GROWTH: Rule = Rule {
    id: "lua-table-growth",
    title: "Lua tables grow step by step",
    needs: Needs::All(&[Source::Profile]),
    looks_at: "time in `lj_tab_resize` and what calls it, and the Lua lines that lead to it",
    threshold: "from 3 % of the CPU: tables that are made with their size, or have a handful of keys, stay below 1 %",
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
        Finding::new(INTERNING.id, format!("{} of the CPU goes to making Lua strings (interning).", percent(part.share)))
            .share(part.share)
            .with(stacks.callers(&set, 4))
            .fix(
                "make fewer strings: no `..` in loops but one table.concat (or string.buffer), no string.sub to look at a byte \
                 (string.byte), no copies of variables that nothing uses, no messages that the log level drops",
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
                "make tables with their size, require(\"table.new\")(array, hash), write all keys in the constructor, keep \
                 tables between requests (tablepool, table.clear) and do not use ngx.ctx for what a local can hold",
            )
            .verify(again(facts, TABLE_GROWTH.id))
    })
}
