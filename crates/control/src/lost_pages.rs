//! Pages of mapped files that are gone when control touches them. The kernel's answer is SIGBUS, which kills.
//!
//! Workers have no descriptors with which they could truncate the files that control maps, but they can give pages of
//! the bus and the ledger back (`MADV_REMOVE`), and whoever may write to the directory can truncate. Looking at the
//! file's length before each access leaves a moment in between, and copying with `pread` is not possible for memory
//! that is shared for atomics. So the page is replaced by zeros of this process's own, as systemd's journald does, and
//! the publisher, which looks once a second, opens the files anew.

use std::sync::atomic::{AtomicU64, Ordering};

static LOST: AtomicU64 = AtomicU64::new(0);

/// Number of pages that were replaced since the last call.
pub(crate) fn take() -> u64 {
    LOST.swap(0, Ordering::Relaxed)
}

/// From here on, a page of a mapping that is gone is replaced, in all threads. For the daemon's process only.
pub(crate) fn survive() {
    // SAFETY: the structure is plain data; the handler makes system calls that are allowed in one.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = replace as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

extern "C" fn replace(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel hands over a valid `siginfo_t`. The page at its address has no memory, so nothing is lost by
    // mapping another one there; the access is repeated when the handler returns. Anything but a page of a file that
    // is gone (BUS_ADRERR) keeps its meaning: the signal kills when the access is repeated.
    unsafe {
        let page = libc::sysconf(libc::_SC_PAGESIZE).max(1) as usize;
        let at = (*info).si_addr().map_addr(|at| at & !(page - 1));
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED);
        let replaced =
            (*info).si_code == libc::BUS_ADRERR && libc::mmap(at, page, protection, flags, -1, 0) != libc::MAP_FAILED;
        if replaced {
            LOST.fetch_add(1, Ordering::Relaxed);
        } else {
            libc::signal(libc::SIGBUS, libc::SIG_DFL);
        }
    }
}
