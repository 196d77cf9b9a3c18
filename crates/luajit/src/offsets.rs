//! The description of a build for the kernel side, in the layout of the BPF map.

/// Maximum number of virtual machines of one process; further ones are ignored.
pub const MAX_GLOBALS: usize = 8;

/// Offsets in bytes, and the location of the interpreter. `#[repr(C)]`: the same as `struct
/// lua_offsets` of `crates/sample/bpf/lua_types.bpf.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Offsets {
    /// Address of the interpreter's assembler code in the process.
    pub vm_start: u64,
    /// Its end.
    pub vm_end: u64,
    /// Each virtual machine's `global_State`.
    pub globals: [u64; MAX_GLOBALS],
    /// Number of known virtual machines.
    pub global_count: u32,
    /// From `global_State` to the dispatch table, to which r14 points in the interpreter and in traces.
    pub dispatch: u32,
    /// `global_State.cur_L`
    pub g_current: u32,
    /// `global_State.vmstate`
    pub g_vmstate: u32,
    /// `global_State.jit_base`
    pub g_jit_base: u32,
    /// `lua_State.glref`
    pub l_global: u32,
    /// `lua_State.base`
    pub l_base: u32,
    /// `lua_State.maxstack`
    pub l_maxstack: u32,
    /// `lua_State.stack`
    pub l_stack: u32,
    /// `lua_State.cframe`
    pub l_cframe: u32,
    /// Size of the interpreter's native frame, return address included.
    pub c_size: u32,
    /// In that frame: the `lua_State`.
    pub c_state: u32,
    /// In that frame: the saved address of bytecode.
    pub c_pc: u32,
    /// In that frame: the native frame before it.
    pub c_previous: u32,
    /// In that frame: number of results wanted; negative for a frame that runs no Lua.
    pub c_results: u32,
    /// Size of `GCproto`: its bytecode follows it.
    pub proto_size: u32,
}

impl Offsets {
    /// The bytes as they go into the map.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(size_of::<Self>());
        for word in [self.vm_start, self.vm_end].iter().chain(&self.globals) {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        for half in [
            self.global_count,
            self.dispatch,
            self.g_current,
            self.g_vmstate,
            self.g_jit_base,
            self.l_global,
            self.l_base,
            self.l_maxstack,
            self.l_stack,
            self.l_cframe,
            self.c_size,
            self.c_state,
            self.c_pc,
            self.c_previous,
            self.c_results,
            self.proto_size,
        ] {
            bytes.extend_from_slice(&half.to_ne_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_structure() {
        let offsets = Offsets { vm_start: 1, globals: [2; MAX_GLOBALS], proto_size: 3, ..Offsets::default() };
        let bytes = offsets.bytes();
        assert_eq!(bytes.len(), size_of::<Offsets>());
        assert_eq!(bytes[..8], 1_u64.to_ne_bytes());
        assert_eq!(bytes[72..80], 2_u64.to_ne_bytes());
        assert_eq!(bytes[bytes.len() - 4..], 3_u32.to_ne_bytes());
    }
}
