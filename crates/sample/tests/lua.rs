//! Lua frames of real LuaJIT processes, against programs whose stacks are known, and against LuaJIT's own profiler.

#[path = "lua/nginx.rs"]
mod nginx;
#[path = "lua/oracle.rs"]
mod oracle;
#[path = "lua/program.rs"]
mod program;
#[path = "lua/shares.rs"]
mod shares;
#[path = "lua/stacks.rs"]
mod stacks;
