//! Parses records of perf events (`PERF_RECORD_*` of `linux/perf_event.h`), of the kinds that the attributes request.

use weir_unwind::Registers;

/// Maximum size of a user stack in a record, whose length is a 16-bit number.
pub(super) const MOST_STACK: u32 = 63 << 10;
/// Maximum number of return addresses of the kernel's stack (`kernel.perf_event_max_stack` may be raised).
const MOST_CHAIN: u64 = 4096;
/// Chains have markers between their parts, which are not addresses: `PERF_CONTEXT_MAX` and above.
const CONTEXT_MAX: u64 = 4095_u64.wrapping_neg();

const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
/// `PERF_RECORD_MISC_COMM_EXEC`
const MISC_EXEC: u16 = 1 << 13;

/// One record.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event<'a> {
    /// Lost samples.
    Lost(u64),
    /// A thread has a new name; `executed` if the process runs another program.
    Name {
        pid: u32,
        tid: u32,
        name: &'a [u8],
        executed: bool,
    },
    /// A thread has ended.
    Exit {
        pid: u32,
        tid: u32,
    },
    /// A process or a thread has started.
    Fork {
        pid: u32,
        parent: u32,
    },
    Sample(Sample<'a>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample<'a> {
    pub pid: u32,
    pub tid: u32,
    pub time_ns: u64,
    /// Innermost first.
    pub kernel: Vec<u64>,
    pub registers: Option<Registers>,
    pub stack: &'a [u8],
}

/// The unread rest of a record.
struct RecordReader<'a>(&'a [u8]);

impl<'a> RecordReader<'a> {
    fn bytes(&mut self, n: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(n).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(8)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(4)?.try_into().ok()?))
    }
}

impl<'a> Event<'a> {
    /// Parses a record with its header; `None` if it is of another kind, or damaged.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut rest = RecordReader(bytes);
        let kind = rest.u32()?;
        let misc = u16::from_le_bytes(rest.bytes(2)?.try_into().ok()?);
        rest.bytes(2)?;
        match kind {
            LOST => {
                rest.u64()?;
                Some(Self::Lost(rest.u64()?))
            }
            COMM => {
                let (pid, tid) = (rest.u32()?, rest.u32()?);
                let name = rest.0.split(|&byte| byte == 0).next()?;
                Some(Self::Name { pid, tid, name, executed: misc & MISC_EXEC != 0 })
            }
            EXIT => {
                let (pid, _, tid) = (rest.u32()?, rest.u32()?, rest.u32()?);
                Some(Self::Exit { pid, tid })
            }
            FORK => Some(Self::Fork { pid: rest.u32()?, parent: rest.u32()? }),
            SAMPLE => Sample::parse(&mut rest).map(Self::Sample),
            _ => None,
        }
    }

    /// Process and thread of the event.
    pub(super) fn thread(&self) -> Option<(u32, u32)> {
        match *self {
            Self::Name { pid, tid, .. } | Self::Exit { pid, tid } => Some((pid, tid)),
            Self::Sample(Sample { pid, tid, .. }) => Some((pid, tid)),
            Self::Lost(_) | Self::Fork { .. } => None,
        }
    }

    pub(super) fn is_exit(&self) -> bool {
        matches!(self, Self::Exit { .. })
    }
}

impl<'a> Sample<'a> {
    /// The parts are in the order of the bits of `sample_type`.
    fn parse(rest: &mut RecordReader<'a>) -> Option<Self> {
        let (pid, tid, time_ns) = (rest.u32()?, rest.u32()?, rest.u64()?);
        let chain = rest.u64().filter(|&n| n <= MOST_CHAIN)?;
        let mut kernel = Vec::new();
        for _ in 0..chain {
            kernel.push(rest.u64()?);
        }
        kernel.retain(|&address| address < CONTEXT_MAX);
        let has_registers = rest.u64()? != 0;
        let registers = if has_registers { Some(registers(rest)?) } else { None };
        let room = rest.u64()?;
        let mut stack = rest.bytes(room)?;
        if room != 0 {
            let used = usize::try_from(rest.u64()?).ok()?;
            stack = stack.get(..used & !7)?;
        }
        Some(Self { pid, tid, time_ns, kernel, registers, stack })
    }
}

fn registers(rest: &mut RecordReader<'_>) -> Option<Registers> {
    let mut words = [0; 17];
    for word in &mut words {
        *word = rest.u64()?;
    }
    let [ax, bx, cx, dx, si, di, bp, sp, ip, r8, r9, r10, r11, r12, r13, r14, r15] = words;
    Some(Registers { ax, bx, cx, dx, si, di, bp, sp, ip, r8, r9, r10, r11, r12, r13, r14, r15 })
}

#[cfg(test)]
mod tests;
