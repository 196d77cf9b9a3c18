//! The few instructions of LuaJIT 2.1's bytecode from which a function's name is derived.
//!
//! The numbers are those of `lj_bc.h`, which 2.1 has kept since its first beta; later instructions
//! were added after the last one here.

/// An instruction: operation, A, then B and C or D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction(pub u32);

pub(crate) const MOV: u8 = 18;
pub(crate) const KNIL: u8 = 44;
pub(crate) const UGET: u8 = 45;
pub(crate) const GGET: u8 = 54;
pub(crate) const TGETS: u8 = 57;
pub(crate) const CALLM: u8 = 65;
pub(crate) const CALLT: u8 = 68;
pub(crate) const ITERC: u8 = 69;
pub(crate) const ITERN: u8 = 70;

/// The effect of an instruction on its A operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// No effect, or it only reads it.
    Reads,
    /// Writes slot A.
    Writes,
    /// Uses slots from A on.
    From,
}

impl Instruction {
    pub fn operation(self) -> u8 {
        self.0 as u8
    }
    pub fn a(self) -> u32 {
        self.0 >> 8 & 0xff
    }
    pub fn c(self) -> u32 {
        self.0 >> 16 & 0xff
    }
    pub fn d(self) -> u32 {
        self.0 >> 16
    }

    /// The slot of the function that it calls.
    pub fn called(self) -> Option<u32> {
        match self.operation() {
            CALLM..=CALLT => Some(self.a()),
            ITERC | ITERN => self.a().checked_sub(3),
            _ => None,
        }
    }

    pub fn effect(self) -> Effect {
        match self.operation() {
            // ISTC, ISFC; MOV to KPRI; UGET; FNEW to GGET; TGETV to TGETR
            12 | 13 | 18..=43 | 45 | 51..=54 | 56..=59 => Effect::Writes,
            // KNIL; TSETM; CALLM to RETM; loops
            44 | 63 | 65..=73 | 77..=84 => Effect::From,
            _ => Effect::Reads,
        }
    }

    /// The metamethod that an instruction may call.
    pub fn metamethod(self) -> Option<&'static str> {
        Some(match self.operation() {
            0 | 1 => "__lt",
            2 | 3 => "__le",
            4..=11 => "__eq",
            20 => "__unm",
            21 => "__len",
            22 | 27 | 32 => "__add",
            23 | 28 | 33 => "__sub",
            24 | 29 | 34 => "__mul",
            25 | 30 | 35 => "__div",
            26 | 31 | 36 => "__mod",
            37 => "__pow",
            38 => "__concat",
            51..=53 => "__gc",
            54 | 56..=59 => "__index",
            55 | 60..=64 => "__newindex",
            _ => return None,
        })
    }
}
