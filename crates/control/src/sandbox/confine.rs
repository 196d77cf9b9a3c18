//! What a child may use and do, set by the child itself before it reads the first byte of a policy.
//!
//! Doing it between fork and exec was the alternative; it is code that may not allocate, and a filter set there would
//! have to allow `execve`. Nothing of what somebody wrote has been read when this runs, so nothing is lost.

use std::io;

use super::filter;

/// Files that may be open: three pipes, and rule files one at a time.
const MAX_FILES: u64 = 32;

/// Behind control and, on a busy machine, behind nginx.
const NICENESS: i32 = 10;

/// When memory runs out, this process goes before control, whose score it has inherited (proc(5)).
const FIRST_TO_GO: &str = "800";

/// Confines this process for good.
///
/// # Errors
/// If the kernel refuses any of it: a sandbox with a hole is none.
pub(super) fn confine(memory_bytes: u64) -> io::Result<()> {
    end_with_parent()?;
    // Only advice to the kernel, so a system without it is no worse.
    let _ = std::fs::write("/proc/self/oom_score_adj", FIRST_TO_GO);
    // SAFETY: a plain system call; it changes only the priority of this process.
    if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) } != 0 {
        return Err(io::Error::last_os_error());
    }
    limit(libc::RLIMIT_AS, memory_bytes)?;
    limit(libc::RLIMIT_NOFILE, MAX_FILES)?;
    limit(libc::RLIMIT_CORE, 0)?;
    limit(libc::RLIMIT_FSIZE, 0)?;
    limit(libc::RLIMIT_NPROC, 0)?;
    filter::install()
}

/// The child must not outlive control, however that ends.
fn end_with_parent() -> io::Result<()> {
    // SAFETY: a plain system call with constant arguments.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn limit(what: u32, most: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: `limit` is alive and initialised; `what` is one of libc's constants.
    if unsafe { libc::setrlimit(what, &raw const limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
