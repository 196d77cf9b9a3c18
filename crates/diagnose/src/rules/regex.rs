//! `lua-regex-no-compile-once`, `regex-no-jit`: patterns that are compiled for each match, or
//! interpreted although PCRE could run them as machine code.

use super::nginx::{again, configuration, place};
use super::stacks::Stacks;
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Confidence, Evidence, Finding, Severity, percent};

pub(super) const COMPILED_AGAIN: Rule = Rule {
    id: "lua-regex-no-compile-once",
    title: "Patterns are compiled at request time",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time in `pcre_compile`, `pcre2_compile`, `pcre_study`, and the Lua lines that lead to it",
    threshold: "from 2 % of the CPU: with the option `o`, or in nginx's own configuration, a pattern is compiled once",
    check: compiled_again,
};

pub(super) const NO_JIT: Rule = Rule {
    id: "regex-no-jit",
    title: "Patterns are interpreted",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time in PCRE's own code while it matches (compiled patterns run outside the library), and `pcre_jit`",
    threshold: "from 5 % of the CPU in PCRE's interpreter: compiled patterns take a third of that or less, and below that there is \
                little to gain",
    check: no_jit,
};

const COMPILE: &[&str] = &[
    "pcre_compile",
    "pcre_compile2",
    "pcre2_compile_8",
    "pcre_study",
    "pcre2_jit_compile_8",
    "ngx_http_lua_ffi_compile_regex",
];
const MATCH: &[&str] = &["pcre_exec", "pcre2_match_8", "pcre_dfa_exec", "pcre2_dfa_match_8"];
const INTERPRETER: &[&str] = &[
    "match",
    "internal_match",
    "internal_dfa_match",
    "pcre_exec",
    "pcre2_match_8",
    "pcre_dfa_exec",
    "pcre2_dfa_match_8",
];
const LIBRARY: &[&str] = &["libpcre"];

fn compiled_again(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let compile = stacks.named(COMPILE);
    let part = stacks.under(&compile);
    let lua = stacks.named(&["ngx_http_lua_*", "ngx_stream_lua_*"]);
    let by_lua = stacks.part(|stack| compile.any(stack) && lua.any(stack)).share > part.share / 2.0;
    let fix = if by_lua {
        "give ngx.re.* the options \"jo\": o keeps the compiled pattern in the worker, j lets PCRE compile it to machine code; \
         patterns assembled at request time cannot be kept"
    } else {
        "compile each pattern once, when the configuration is read, and keep it"
    };
    part.reaches(0.02, 8).then(|| {
        Finding::new(
            COMPILED_AGAIN.id,
            format!("{} of the CPU goes to compiling regular expressions at request time.", percent(part.share)),
        )
        .severity(if part.share >= 0.2 { Severity::Serious } else { Severity::Warning })
        .confidence(Confidence::Certain)
        .share(part.share)
        .with(stacks.callers(&compile, 4))
        .fix(fix)
        .verify(again(facts, COMPILED_AGAIN.id))
    })
}

fn no_jit(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let matching = stacks.named(MATCH);
    let (library, interpreter) = (stacks.in_module(LIBRARY), stacks.named(INTERPRETER));
    // The leaf decides: a compiled pattern's code does not belong to a library.
    let interpreted = stacks.part(|stack| matching.any(stack) && (library.leaf(stack) || interpreter.leaf(stack)));
    let all = stacks.under(&matching);
    if !interpreted.reaches(0.05, 10) || interpreted.share < all.share / 2.0 {
        return None;
    }
    let switch = configuration(facts).map(|configuration| configuration.main().effective("pcre_jit"));
    let is_on = switch.is_some_and(|directive| directive.is_some_and(|one| one.value() == "on"));
    let lua = stacks.named(&["ngx_http_lua_*"]);
    let by_lua = stacks.part(|stack| matching.any(stack) && lua.any(stack)).share > all.share / 2.0;
    let fix = match (by_lua, is_on) {
        (true, _) => "give ngx.re.* the options \"jo\"",
        (false, false) => "pcre_jit on;   # outside all blocks; off is the default",
        (false, true) => {
            "pcre_jit is on: the patterns cannot be compiled by PCRE, or a library compiles its own patterns without requesting it"
        }
    };
    let off = Evidence::Figure { name: "pcre_jit".into(), value: "not set (default: off)".into() };
    let written = switch.map(|directive| directive.map_or(off, place)).filter(|_| !by_lua);
    Some(
        Finding::new(
            NO_JIT.id,
            format!("{} of the CPU goes to interpreting regular expressions.", percent(interpreted.share)),
        )
        .confidence(if switch.is_some() && !is_on { Confidence::Certain } else { Confidence::Likely })
        .share(interpreted.share)
        .with(written)
        .with(stacks.callers(&matching, 3))
        .fix(fix)
        .verify(again(facts, NO_JIT.id)),
    )
}
