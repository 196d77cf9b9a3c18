//! The registers captured at the moment of a sample, because they cannot be read later.

/// User registers of x86-64, in the order of the kernel's `perf_regs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Registers {
    /// rax
    pub ax: u64,
    /// rbx
    pub bx: u64,
    /// rcx
    pub cx: u64,
    /// rdx
    pub dx: u64,
    /// rsi
    pub si: u64,
    /// rdi
    pub di: u64,
    /// rbp
    pub bp: u64,
    /// rsp
    pub sp: u64,
    /// rip
    pub ip: u64,
    /// r8
    pub r8: u64,
    /// r9
    pub r9: u64,
    /// r10
    pub r10: u64,
    /// r11
    pub r11: u64,
    /// r12
    pub r12: u64,
    /// r13
    pub r13: u64,
    /// r14
    pub r14: u64,
    /// r15
    pub r15: u64,
}
