//! A function's prototype: its chunk, lines, bytecode and names, read at once and cached.
//!
//! Code may be loaded anew at the same address (`lua_code_cache off`), so a cached prototype is
//! compared with the process's memory from time to time ([`Proto::is_current`]).

use weir_unwind::Memory;

use crate::bytecode::Instruction;
use crate::object::{self, Fields};

/// Maximum size of a prototype with all its parts, in bytes; a function of a million instructions has eight.
const MAX_PROTO_BYTES: u32 = 8 << 20;
/// Size of `GCproto` in all GC64 builds, checked against the interpreter's code.
pub(crate) const PROTO_SIZE: usize = 104;
const SIZE_BC: usize = 12;
const CONSTANTS: usize = 32;
const UPVALUES: usize = 60;
const SIZE: usize = 56;
const PARAMETERS: usize = 10;
const CHUNK: usize = 64;
const FIRST_LINE: usize = 72;
const LINE_COUNT: usize = 76;
const LINE_INFO: usize = 80;
const UPVALUE_INFO: usize = 88;
const VARIABLE_INFO: usize = 96;
/// Names of compiler-generated variables, by their number in the table of variables.
const MADE: [&str; 7] =
    ["", "(for index)", "(for limit)", "(for step)", "(for generator)", "(for state)", "(for control)"];

/// A prototype.
#[derive(Clone, Debug)]
pub(crate) struct Proto {
    address: u64,
    bytes: Vec<u8>,
    /// The chunk's name in Lua's form: `@/path/access.lua`, `=name`, or source text.
    pub chunk: String,
    pub first_line: u32,
    line_count: u32,
    instructions: u32,
    pub parameters: u8,
}

impl Proto {
    /// Reads a prototype; `None` if it is missing or damaged.
    pub fn read(memory: Memory, address: u64) -> Option<Self> {
        if !object::is(memory, address, object::PROTO) {
            return None;
        }
        let size = memory.u32(address + SIZE as u64).ok()?;
        if size > MAX_PROTO_BYTES || (size as usize) < PROTO_SIZE {
            return None;
        }
        let bytes = object::read(memory, address, size as usize)?;
        let instructions = bytes.u32(SIZE_BC)?;
        if u64::from(instructions) * 4 + PROTO_SIZE as u64 > u64::from(size) {
            return None;
        }
        let chunk = object::string(memory, bytes.u64(CHUNK)?)?;
        let proto = Self {
            address,
            chunk,
            first_line: bytes.u32(FIRST_LINE)?,
            line_count: bytes.u32(LINE_COUNT)?,
            instructions,
            parameters: bytes.u8(PARAMETERS)?,
            bytes,
        };
        let lines = proto.bytes.u64(LINE_INFO)?;
        (lines == 0 || proto.inside(lines).is_some()).then_some(proto)
    }

    /// Whether the same prototype is still there.
    pub fn is_current(&self, memory: Memory) -> bool {
        let mut now = [0; PROTO_SIZE];
        if memory.read_exact(self.address, &mut now).is_err() {
            return false;
        }
        let same = |from: usize, to: usize| now[from..to] == self.bytes[from..to];
        now[9] == object::PROTO && same(SIZE_BC, 16) && same(CONSTANTS, UPVALUES) && same(CHUNK, PROTO_SIZE)
    }

    /// The address range of its bytecode.
    pub fn code(&self) -> std::ops::Range<u64> {
        let start = self.address + PROTO_SIZE as u64;
        start..start + 4 * u64::from(self.instructions)
    }

    /// The number of the instruction before an address (for a return address, that of the call).
    pub fn before(&self, pc: u64) -> Option<u32> {
        let code = self.code();
        (pc > code.start && pc <= code.end).then(|| ((pc - code.start) / 4) as u32 - 1)
    }

    /// The instruction with this number.
    pub fn instruction(&self, number: u32) -> Option<Instruction> {
        (number < self.instructions).then_some(())?;
        self.bytes.u32(PROTO_SIZE + 4 * number as usize).map(Instruction)
    }

    /// The line of an instruction; `None` if lines were stripped.
    pub fn line(&self, number: u32) -> Option<u32> {
        let info = self.inside(self.bytes.u64(LINE_INFO)?)?;
        let Some(at) = number.checked_sub(1) else { return Some(self.first_line) };
        let at = at as usize;
        let more = match self.line_count {
            0..=0xff => u32::from(self.bytes.u8(info + at)?),
            0x100..=0xffff => u32::from(self.bytes.u16(info + 2 * at)?),
            _ => self.bytes.u32(info + 4 * at)?,
        };
        Some(self.first_line.wrapping_add(more))
    }

    /// Whether it is a whole file or text chunk, rather than a function in it.
    pub fn is_main(&self) -> bool {
        self.first_line == 0
    }

    /// Whether it is part of LuaJIT itself (library functions written in Lua).
    pub fn is_builtin(&self) -> bool {
        self.first_line == u32::MAX
    }

    /// The constant object with this number, such as the name in `GGET`.
    pub fn constant(&self, number: u32) -> Option<u64> {
        let middle = self.inside(self.bytes.u64(CONSTANTS)?)?;
        self.bytes.u64(middle.checked_sub(8 * (number as usize + 1))?)
    }

    /// The name of an upvalue.
    pub fn upvalue(&self, number: u32) -> Option<String> {
        (number < u32::from(self.bytes.u8(UPVALUES)?)).then_some(())?;
        let mut at = self.inside(self.bytes.u64(UPVALUE_INFO)?)?;
        for _ in 0..number {
            at += self.text(at)?.len() + 1;
        }
        Some(String::from_utf8_lossy(self.text(at)?).into_owned())
    }

    /// The name of the local variable in a slot at an instruction.
    pub fn variable(&self, number: u32, mut slot: u32) -> Option<String> {
        let mut at = self.inside(self.bytes.u64(VARIABLE_INFO)?)?;
        let mut start = 0_u32;
        loop {
            let kind = self.bytes.u8(at)?;
            let name = match kind {
                0 => return None,
                1..=6 => MADE[usize::from(kind)].as_bytes(),
                _ => self.text(at)?,
            };
            at += if kind <= 6 { 1 } else { name.len() + 1 };
            start = start.wrapping_add(self.length(&mut at)?);
            if start > number {
                return None;
            }
            let end = start.wrapping_add(self.length(&mut at)?);
            if number < end {
                if slot == 0 {
                    return Some(String::from_utf8_lossy(name).into_owned());
                }
                slot -= 1;
            }
        }
    }

    /// The offset of an address in the bytes.
    fn inside(&self, address: u64) -> Option<usize> {
        let at = usize::try_from(address.checked_sub(self.address)?).ok()?;
        (at >= PROTO_SIZE && at <= self.bytes.len()).then_some(at)
    }

    fn text(&self, at: usize) -> Option<&[u8]> {
        let rest = self.bytes.get(at..)?;
        Some(&rest[..rest.iter().position(|&byte| byte == 0)?])
    }

    /// A number in seven bits per byte, the lowest first.
    fn length(&self, at: &mut usize) -> Option<u32> {
        let mut value = 0_u32;
        for shift in (0..35).step_by(7) {
            let byte = self.bytes.u8(*at)?;
            *at += 1;
            value |= u32::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
