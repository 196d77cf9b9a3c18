//! `allocation-share`, `memory-copying`, `lock-contention`: rules for any program in C, C++ or Rust.

use weir_profile::Origin;

use super::nginx::again;
use super::stacks::{Stacks, is_named};
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Confidence, Finding, percent};

pub(super) const ALLOCATION: Rule = Rule {
    id: "allocation-share",
    title: "Much time is spent in the allocator",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time below `malloc`, `free`, `operator new`, `__rust_alloc` and the functions of jemalloc, mimalloc and tcmalloc",
    threshold: "from 12 % of the CPU: servers that allocate from pools or arenas stay below 3 %, typical C++ and Rust programs at 5 to 10 %",
    check: allocation,
};

pub(super) const COPYING: Rule = Rule {
    id: "memory-copying",
    title: "Much time is spent copying memory",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time in `memcpy`, `memmove` and their variants of the C library, outside the kernel",
    threshold: "from 10 % of the CPU: a proxy that passes buffers on stays below 2 %",
    check: copying,
};

pub(super) const LOCKS: Rule = Rule {
    id: "lock-contention",
    title: "Threads wait for each other's locks",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time on the CPU in `futex` and in spinning locks, and off the CPU below functions that take a lock",
    threshold: "from 5 % of the CPU, or from 10 % of one thread's time waiting for locks: a free lock is taken \
                without the kernel",
    check: locks,
};

const ALLOCATE: &[&str] = &[
    "malloc",
    "__libc_malloc",
    "_int_malloc",
    "calloc",
    "__libc_calloc",
    "realloc",
    "__libc_realloc",
    "free",
    "cfree",
    "__libc_free",
    "_int_free",
    "malloc_consolidate",
    "operator new*",
    "operator delete*",
    "_Znwm",
    "_ZdlPv*",
    "__rust_alloc*",
    "__rust_dealloc",
    "__rdl_alloc",
    "je_*",
    "_rjem_*",
    "mi_*",
    "tc_malloc",
    "tc_free",
    "posix_memalign",
    "memalign",
];
const COPY: &[&str] = &["memcpy", "memmove", "__memcpy_*", "__memmove_*", "__GI_memcpy", "mempcpy", "__mempcpy_*"];
const TAKE: &[&str] = &[
    "pthread_mutex_lock",
    "__pthread_mutex_lock*",
    "___pthread_mutex_lock",
    "__GI___pthread_mutex_lock",
    "__lll_lock_wait*",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "*::lock_slow",
    "*::lock_contended",
    "std::sys::sync::mutex::*",
    "parking_lot*",
    "ngx_shmtx_lock",
    "ngx_rwlock_rlock",
    "ngx_rwlock_wlock",
];
const SPIN: &[&str] = &[
    "native_queued_spin_lock_slowpath",
    "pthread_spin_lock",
    "ngx_spinlock",
    "__x64_sys_futex",
    "do_futex",
    "futex_wake",
    "futex_wait",
];

fn allocation(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let set = stacks.named(ALLOCATE);
    let part = stacks.under(&set);
    part.reaches(0.12, 20).then(|| {
        Finding::new(ALLOCATION.id, format!("{} of the CPU goes to allocating and freeing memory.", percent(part.share)))
            .share(part.share)
            .with(stacks.callers(&set, 5))
            .fix(
                "allocate less where the stacks say: reuse buffers, reserve before growing, use an arena for each request; a \
                 faster allocator (LD_PRELOAD of jemalloc or mimalloc) helps without changing the program",
            )
            .verify(again(facts, ALLOCATION.id))
    })
}

fn copying(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let set = stacks.frames(|frame| frame.origin != Origin::Kernel && is_named(&frame.name, COPY));
    let part = stacks.part(|stack| set.leaf(stack));
    part.reaches(0.1, 20).then(|| {
        Finding::new(COPYING.id, format!("{} of the CPU goes to copying memory.", percent(part.share)))
            .share(part.share)
            .with(stacks.callers(&set, 5))
            .fix("pass references or slices where the stacks say; do not grow buffers in small steps; use sendfile and splice for files and sockets")
            .verify(again(facts, COPYING.id))
    })
}

fn locks(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let spinning = stacks.named(SPIN);
    let part = stacks.under(&spinning);
    let waiting = waiting(facts);
    if !part.reaches(0.05, 20) && waiting < 0.1 {
        return None;
    }
    let sentence = if part.share >= 0.05 {
        format!("{} of the CPU goes to locks.", percent(part.share))
    } else {
        format!("Threads wait for locks for {} of one thread's time.", percent(waiting))
    };
    let mut finding = Finding::new(LOCKS.id, sentence)
        .confidence(Confidence::Likely)
        .share(part.share)
        .with(stacks.call_paths(&spinning, 3));
    if let Some(off) = Stacks::of(facts.off_cpu.as_ref()) {
        finding = finding
            .figure("waiting", format!("{} of one thread's time", percent(waiting)))
            .with(off.call_paths(&off.named(TAKE), 3));
    }
    Some(
        finding
            .fix("hold locks for a shorter time, split the protected data, count per thread, or pass messages; for a lock in the allocator use another allocator")
            .verify(again(facts, LOCKS.id)),
    )
}

/// Off-CPU time in functions that take a lock, as a share of the window.
fn waiting(facts: &Facts) -> f64 {
    let Some(off) = Stacks::of(facts.off_cpu.as_ref()) else { return 0.0 };
    let total_ns = facts.off_cpu.as_ref().map_or(0, weir_profile::Profile::total);
    #[allow(clippy::cast_precision_loss, reason = "nanoseconds of a window")]
    let share = off.under(&off.named(TAKE)).share * total_ns as f64 / (facts.seconds.max(0.001) * 1e9);
    share
}
