//! The part of a virtual machine captured at the moment of a sample, because it cannot be read later.

/// The part of a LuaJIT state that the kernel side has read: `struct lua_stack` of
/// `crates/sample/bpf/lua_types.bpf.h`. Addresses are those of the process.
#[derive(Clone, Copy, Debug)]
pub struct RawLua<'a> {
    /// `global_State` of the virtual machine.
    pub global: u64,
    /// `g->vmstate`: a trace number if not negative, otherwise `~LJ_VMST_*`.
    pub vmstate: i32,
    /// The innermost native frame of the virtual machine: its stack pointer.
    pub cframe: u64,
    /// [`RawLua::CUT`], [`RawLua::COMPLETE`], [`RawLua::TRACE`].
    pub flags: u32,
    /// Frames, innermost first, of the running coroutine, then of the one that resumed it, and so on.
    pub frames: &'a [RawLuaFrame],
}

impl RawLua<'_> {
    /// The stack has more frames than the maximum.
    pub const CUT: u32 = 1;
    /// The stack was read down to its bottom, and every frame was checked.
    pub const COMPLETE: u32 = 2;
    /// In a trace's machine code, or in C called from it.
    pub const TRACE: u32 = 4;
}

/// One Lua frame. `#[repr(C)]`: the same as `struct lua_frame` of `crates/sample/bpf/lua_types.bpf.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct RawLuaFrame {
    /// The `lua_State` (coroutine) that the frame is of.
    pub state: u64,
    /// Its function object (`GCfunc`), which may since have been collected.
    pub function: u64,
    /// `GCproto` of a Lua function (`ffid` 0); otherwise the function's entry, the `f` pointer.
    pub code: u64,
    /// Address of the bytecode at which the frame continues; 0 if not known.
    pub pc: u64,
    /// Stack pointer of the interpreter's native frame in which it runs; 0 if not known.
    pub cframe: u64,
    /// `ffid` of the function: 0 Lua, 1 C, larger: a fast function.
    pub ffid: u32,
    /// Low bits of the frame's link: 0 Lua, 1 C, 2 continuation, 3 vararg, plus 4 for lua_pcall and similar.
    pub link: u32,
}
