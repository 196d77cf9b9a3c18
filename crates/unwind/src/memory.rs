//! Reads the memory of another process without stopping it (`process_vm_readv`).
//!
//! Contents may change between two reads and may be arbitrary: callers validate them.

use std::io;

/// Maximum length of a string read by [`Memory::c_str`], in bytes.
const MAX_STRING: usize = 64 * 1024;
/// Strings are read in pieces that do not cross pages, because the next page may be missing.
const PAGE: u64 = 4096;

/// The memory of a process, by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    pid: u32,
}

impl Memory {
    /// The memory of process `pid`; a missing process is detected at the first read.
    #[must_use]
    pub fn of(pid: u32) -> Self {
        Self { pid }
    }

    /// Fills a buffer from an address.
    ///
    /// # Errors
    /// `EFAULT` if part of the memory is not mapped, `ESRCH` if the process has ended, `EPERM`
    /// without `CAP_SYS_PTRACE`.
    pub fn read_exact(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        let read = self.read(address, buffer)?;
        if read == buffer.len() { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EFAULT)) }
    }

    /// Fills as much of a buffer as is mapped; returns the number of bytes.
    ///
    /// # Errors
    /// As [`Memory::read_exact`], if not even one byte can be read.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: buffer.len() };
        let pid = libc::pid_t::try_from(self.pid).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
        // SAFETY: `local` describes `buffer`, which is exclusively borrowed and outlives the call;
        // the remote address is only used by the kernel, in the other process.
        let read = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
        usize::try_from(read).map_err(|_| io::Error::last_os_error())
    }

    /// Eight bytes.
    ///
    /// # Errors
    /// As [`Memory::read_exact`].
    pub fn u64(&self, address: u64) -> io::Result<u64> {
        self.array(address).map(u64::from_le_bytes)
    }

    /// Four bytes.
    ///
    /// # Errors
    /// As [`Memory::read_exact`].
    pub fn u32(&self, address: u64) -> io::Result<u32> {
        self.array(address).map(u32::from_le_bytes)
    }

    /// Two bytes.
    ///
    /// # Errors
    /// As [`Memory::read_exact`].
    pub fn u16(&self, address: u64) -> io::Result<u16> {
        self.array(address).map(u16::from_le_bytes)
    }

    /// One byte.
    ///
    /// # Errors
    /// As [`Memory::read_exact`].
    pub fn u8(&self, address: u64) -> io::Result<u8> {
        self.array(address).map(u8::from_le_bytes)
    }

    /// The bytes before the first NUL, at most `max` (and never more than 64 KiB).
    ///
    /// # Errors
    /// As [`Memory::read_exact`], if memory ends before the NUL.
    pub fn c_str(&self, address: u64, max: usize) -> io::Result<Vec<u8>> {
        let max = max.min(MAX_STRING);
        let mut text = Vec::new();
        while text.len() < max {
            let at = address.wrapping_add(text.len() as u64);
            let piece = ((PAGE - at % PAGE) as usize).min(max - text.len());
            let start = text.len();
            text.resize(start + piece, 0);
            self.read_exact(at, &mut text[start..])?;
            if let Some(end) = text[start..].iter().position(|&byte| byte == 0) {
                text.truncate(start + end);
                break;
            }
        }
        Ok(text)
    }

    fn array<const N: usize>(&self, address: u64) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.read_exact(address, &mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_its_own_memory_and_refuses_what_is_not_there() {
        let memory = Memory::of(std::process::id());
        let number = Box::new(0x1122_3344_5566_7788_u64);
        let at = std::ptr::from_ref(&*number) as u64;
        assert_eq!(memory.u64(at).unwrap(), 0x1122_3344_5566_7788);
        assert_eq!(memory.u32(at).unwrap(), 0x5566_7788);
        assert_eq!(memory.u16(at).unwrap(), 0x7788);
        assert_eq!(memory.u8(at).unwrap(), 0x88);
        assert_eq!(memory.u64(8).unwrap_err().raw_os_error(), Some(libc::EFAULT));
        assert_eq!(Memory::of(u32::MAX).u64(at).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }

    #[test]
    fn strings_end_at_nul_or_at_the_bound() {
        let memory = Memory::of(std::process::id());
        let text = vec![b'x'; 10_000].into_iter().chain([0]).collect::<Vec<u8>>();
        let at = text.as_ptr() as u64;
        assert_eq!(memory.c_str(at, 20_000).unwrap().len(), 10_000);
        assert_eq!(memory.c_str(at, 100).unwrap().len(), 100);
        assert_eq!(memory.c_str(at + 10_000, 100).unwrap(), b"");
        assert!(memory.c_str(8, 100).is_err());
    }
}
