//! nginx's own Lua state, found through its configuration: known before the first sample in Lua.
//!
//! `ngx_cycle` holds the configuration of all modules; that of `http` has one entry for each of its
//! modules, and the first field of `ngx_http_lua_module`'s entry is its `lua_State`.

use weir_unwind::Process;

/// Maximum number of nginx modules; a larger index is invalid.
const MAX_MODULES: u64 = 4096;

/// The `lua_State` of a worker; `None` if it is not nginx with Lua, or not configured.
pub(crate) fn state(process: &Process) -> Option<u64> {
    let memory = process.memory();
    let find = |name: &str| {
        process.modules().find_map(|loaded| loaded.module.symbol(name).map(|address| loaded.to_process(address)))
    };
    let cycle = memory.u64(find("ngx_cycle")?).ok()?;
    let http = memory.u64(find("ngx_http_module")? + INDEX).ok()?;
    let lua = memory.u64(find("ngx_http_lua_module")? + CONTEXT_INDEX).ok()?;
    if http >= MAX_MODULES || lua >= MAX_MODULES {
        return None;
    }
    let contexts = memory.u64(cycle).ok()?;
    let context = memory.u64(contexts + 8 * http).ok()?;
    let main = memory.u64(context).ok()?;
    let configuration = memory.u64(main + 8 * lua).ok()?;
    memory.u64(configuration).ok().filter(|&state| state != 0)
}

/// `ngx_module_t.ctx_index`
const CONTEXT_INDEX: u64 = 0;
/// `ngx_module_t.index`
const INDEX: u64 = 8;
