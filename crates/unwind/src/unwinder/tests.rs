use super::*;

/// Executable memory without a file, full of `nop`.
struct Generated(*mut libc::c_void);

impl Generated {
    const LENGTH: usize = 4096;

    fn new() -> Self {
        let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: creates a new mapping.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), Self::LENGTH, protection, flags, -1, 0) };
        assert_ne!(at, libc::MAP_FAILED);
        // SAFETY: this many bytes have just been mapped, writable.
        unsafe { at.cast::<u8>().write_bytes(0x90, Self::LENGTH) };
        Self(at)
    }

    fn address(&self) -> u64 {
        self.0 as u64
    }

    /// Puts `call rax` before an offset.
    fn call_before(&self, offset: usize) -> u64 {
        // SAFETY: within the mapping.
        unsafe { self.0.cast::<u8>().add(offset - 2).cast::<[u8; 2]>().write([0xff, 0xd0]) };
        self.address() + offset as u64
    }
}

impl Drop for Generated {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and nothing refers to it any more.
        unsafe { libc::munmap(self.0, Self::LENGTH) };
    }
}

const SP: u64 = 0x10_0000;

fn stack_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn unwound(ip: u64, bp: u64, words: &[u64], hook: Option<&mut dyn FrameHook>) -> (UnwindEnd, Vec<NativeFrame>) {
    let mut process = Process::open(std::process::id()).unwrap();
    let registers = Registers { ip, bp, sp: SP, ..Registers::default() };
    let mut frames = Vec::new();
    let end = Unwinder::new().unwind(&mut process, &registers, &stack_of(words), hook, &mut frames);
    (end, frames)
}

/// Each frame is two words; the caller is at the address of the second.
struct TwoWords {
    asked: usize,
}

impl FrameHook for TwoWords {
    fn step(&mut self, at: &Cursor, stack: &Stack<'_>) -> Option<CallerFrame> {
        self.asked += 1;
        let ip = stack.u64(at.sp + 8)?;
        Some(CallerFrame { ip, sp: at.sp + 16, bp: None, preserved: [None; 5] })
    }
}

#[test]
fn a_hook_walks_code_without_file() {
    let code = Generated::new();
    let at = |offset: u64| code.address() + offset;
    let mut hook = TwoWords { asked: 0 };
    let (end, frames) = unwound(at(100), 1, &[0, at(200), 0, at(300), 0, 0], Some(&mut hook));
    let seen: Vec<_> = frames.iter().map(|frame| (frame.ip - at(0), frame.lookup - at(0), frame.sp - SP)).collect();
    assert_eq!((end, hook.asked), (UnwindEnd::Root, 3));
    assert_eq!(seen, [(100, 100, 0), (200, 199, 16), (300, 299, 32)]);
}

#[test]
fn frame_pointers_are_followed_where_calls_prove_them() {
    let code = Generated::new();
    let (first, second) = (code.call_before(200), code.call_before(300));
    let words = [5, SP + 32, first, 6, 0, second, 7];
    let (end, frames) = unwound(code.address(), SP + 8, &words, None);
    let ips: Vec<_> = frames.iter().map(|frame| frame.ip).collect();
    assert_eq!(ips, [code.address(), first, second]);
    assert_eq!(end, UnwindEnd::Root, "a frame pointer of 0 is the start of a thread");
}

#[test]
fn nonsense_is_not_followed() {
    let code = Generated::new();
    let returns = code.call_before(200);
    let ip = code.address();
    let cases: &[(&str, u64, &[u64], UnwindEnd, usize)] = &[
        ("no pointer, nothing on the stack", 1, &[1, 2, 3], UnwindEnd::Failed(UnwindFailure::NoTable), 1),
        (
            "an address of code without a call before it",
            SP,
            &[SP, ip + 50, 0],
            UnwindEnd::Failed(UnwindFailure::NoTable),
            1,
        ),
        ("a frame pointer below the stack pointer", SP - 64, &[1, 2, 3], UnwindEnd::Failed(UnwindFailure::NoTable), 1),
        ("a circle", SP + 8, &[1, SP + 8, returns, 4], UnwindEnd::Failed(UnwindFailure::NoTable), 2),
        ("an empty stack", SP, &[], UnwindEnd::Failed(UnwindFailure::NoTable), 1),
    ];
    for (name, bp, words, expected, count) in cases {
        let (end, frames) = unwound(ip, *bp, words, None);
        assert_eq!((end, frames.len()), (*expected, *count), "{name}");
    }
}

#[test]
fn a_hook_cannot_lead_astray() {
    struct Astray(CallerFrame);
    impl FrameHook for Astray {
        fn step(&mut self, _: &Cursor, _: &Stack<'_>) -> Option<CallerFrame> {
            Some(self.0)
        }
    }
    let code = Generated::new();
    let ip = code.address();
    let step = |ip, sp| CallerFrame { ip, sp, bp: None, preserved: [None; 5] };
    let cases = [
        (step(ip, SP), UnwindEnd::Failed(UnwindFailure::Loop)),
        (step(ip, SP - 8), UnwindEnd::Failed(UnwindFailure::Loop)),
        (step(0x10, SP + 8), UnwindEnd::Failed(UnwindFailure::NotCode)),
        (step(0, SP + 8), UnwindEnd::Root),
    ];
    for (step, expected) in cases {
        assert_eq!(unwound(ip, 0, &[1, 2], Some(&mut Astray(step))).0, expected, "{step:?}");
    }
}

#[test]
fn endless_stacks_are_cut() {
    struct Endless;
    impl FrameHook for Endless {
        fn step(&mut self, at: &Cursor, _: &Stack<'_>) -> Option<CallerFrame> {
            Some(CallerFrame { ip: at.ip, sp: at.sp + 8, bp: None, preserved: [None; 5] })
        }
    }
    let code = Generated::new();
    let (end, frames) = unwound(code.address() + 9, 0, &[], Some(&mut Endless));
    assert_eq!((end, frames.len()), (UnwindEnd::TooDeep, MAX_FRAMES));
}

#[test]
fn a_short_stack_is_said_to_be_cut() {
    // At a function's first instruction its return address is on top of the stack.
    let here = a_short_stack_is_said_to_be_cut as fn() as usize as u64;
    assert_eq!(unwound(here, 0, &[], None).0, UnwindEnd::Cut);
    assert_eq!(unwound(here, 0, &[0x10], None).0, UnwindEnd::Failed(UnwindFailure::NotCode));
    assert_eq!(unwound(here, 0, &[0], None).0, UnwindEnd::Root);
}
