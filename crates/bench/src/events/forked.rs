//! A process of our own that does one bare thing, for the floors.
//!
//! Forked and not a thread: what is compared are processes, and switching between them also
//! switches the address space. The child runs plain system calls only (the heap's lock may have
//! been held when it was made) and is killed by id when the handle is dropped or we die.

use weir_measure::error::MeasureError;

/// A running child.
#[derive(Debug)]
pub struct Forked {
    pid: libc::pid_t,
}

impl Forked {
    /// Starts a process that runs `body`, on that core if one is given, and then ends. `body` must
    /// neither allocate nor lock.
    pub fn start(core: Option<usize>, body: impl FnOnce()) -> Result<Self, MeasureError> {
        // SAFETY: the child calls only async-signal-safe functions: prctl, signal, what `body`
        // does by its contract, and _exit, which runs no destructor of the parent's state.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => Err(MeasureError::program("fork", std::io::Error::last_os_error().to_string())),
            0 => {
                // SAFETY: as above; all arguments are plain numbers.
                unsafe {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                        libc::signal(signal, libc::SIG_DFL);
                    }
                }
                if core.is_none_or(|core| weir_measure::child::stay_on(core).is_ok()) {
                    body();
                }
                // SAFETY: ends the process at once.
                unsafe { libc::_exit(0) }
            }
            pid => Ok(Self { pid }),
        }
    }
}

impl Forked {
    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.pid.unsigned_abs()
    }
}

impl Drop for Forked {
    fn drop(&mut self) {
        // SAFETY: the pid is of a child that nobody else waits for, so it is still its own.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}
