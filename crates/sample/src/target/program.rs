//! Checks that a process's machine code can be unwound.

use std::fs::File;
use std::io::Read;

use crate::error::SampleError;

const MACHINE_X86_64: u16 = 62;
/// Common `e_machine` numbers of the ELF specification.
const MACHINES: [(u16, &str); 5] =
    [(3, "32-bit x86"), (40, "32-bit ARM"), (183, "AArch64"), (243, "RISC-V"), (8, "MIPS")];

/// Rejects 32-bit and foreign programs. Kernel threads have no program and pass.
pub(super) fn check(pid: u32) -> Result<(), SampleError> {
    let mut head = [0; 20];
    let read = File::open(format!("/proc/{pid}/exe")).and_then(|mut file| file.read_exact(&mut head));
    match read.ok().and_then(|()| foreign(&head)) {
        Some(found) => Err(SampleError::ForeignProgram { pid, found }),
        None => Ok(()),
    }
}

/// Describes the head of an ELF file, unless it is an x86-64 program.
fn foreign(head: &[u8; 20]) -> Option<String> {
    let [0x7f, b'E', b'L', b'F', class, order, ..] = head else { return Some("non-ELF".into()) };
    let machine = u16::from_le_bytes([head[18], head[19]]);
    match (class, order, machine) {
        (2, 1, MACHINE_X86_64) => None,
        (_, 2, _) => Some("big-endian".into()),
        (1, _, MACHINE_X86_64) => Some("32-bit (x32)".into()),
        _ => {
            let known = MACHINES.iter().find(|(number, _)| *number == machine);
            Some(known.map_or_else(|| format!("foreign (ELF machine {machine})"), |(_, name)| (*name).to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_told_apart() {
        for (class, order, machine, expected) in [
            (2, 1, 62, None),
            (1, 1, 3, Some("32-bit x86")),
            (1, 1, 62, Some("32-bit (x32)")),
            (2, 1, 183, Some("AArch64")),
            (2, 2, 21, Some("big-endian")),
            (2, 1, 999, Some("foreign (ELF machine 999)")),
        ] {
            let mut head = [0; 20];
            head[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, order]);
            head[18..].copy_from_slice(&u16::to_le_bytes(machine));
            assert_eq!(foreign(&head).as_deref(), expected);
        }
        assert_eq!(foreign(&[0; 20]).as_deref(), Some("non-ELF"));
        assert!(check(std::process::id()).is_ok());
    }
}
