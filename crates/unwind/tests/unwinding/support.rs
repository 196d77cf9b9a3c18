//! C programs made by the tests, and processes that are stepped through.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use weir_unwind::{Memory, Registers};

/// Most bytes of a stack that a test takes.
pub const STACK_BYTES: usize = 64 * 1024;

/// Runs a command that must succeed.
pub fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A file of `programs`.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/unwinding/programs").join(name)
}

/// Compiles `work.c` with its library into a directory; gives the program.
pub fn work(directory: &Path, flags: &[&str]) -> PathBuf {
    let library = directory.join("libwork.so");
    let program = directory.join("work");
    run(Command::new("cc").args(flags).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source("library.c")));
    let path = format!("-Wl,-rpath,{}", directory.display());
    run(Command::new("cc")
        .args(flags)
        .arg("-o")
        .arg(&program)
        .arg(source("work.c"))
        .arg(&library)
        .args([&path, "-pthread"]));
    program
}

/// A traced process.
pub struct Traced {
    /// That was started; `None`: attached to.
    child: Option<Child>,
    pid: i32,
    /// The thread that is stepped.
    pub thread: i32,
}

impl Traced {
    /// Starts a program and runs it to its first `raise(SIGSTOP)`.
    pub fn start(program: &Path, arguments: &[&str]) -> Self {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::null());
        // SAFETY: between fork and exec only a system call is made.
        unsafe {
            command.pre_exec(|| {
                libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        let thread = child.id() as i32;
        let mut traced = Self { child: Some(child), pid: thread, thread };
        traced.wait(thread);
        // SAFETY: sets an option of a stopped process that this one traces.
        unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, thread, 0, libc::PTRACE_O_TRACECLONE) };
        traced.run_to_stop();
        traced
    }

    pub fn pid(&self) -> u32 {
        self.pid as u32
    }

    /// Attaches to a running process; `None` without the privilege.
    pub fn attach(pid: i32) -> Option<Self> {
        // SAFETY: makes this thread the tracer; the process runs on.
        let result = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) };
        (result == 0).then_some(Self { child: None, pid, thread: pid })
    }

    /// Registers and stack of a running process, which stops for it and goes on. A process that is
    /// interrupted mostly is in a system call then: so it goes some instructions further before.
    pub fn look(&mut self, instructions: usize) -> (Registers, Vec<u8>) {
        // SAFETY: stops a process that this thread traces.
        unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, self.pid, 0, 0) };
        // A signal that came first is handed on.
        let handed_on = |status| match libc::WSTOPSIG(status) {
            libc::SIGTRAP => 0,
            other => other,
        };
        let mut signal = handed_on(self.wait(self.pid).1);
        for _ in 0..instructions {
            // SAFETY: it is stopped and traced by this thread.
            unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, self.pid, 0, signal) };
            signal = handed_on(self.wait(self.pid).1);
        }
        let registers = self.registers();
        let stack = self.stack(&registers);
        // SAFETY: as above.
        unsafe { libc::ptrace(libc::PTRACE_CONT, self.pid, 0, signal) };
        (registers, stack)
    }

    /// Goes on until a thread stops itself; that one is stepped from then on.
    fn run_to_stop(&mut self) {
        // SAFETY: the process is stopped and traced by this one.
        unsafe { libc::ptrace(libc::PTRACE_CONT, self.thread, 0, 0) };
        loop {
            let (thread, status) = self.wait(-1);
            assert!(libc::WIFSTOPPED(status), "it ended");
            let by_itself = libc::WSTOPSIG(status) == libc::SIGSTOP && self.is_in_raise(thread);
            if by_itself {
                self.thread = thread;
                return;
            }
            // SAFETY: as above.
            unsafe { libc::ptrace(libc::PTRACE_CONT, thread, 0, 0) };
        }
    }

    /// A new thread begins with a stop that it has not asked for, at its first instruction.
    fn is_in_raise(&self, thread: i32) -> bool {
        let info = self.signal(thread);
        info.is_some_and(|code| code == libc::SI_TKILL)
    }

    fn signal(&self, thread: i32) -> Option<i32> {
        // SAFETY: plain data, and the call writes no more than it.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let result = unsafe { libc::ptrace(libc::PTRACE_GETSIGINFO, thread, 0, &raw mut info) };
        (result == 0).then_some(info.si_code)
    }

    fn wait(&mut self, pid: i32) -> (i32, i32) {
        let mut status = 0;
        // SAFETY: waits for children of this thread (other tests have theirs) and writes to `status` alone.
        let pid = unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        (pid, status)
    }

    /// Runs one instruction; `false` when the program has ended or stopped itself again.
    pub fn step(&mut self) -> bool {
        let mut signal = 0;
        loop {
            // SAFETY: the thread is stopped and traced by this process.
            unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, self.thread, 0, signal) };
            let (_, status) = self.wait(self.thread);
            if !libc::WIFSTOPPED(status) {
                return false;
            }
            match libc::WSTOPSIG(status) {
                libc::SIGTRAP => return true,
                libc::SIGSTOP => return false,
                other => signal = other,
            }
        }
    }

    /// Registers of the stepped thread.
    pub fn registers(&self) -> Registers {
        // SAFETY: plain data, filled by the call.
        let mut user: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        // SAFETY: the thread is stopped, and the call writes no more than `user`.
        unsafe { libc::ptrace(libc::PTRACE_GETREGS, self.thread, 0, &raw mut user) };
        Registers {
            ax: user.rax,
            bx: user.rbx,
            cx: user.rcx,
            dx: user.rdx,
            si: user.rsi,
            di: user.rdi,
            bp: user.rbp,
            sp: user.rsp,
            ip: user.rip,
            r8: user.r8,
            r9: user.r9,
            r10: user.r10,
            r11: user.r11,
            r12: user.r12,
            r13: user.r13,
            r14: user.r14,
            r15: user.r15,
        }
    }

    /// Bytes of its stack from the stack pointer up.
    pub fn stack(&self, registers: &Registers) -> Vec<u8> {
        let mut bytes = vec![0; STACK_BYTES];
        let read = Memory::of(self.pid()).read(registers.sp, &mut bytes).unwrap_or(0);
        bytes.truncate(read);
        bytes
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else {
            // SAFETY: stops a process that this thread traces, which must be for it to be let go.
            unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, self.pid, 0, 0) };
            self.wait(self.pid);
            // SAFETY: as above; it runs on.
            unsafe { libc::ptrace(libc::PTRACE_DETACH, self.pid, 0, 0) };
            return;
        };
        let _ = child.kill();
        // Its threads are children of their own to the one that traces them, and the program is
        // not over before each has been waited for.
        while self.wait(-1).0 > 0 {}
    }
}
