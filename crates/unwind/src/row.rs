//! One row of an unwind table, extracted from its section: how to get from a frame to its caller.
//!
//! Rows are cached by address, so that a known frame costs a hash table look-up and a few loads.
//! Expressions are stored as they are and evaluated each time: they are rare (PLT stubs, signal
//! frames, code that realigns its stack, OpenSSL's assembly).

use gimli::{CfaRule, Reader, RegisterRule, UnwindSection, UnwindTableRow};

/// Registers in DWARF's numbering for x86-64; the last is the return address (and `rip`).
pub(crate) const REGISTERS: usize = 17;
pub(crate) const RBP: u8 = 6;
pub(crate) const RSP: u8 = 7;
pub(crate) const RETURN: u8 = 16;
/// rbx, rbp, r12 to r15: preserved by called functions, unless a rule says otherwise.
pub(crate) const PRESERVED: [u8; 6] = [3, RBP, 12, 13, 14, 15];

/// Maximum length of an expression, in bytes; longer ones make a row unusable.
const MAX_EXPRESSION: usize = 512;

/// The rule for the frame's base (CFA): the stack pointer before the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FrameBase {
    Register(u8, i64),
    Expression(Box<[u8]>),
}

/// The rule for the caller's value of a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SavedRegister {
    /// Not recoverable.
    Undefined,
    /// Unchanged.
    Same,
    /// In memory, at this offset from the base.
    Offset(i64),
    /// The base plus this offset.
    ValueOffset(i64),
    Register(u8),
    AtExpression(Box<[u8]>),
    IsExpression(Box<[u8]>),
}

/// The rules to find the caller of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnwindRow {
    pub base: FrameBase,
    pub preserved: [SavedRegister; PRESERVED.len()],
    pub return_address: SavedRegister,
    /// Rules for other registers, present only if a signal has saved all of them.
    pub others: Box<[(u8, SavedRegister)]>,
    /// Whether the caller was interrupted here instead of making a call.
    pub signal: bool,
}

impl UnwindRow {
    /// Converts a row of the table; `None` if it contains something unsupported.
    pub fn of<R: Reader<Offset = usize>>(
        section: &impl UnwindSection<R>,
        row: &UnwindTableRow<usize>,
        signal: bool,
    ) -> Option<Self> {
        let expression = |expression: &gimli::UnwindExpression<usize>| {
            let bytes = expression.get(section).ok()?.0;
            let bytes = bytes.to_slice().ok().filter(|bytes| bytes.len() <= MAX_EXPRESSION)?;
            Some(Box::<[u8]>::from(&*bytes))
        };
        let register =
            |register: gimli::Register| u8::try_from(register.0).ok().filter(|&number| usize::from(number) < REGISTERS);
        let base = match row.cfa() {
            CfaRule::RegisterAndOffset { register: number, offset } => FrameBase::Register(register(*number)?, *offset),
            CfaRule::Expression(text) => FrameBase::Expression(expression(text)?),
        };
        let saved = |number: u8, otherwise: SavedRegister| {
            Some(match row.register(gimli::Register(u16::from(number))) {
                None => otherwise,
                Some(RegisterRule::Undefined) => SavedRegister::Undefined,
                Some(RegisterRule::SameValue) => SavedRegister::Same,
                Some(RegisterRule::Offset(offset)) => SavedRegister::Offset(offset),
                Some(RegisterRule::ValOffset(offset)) => SavedRegister::ValueOffset(offset),
                Some(RegisterRule::Register(other)) => SavedRegister::Register(register(other)?),
                Some(RegisterRule::Expression(text)) => SavedRegister::AtExpression(expression(&text)?),
                Some(RegisterRule::ValExpression(text)) => SavedRegister::IsExpression(expression(&text)?),
                Some(_) => return None,
            })
        };
        let mut preserved = PRESERVED.map(|_| SavedRegister::Same);
        for (slot, &number) in preserved.iter_mut().zip(&PRESERVED) {
            *slot = saved(number, SavedRegister::Same)?;
        }
        let mut others = Vec::new();
        for number in (0..RETURN).filter(|number| !PRESERVED.contains(number)) {
            let rule = saved(number, SavedRegister::Undefined)?;
            if rule != SavedRegister::Undefined {
                others.push((number, rule));
            }
        }
        let return_address = saved(RETURN, SavedRegister::Undefined)?;
        Some(Self { base, preserved, return_address, others: others.into(), signal })
    }

    /// Whether this is the outermost function of a thread: it has no return address.
    pub fn is_root(&self) -> bool {
        self.return_address == SavedRegister::Undefined
    }
}
