//! What an unwinder is given and what it gives back.

/// Frames of one stack at most; a recursion deeper than this is cut at its root's side.
pub const MAX_FRAMES: usize = 1024;

/// Captured bytes of a stack: what was at `base` and above when the sample was taken.
#[derive(Clone, Copy, Debug)]
pub struct Stack<'a> {
    base: u64,
    bytes: &'a [u8],
}

impl<'a> Stack<'a> {
    /// Bytes from the stack pointer upwards.
    #[must_use]
    pub fn new(base: u64, bytes: &'a [u8]) -> Self {
        Self { base, bytes }
    }

    /// The eight bytes at an address; `None` outside of what was captured.
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

    /// First address that is not captured any more.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.base.saturating_add(self.bytes.len() as u64)
    }
}

/// Where unwinding stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Address of the code: where it was interrupted, or to where it is returned.
    pub ip: u64,
    /// The stack pointer while this frame runs (after the return, for all but the first).
    pub sp: u64,
    /// `rbp` of this frame; `None` where it cannot be known.
    pub bp: Option<u64>,
    /// Whether this is the innermost frame, or one that a signal interrupted: `ip` is the
    /// instruction itself then, and a return address otherwise.
    pub exact: bool,
    /// Whether this is the innermost frame.
    pub first: bool,
}

impl Cursor {
    /// The address to look up: inside the calling instruction, for a return address.
    #[must_use]
    pub fn lookup(&self) -> u64 {
        if self.exact { self.ip } else { self.ip.saturating_sub(1) }
    }
}

/// The caller of a frame, as a hook found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Return address; it is looked up one byte before it. 0: there is no caller.
    pub ip: u64,
    /// The stack pointer in the caller, after the return. At least that of the frame.
    pub sp: u64,
    /// The caller's `rbp`; `None` where it cannot be known.
    pub bp: Option<u64>,
    /// The caller's other preserved registers where known: rbx, r12, r13, r14, r15.
    pub preserved: [Option<u64>; 5],
}

/// Who knows the frames of code that has no unwind tables (traces of a compiler).
pub trait FrameHook {
    /// The caller of a frame. Asked before any table for code outside of files, and elsewhere where
    /// [`FrameHook::wants`] says so; `None`: not mine.
    fn step(&mut self, at: &Cursor, stack: &Stack<'_>) -> Option<Step>;

    /// Whether the hook wants to be asked for an address inside of a mapped file. Called for every
    /// frame: must be cheap.
    fn wants(&self, _ip: u64) -> bool {
        false
    }
}

/// One frame of machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativeFrame {
    /// Address to look up: where the frame was interrupted, or its return address less one.
    pub lookup: u64,
    /// Where it was interrupted, or the return address.
    pub ip: u64,
    /// Its stack pointer while it runs.
    pub sp: u64,
}

/// How unwinding ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At the start of the thread.
    Root,
    /// Where the captured bytes of the stack end. If the stack was captured whole, the tables led astray.
    Cut,
    /// It could not go on.
    Failed(Why),
    /// After [`MAX_FRAMES`] frames.
    TooDeep,
}

/// Why unwinding could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The return address is in no executable mapping, and no hook knows it.
    NotCode,
    /// The code has no unwind table and no frame pointer that can be trusted.
    NoTable,
    /// The table has an entry that is damaged or of a kind that is not known.
    BadTable,
    /// The table needs a register whose value is not known.
    Register,
    /// The stack pointer did not move up.
    Loop,
}
