//! `lua-variable-copying`: most of the cost of a Lua handler is often not Lua code, but copying
//! nginx's variables and headers, each to a new string.

use super::nginx::again;
use super::stacks::{Stacks, is_named};
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Finding, Severity, percent};

pub(super) const COPYING: Rule = Rule {
    id: "lua-variable-copying",
    title: "Lua copies nginx's variables, headers and arguments",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time below `ngx.var`, `ngx.req.get_headers`, `get_uri_args`, `get_post_args`, `ngx.resp.get_headers` and the \
               functions of nginx and resty.core behind them",
    threshold: "from 5 % of the CPU: three or four variables per request cost 1 to 3 %, a handler that reads everything \
                10 % and more",
    check,
};

/// Functions in machine code.
const NATIVE: &[&str] = &[
    "ngx_http_lua_var_get",
    "ngx_http_lua_ffi_var_get",
    "ngx_http_lua_ffi_req_get_headers*",
    "ngx_http_lua_ffi_req_get_uri_args*",
    "ngx_http_lua_ffi_decode_args",
    "ngx_http_lua_ngx_req_get_*",
    "ngx_http_lua_ffi_req_get_querystring*",
    "ngx_http_lua_ffi_get_resp_header*",
    "ngx_http_lua_ffi_parse_args",
    "ngx_http_lua_parse_args",
    "ngx_http_lua_get_req_header",
    "ngx_http_lua_ffi_req_header_*",
    "ngx_http_lua_ffi_req_get_method*",
    "ngx_http_lua_ffi_get_ctx_ref",
];
/// Functions in Lua: files of resty.core, whose functions run interpreted or compiled.
const LUA: &[&str] = &[
    "*resty/core/var.lua*",
    "*resty/core/request.lua*",
    "*resty/core/response.lua*",
    "ngx.req.get_*",
    "ngx.resp.get_*",
    "ngx.req.raw_header",
];

fn check(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let copying = stacks.frames(|frame| {
        let name = &frame.name;
        is_named(name, NATIVE) || is_named(name, LUA) || is_named(&frame.module, LUA) || is_named(&frame.file, LUA)
    });
    let part = stacks.under(&copying);
    if !part.reaches(0.05, 10) {
        return None;
    }
    let sentence =
        format!("{} of the CPU goes to copying nginx's variables, headers or arguments into Lua.", percent(part.share));
    Some(
        Finding::new(COPYING.id, sentence)
            .severity(if part.share >= 0.2 { Severity::Serious } else { Severity::Warning })
            .share(part.share)
            .with(stacks.callers(&copying, 4))
            .fix(
                "read each variable once per request into a local, and only the ones in use; read one header \
                 (ngx.var.http_NAME) instead of all of them; read headers and arguments only where they are needed",
            )
            .verify(again(facts, COPYING.id)),
    )
}
