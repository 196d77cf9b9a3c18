//! `lua-code-cache-off`: source is read and compiled to bytecode for each request.

use super::nginx::{again, at};
use super::stacks::Stacks;
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Confidence, Finding, Severity, percent};

pub(super) const CODE_CACHE_OFF: Rule = Rule {
    id: "lua-code-cache-off",
    title: "Lua is loaded at request time",
    needs: RuleNeeds::Any(&[FactSource::Profile, FactSource::Configuration]),
    looks_at: "`lua_code_cache` in the configuration, and time below LuaJIT's loader (`lua_load`, `luaL_loadbuffer`, `lj_parse`)",
    threshold: "when `lua_code_cache off` is configured, which is for development only; otherwise from 3 % of the CPU, because a \
                handler should be loaded only once",
    check,
};

const LOADER: &[&str] = &[
    "lua_load",
    "lua_loadx",
    "luaL_loadbuffer*",
    "luaL_loadfile*",
    "luaL_loadstring",
    "lj_parse",
    "lj_lex_*",
    "ngx_http_lua_cache_load*",
    "ngx_http_lua_clfactory_load*",
];

fn check(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref());
    let loaded = stacks.as_ref().map(|stacks| {
        let loader = stacks.named(LOADER);
        (stacks.under(&loader), stacks.callers(&loader, 2))
    });
    let off = facts.lua.as_ref().and_then(|lua| lua.code_cache_off.first());
    let busy = loaded.as_ref().is_some_and(|(part, _)| part.reaches(0.03, 10));
    if off.is_none() && !busy {
        return None;
    }
    let share = loaded.as_ref().map_or(0.0, |(part, _)| part.share);
    let (sentence, fix) = match off {
        Some(_) => (
            "lua_code_cache is off: every request reads and compiles its Lua anew.".to_owned(),
            "lua_code_cache on;   # the default; off is for development",
        ),
        None => (
            format!("{} of the CPU goes to loading Lua source at request time.", percent(share)),
            "call load, loadstring, loadfile and dofile once (init_by_lua, or at the top of a module) and keep the function",
        ),
    };
    let finding = Finding::new(CODE_CACHE_OFF.id, sentence)
        .severity(if share >= 0.2 { Severity::Serious } else { Severity::Warning })
        .confidence(if off.is_some() { Confidence::Certain } else { Confidence::Likely })
        .with(off.map(|place| at(place, "lua_code_cache off;")))
        .with(loaded.map(|(_, stacks)| stacks).unwrap_or_default())
        .fix(fix)
        .verify(again(facts, CODE_CACHE_OFF.id));
    Some(if share > 0.0 { finding.share(share) } else { finding })
}
