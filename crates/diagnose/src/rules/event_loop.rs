//! `blocked-event-loop`: a worker waits for something other than events, and all its requests wait with it.
//!
//! Only threads that also wait in `epoll_wait` are event loops: a thread of a pool may block,
//! because that is its purpose. Preemption by the scheduler is not waiting.

use std::collections::HashMap;

use weir_profile::{FrameId, Profile, ThreadIndex};

use super::nginx::again;
use super::stacks::{FrameSet, Stacks};
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Confidence, Finding, Severity, percent};
use weir_profile::amount::counted;

pub(super) const BLOCKED: Rule = Rule {
    id: "blocked-event-loop",
    title: "An event loop blocks",
    needs: RuleNeeds::All(&[FactSource::OffCpu]),
    looks_at: "other waits of threads that wait in `epoll_wait`: files, connections, locks, name resolution, sleep",
    threshold: "when one of them spends 2 % of the time blocked elsewhere, or 20 ms at once: all requests of the worker wait that \
                long, whereas files in the page cache block only for microseconds",
    check,
};

/// Minimum share of a thread's time.
const SHARE: f64 = 0.02;
/// Minimum mean length of one wait, in nanoseconds.
const LONG_NS: u64 = 20_000_000;

/// A cause of blocking: how it is recognised, and the fix.
struct Cause {
    what: &'static str,
    names: &'static [&'static str],
    fix: &'static str,
}

/// The first match applies.
const CAUSES: &[Cause] = &[
    Cause {
        what: "resolving names (getaddrinfo)",
        names: &["getaddrinfo", "gethostbyname*", "__res_*", "res_query*", "_nss_dns_*", "__gethostbyname*"],
        fix: "use nginx's resolver (`resolver ADDRESS;`) or a client that uses cosockets, not a library that resolves names itself",
    },
    Cause {
        what: "connecting",
        names: &["__sys_connect", "__x64_sys_connect", "inet_stream_connect", "inet_wait_for_connect", "connect"],
        fix: "use cosockets (ngx.socket.tcp, lua-resty-*) instead of a blocking client (LuaSocket, LuaSQL)",
    },
    Cause {
        what: "syncing files to disk",
        names: &[
            "*_fsync",
            "vfs_fsync_range",
            "do_fsync",
            "ext4_sync_file",
            "__x64_sys_fsync",
            "__x64_sys_fdatasync",
            "fsync",
            "fdatasync",
        ],
        fix: "sync in a separate thread or process; nginx itself never syncs",
    },
    Cause {
        what: "a file lock",
        names: &[
            "fcntl_setlk",
            "flock_lock_inode_wait",
            "locks_lock_inode_wait",
            "__x64_sys_flock",
            "flock",
            "posix_lock_inode_wait",
        ],
        fix: "do not lock files in a handler: use a shared dictionary (lua_shared_dict), or resty.lock, which yields",
    },
    Cause {
        what: "a child process",
        names: &["do_wait", "__do_wait", "kernel_wait4", "__x64_sys_wait4", "waitpid", "popen", "system"],
        fix: "start processes with ngx.pipe, which does not block, not with os.execute or io.popen",
    },
    Cause {
        what: "sleeping",
        names: &[
            "hrtimer_nanosleep",
            "do_nanosleep",
            "__x64_sys_nanosleep",
            "__x64_sys_clock_nanosleep",
            "nanosleep",
            "usleep",
        ],
        fix: "ngx.sleep() yields; sleep, usleep and nanosleep stop the worker",
    },
    Cause {
        what: "reading files",
        names: &[
            "vfs_read",
            "ksys_read",
            "filemap_*",
            "folio_wait_bit*",
            "vfs_readv",
            "__x64_sys_pread64",
            "sendfile*",
            "splice_*",
            "do_sendfile",
        ],
        fix: "aio threads;   # nginx then reads files in a thread pool; with `sendfile on;` and `directio 4m;` for large ones",
    },
    Cause {
        what: "writing files",
        names: &[
            "vfs_write",
            "ksys_write",
            "balance_dirty_pages*",
            "jbd2_*",
            "ext4_*",
            "xfs_*",
            "__x64_sys_pwrite64",
            "vfs_writev",
        ],
        fix: "access_log ... buffer=64k flush=1s; and aio_write on; for temporary files; if the disk is slow: log to syslog or a memory file system",
    },
    Cause {
        what: "opening or removing files",
        names: &["do_sys_openat2", "path_openat", "do_unlinkat", "vfs_statx", "lookup_slow", "vfs_rename"],
        fix: "open_file_cache max=10000 inactive=60s;",
    },
    Cause {
        what: "a lock (futex)",
        names: &[
            "futex_wait*",
            "__futex_wait",
            "do_futex",
            "__lll_lock_wait*",
            "pthread_mutex_lock",
            "__pthread_mutex_lock",
        ],
        fix: "find the holder: weir profile --off-cpu over all its threads",
    },
    Cause {
        what: "memory that is not present (page faults)",
        names: &["do_swap_page", "handle_mm_fault", "filemap_fault", "asm_exc_page_fault"],
        fix: "add memory: pages from swap or evicted files are being read again",
    },
];

const EVENTS: &[&str] = &[
    "epoll_wait",
    "epoll_pwait*",
    "__x64_sys_epoll_*",
    "do_epoll_wait",
    "ep_poll",
    "kevent",
    "poll",
    "do_sys_poll",
    "do_poll*",
    "__x64_sys_poll",
    "__x64_sys_ppoll",
    "io_cqring_wait",
    "__x64_sys_io_uring_enter",
];
/// Preempted, or waiting by design.
const NOT_BLOCKED: &[&str] = &[
    // The sampler's placeholders for waits below its limit, and for a machine with too few CPUs.
    "[waits shorter*",
    "[waiting for a CPU]",
    "exit_to_user_mode_*",
    "irqentry_exit*",
    "preempt_schedule*",
    "__cond_resched",
    "do_sched_yield",
    "sigsuspend",
    "__x64_sys_rt_sigsuspend",
    "sigtimedwait",
    "do_sigtimedwait",
    "raw_irqentry_exit*",
    "syscall_exit_to_user_mode*",
];

struct FrameSets {
    events: FrameSet,
    not_blocked: FrameSet,
}

impl FrameSets {
    fn blocks(&self, stack: &[FrameId]) -> bool {
        !self.events.any(stack) && !self.not_blocked.any(stack)
    }
}

fn check(facts: &Facts) -> Option<Finding> {
    let profile = facts.off_cpu.as_ref()?;
    let stacks = Stacks::of(Some(profile))?;
    let sets = FrameSets { events: stacks.named(EVENTS), not_blocked: stacks.named(NOT_BLOCKED) };
    let window_ns = facts.seconds.max(0.001) * 1e9;
    let (cause, thread, count, weight) = worst(profile, &stacks, &sets, window_ns)?;
    #[allow(clippy::cast_precision_loss, reason = "nanoseconds to show")]
    let (share, mean_ms) = (weight as f64 / window_ns, weight as f64 / count.max(1) as f64 / 1e6);
    let who = &profile.threads[thread.0 as usize];
    let (what, fix) =
        cause.map_or(("a call", "see the stack: weir profile --off-cpu"), |cause| (cause.what, cause.fix));
    let set = stacks.named(cause.map_or(&["schedule"], |cause| cause.names));
    Some(
        Finding::new(
            BLOCKED.id,
            format!(
                "The event loop of {} ({}) is blocked for {} of its time: {what}.",
                who.name,
                who.tid,
                percent(share)
            ),
        )
        .severity(if share >= 0.2 { Severity::Serious } else { Severity::Warning })
        .confidence(Confidence::Certain)
        .figure(
            "blocked",
            format!(
                "{}, {mean_ms:.1} ms on average, {:.0} ms in {:.0} s",
                counted(count, "time"),
                mean_ms * count as f64,
                facts.seconds
            ),
        )
        .with(stacks.lua_callers(&set, 1))
        .with(stacks.call_paths_where(&set, |stack| sets.blocks(stack), 2))
        .fix(fix)
        .verify(again(facts, BLOCKED.id)),
    )
}

type WorstBlock = (Option<&'static Cause>, ThreadIndex, u64, u64);

/// The thread and cause with most blocked time, if it exceeds the threshold.
fn worst(profile: &Profile, stacks: &Stacks<'_>, sets: &FrameSets, window_ns: f64) -> Option<WorstBlock> {
    let causes: Vec<FrameSet> = CAUSES.iter().map(|cause| stacks.named(cause.names)).collect();
    let mut loops: Vec<bool> = vec![false; profile.threads.len()];
    let mut blocked: HashMap<(usize, usize), (u64, u64)> = HashMap::new();
    for sample in &profile.samples {
        let (stack, thread) = (profile.stack(sample.stack), sample.thread.0 as usize);
        if sets.events.any(stack) {
            loops[thread] = true;
        } else if sets.blocks(stack) {
            let cause = causes.iter().position(|set| set.any(stack)).unwrap_or(CAUSES.len());
            let entry = blocked.entry((thread, cause)).or_default();
            *entry = (entry.0 + sample.count, entry.1 + sample.weight);
        }
    }
    let ((thread, cause), (count, weight)) = blocked
        .into_iter()
        .filter(|((thread, _), _)| loops[*thread])
        .max_by_key(|&((thread, cause), (_, weight))| (weight, std::cmp::Reverse((thread, cause))))?;
    #[allow(clippy::cast_precision_loss, reason = "nanoseconds of a window")]
    let much = weight as f64 / window_ns >= SHARE;
    let index = ThreadIndex(u32::try_from(thread).expect("threads are numbered in 32 bits"));
    (much || weight / count.max(1) >= LONG_NS).then(|| (CAUSES.get(cause), index, count, weight))
}
