//! The system calls that a child may make: a seccomp filter, by hand.
//!
//! A list of what is allowed, because the kernel gets new calls every year; all else is `EPERM`, which Rust's library
//! reports as an error, and not a signal, so that a forgotten call is a failed job with a sentence and not a riddle.
//! Reading files is allowed (lists, rule sets and geographic data may be files), opening them for writing is not.
//! A crate for this (`seccompiler`) was the alternative: one more dependency for 60 lines. Layout of instructions and
//! of `seccomp_data`: `linux/filter.h`, `linux/seccomp.h`.

use std::io;

use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W, c_long, sock_filter};

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// `AUDIT_ARCH_*` of `linux/audit.h`: calls of another ABI have other numbers.
#[cfg(target_arch = "x86_64")]
const THIS_ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const THIS_ARCHITECTURE: u32 = 0xC000_00B7;

/// Memory, the pipes, reading files, and what the C library does of its own accord.
const ALLOWED: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_lseek,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_fcntl,
    libc::SYS_ppoll,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
];

/// The same by their old names, which x86-64's C library may use.
#[cfg(target_arch = "x86_64")]
const ALLOWED_HERE: &[c_long] = &[libc::SYS_poll, libc::SYS_stat, libc::SYS_lstat, libc::SYS_readlink];
#[cfg(not(target_arch = "x86_64"))]
const ALLOWED_HERE: &[c_long] = &[];

/// Flags of `openat` that change something.
const WRITING: u32 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_APPEND) as u32;

/// `O_TMPFILE` without the bit of `O_DIRECTORY` that it contains.
const TEMPORARY: u32 = (libc::O_TMPFILE & !libc::O_DIRECTORY) as u32;

/// Sets the filter for this process and all threads it will have. There is no way back.
pub(super) fn install() -> io::Result<()> {
    let mut program = program(std::process::id());
    let length = u16::try_from(program.len()).expect("the filter has some hundred instructions");
    let program = libc::sock_fprog { len: length, filter: program.as_mut_ptr() };
    // SAFETY: plain system calls; `program` and the instructions that it points to are alive until the kernel has
    // copied them, which it has when the call returns.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program, 0, 0) != 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The filter's instructions, for the process `own`.
fn program(own: u32) -> Vec<sock_filter> {
    let mut program = vec![
        load(ARCHITECTURE),
        jump(BPF_JEQ, THIS_ARCHITECTURE, 1, 0),
        verdict(libc::SECCOMP_RET_KILL_PROCESS),
        load(NUMBER),
    ];
    for &call in ALLOWED.iter().chain(ALLOWED_HERE) {
        program.extend([jump(BPF_JEQ, call as u32, 0, 1), verdict(libc::SECCOMP_RET_ALLOW)]);
    }
    // openat(folder, path, flags, ..): to read only.
    program.extend([
        jump(BPF_JEQ, libc::SYS_openat as u32, 0, 4),
        load(argument(2)),
        jump(BPF_JSET, WRITING | TEMPORARY, 1, 0),
        verdict(libc::SECCOMP_RET_ALLOW),
        refuse(),
    ]);
    // tgkill(process, ..): `abort` sends itself a signal.
    program.extend([
        jump(BPF_JEQ, libc::SYS_tgkill as u32, 0, 3),
        load(argument(0)),
        jump(BPF_JEQ, own, 0, 1),
        verdict(libc::SECCOMP_RET_ALLOW),
        refuse(),
    ]);
    program
}

/// The lower half of an argument, which on both architectures comes first.
const fn argument(index: u32) -> u32 {
    ARGUMENTS + 8 * index
}

fn load(offset: u32) -> sock_filter {
    instruction(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0)
}

fn jump(condition: u32, operand: u32, if_true: u8, if_false: u8) -> sock_filter {
    instruction(BPF_JMP | condition | BPF_K, operand, if_true, if_false)
}

fn verdict(value: u32) -> sock_filter {
    instruction(BPF_RET | BPF_K, value, 0, 0)
}

fn refuse() -> sock_filter {
    verdict(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32)
}

fn instruction(code: u32, operand: u32, if_true: u8, if_false: u8) -> sock_filter {
    let code = u16::try_from(code).expect("codes of instructions have 16 bits");
    sock_filter { code, jt: if_true, jf: if_false, k: operand }
}

#[cfg(test)]
mod tests;
