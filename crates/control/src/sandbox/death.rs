//! How a job can end without an answer, and what is said of it.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use weir_resource::Fault;

use super::Limits;

/// What a child that ended said last.
const OUT_OF_MEMORY: &str = "memory allocation of";
const STACK_OVERFLOW: &str = "has overflowed its stack";

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Death {
    /// Killed: too much CPU time.
    Cpu,
    /// Killed: too long by the clock.
    Wall,
    /// It ran out of memory.
    Memory,
    /// Somebody else killed it; most likely the kernel, for want of memory.
    Killed,
    /// It died while it waited, before it had read the job.
    Idle,
    /// It ended in another way; with its last words.
    Crash(String),
    /// It could not be started.
    Start(String),
    /// The job or the answer is longer than the protocol allows.
    TooLong(String),
}

impl Death {
    /// From how a child ended that was not killed by us.
    pub fn of(status: Option<ExitStatus>, last_words: &str) -> Self {
        if last_words.contains(OUT_OF_MEMORY) {
            return Self::Memory;
        }
        if status.and_then(|status| status.signal()) == Some(libc::SIGKILL) {
            return Self::Killed;
        }
        if last_words.contains(STACK_OVERFLOW) {
            return Self::Crash("the stack overflowed".to_owned());
        }
        let how = status.map_or_else(|| "it closed its output".to_owned(), |status| status.to_string());
        Self::Crash(match last_words.lines().last() {
            Some(line) => format!("{how}: {line}"),
            None => how,
        })
    }

    /// Whether a fresh child may do better where this one had served before.
    pub fn may_be_of_old_age(&self) -> bool {
        matches!(self, Self::Memory | Self::Killed | Self::Idle)
    }

    /// What the person is told.
    pub fn fault(&self, limits: &Limits) -> Fault {
        let simpler = "nothing was changed; look for large sets, deep nesting and bounded repeats such as {1,1000}";
        let (message, hint) = match self {
            Self::Cpu => (format!("compiling took more than {} s of CPU", limits.cpu.as_secs_f64()), simpler),
            Self::Wall => (
                format!("compiling took more than {} s", limits.wall.as_secs_f64()),
                "nothing was changed; it used little CPU, so the machine is overloaded or a file that is named is slow",
            ),
            Self::Memory => (format!("compiling needed more than {} of memory", bytes(limits.memory_bytes)), simpler),
            Self::Killed => (
                "the sandbox was killed while it compiled".to_owned(),
                "nothing was changed; if nobody did it, the kernel was out of memory (see dmesg); try again",
            ),
            Self::Idle => ("the sandbox died before it read the change".to_owned(), "nothing was changed; try again"),
            Self::Crash(how) => (
                format!("compiling crashed the sandbox ({how})"),
                "nothing was changed; please report it together with the policies",
            ),
            Self::Start(why) => (
                format!("the sandbox cannot be started: {why}"),
                "nothing was changed; control starts `weir sandbox` for this: see its log",
            ),
            Self::TooLong(why) => (
                format!("the policies are too long to be compiled: {why}"),
                "nothing was changed; move long lists to files",
            ),
        };
        Fault { message, hint: Some(hint.to_owned()), ..Fault::default() }
    }
}

fn bytes(count: u64) -> String {
    match count {
        gib if gib >= 1 << 30 && gib % (1 << 30) == 0 => format!("{} GiB", gib >> 30),
        mib => format!("{} MiB", mib >> 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deaths_are_told_apart() {
        let status = ExitStatus::from_raw;
        for (status, words, expected) in [
            (Some(status(libc::SIGABRT)), "memory allocation of 16777216 bytes failed\n", Death::Memory),
            (Some(status(libc::SIGKILL)), "", Death::Killed),
            (
                Some(status(libc::SIGABRT)),
                "thread 'main' has overflowed its stack\nfatal runtime error",
                Death::Crash("the stack overflowed".to_owned()),
            ),
            (Some(status(256)), "a\nb\n", Death::Crash("exit status: 1: b".to_owned())),
            (None, "", Death::Crash("it closed its output".to_owned())),
        ] {
            assert_eq!(Death::of(status, words), expected, "{words}");
        }
    }

    #[test]
    fn limits_are_in_the_sentences() {
        let message = |death: Death| death.fault(&Limits::default()).message;
        assert_eq!(message(Death::Cpu), "compiling took more than 10 s of CPU");
        assert_eq!(message(Death::Wall), "compiling took more than 20 s");
        assert_eq!(message(Death::Memory), "compiling needed more than 1 GiB of memory");
    }
}
