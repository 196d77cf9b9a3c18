//! Input and output of the unwinder.

/// Maximum number of frames of one stack; deeper recursion is cut on the side of the root.
pub const MAX_FRAMES: usize = 1024;

/// Captured bytes of a stack: its contents from `base` upwards when the sample was taken.
#[derive(Clone, Copy, Debug)]
pub struct Stack<'a> {
    base: u64,
    bytes: &'a [u8],
}

impl<'a> Stack<'a> {
    /// A stack with the bytes from the stack pointer upwards.
    #[must_use]
    pub fn new(base: u64, bytes: &'a [u8]) -> Self {
        Self { base, bytes }
    }

    /// The eight bytes at an address; `None` outside the captured range.
    #[must_use]
    pub fn u64(&self, address: u64) -> Option<u64> {
        let start = usize::try_from(address.checked_sub(self.base)?).ok()?;
        let bytes = self.bytes.get(start..start.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().expect("eight bytes were cut")))
    }

    /// First captured address.
    #[must_use]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// First address after the captured range.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.base.saturating_add(self.bytes.len() as u64)
    }
}

/// The current position of unwinding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Address of the code: where it was interrupted, or the return address.
    pub ip: u64,
    /// The stack pointer while this frame runs (after the return, for all except the first).
    pub sp: u64,
    /// `rbp` of this frame; `None` if it cannot be known.
    pub bp: Option<u64>,
    /// Whether this is the innermost frame, or one that a signal interrupted: `ip` is then the
    /// instruction itself, and otherwise a return address.
    pub exact: bool,
    /// Whether this is the innermost frame.
    pub first: bool,
}

impl Cursor {
    /// The address to look up: for a return address, inside the calling instruction.
    #[must_use]
    pub fn lookup(&self) -> u64 {
        if self.exact { self.ip } else { self.ip.saturating_sub(1) }
    }
}

/// The caller of a frame, as found by a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerFrame {
    /// Return address, looked up one byte before it. 0: there is no caller.
    pub ip: u64,
    /// The stack pointer in the caller, after the return; not below that of the frame.
    pub sp: u64,
    /// The caller's `rbp`; `None` if it cannot be known.
    pub bp: Option<u64>,
    /// The caller's other preserved registers, if known: rbx, r12, r13, r14, r15.
    pub preserved: [Option<u64>; 5],
}

/// Unwinds code that has no unwind tables (traces of a compiler).
pub trait FrameHook {
    /// The caller of a frame. Called before any table look-up for code outside of files, and
    /// elsewhere if [`FrameHook::wants`] returns true; `None` if the hook does not know the code.
    fn step(&mut self, at: &Cursor, stack: &Stack<'_>) -> Option<CallerFrame>;

    /// Whether the hook should be called for an address inside a mapped file. Evaluated for every
    /// frame, so it must be cheap.
    fn wants(&self, _ip: u64) -> bool {
        false
    }
}

/// One frame of machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativeFrame {
    /// Address to look up: where the frame was interrupted, or its return address minus one.
    pub lookup: u64,
    /// The interrupted address, or the return address.
    pub ip: u64,
    /// Its stack pointer while it runs.
    pub sp: u64,
}

/// The way in which unwinding ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnwindEnd {
    /// At the start of the thread.
    Root,
    /// At the end of the captured stack bytes. If the whole stack was captured, the tables are wrong.
    Cut,
    /// Unwinding could not continue.
    Failed(UnwindFailure),
    /// After [`MAX_FRAMES`] frames.
    TooDeep,
}

/// The reason why unwinding could not continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnwindFailure {
    /// The return address is not in an executable mapping, and no hook knows it.
    NotCode,
    /// The code has no unwind table and no trustworthy frame pointer.
    NoTable,
    /// The table entry is damaged or unsupported.
    BadTable,
    /// The table needs a register whose value is not known.
    Register,
    /// The stack pointer did not move up.
    Loop,
}
