//! One row of an unwind table, taken out of its section: how to get from a frame to its caller.
//!
//! Rows are kept by address, so that a frame that was seen before costs a look into a hash table and
//! a few loads. Expressions are kept as they are and evaluated each time: they are rare (PLT stubs,
//! signal frames, code that realigns its stack, assembly of OpenSSL).

use gimli::{CfaRule, Reader, RegisterRule, UnwindSection, UnwindTableRow};

/// Registers in DWARF's numbering for x86-64; the last is the return address (and `rip`).
pub(crate) const REGISTERS: usize = 17;
pub(crate) const RBP: u8 = 6;
pub(crate) const RSP: u8 = 7;
pub(crate) const RETURN: u8 = 16;
/// rbx, rbp, r12 to r15: a called function leaves them as they were, if no rule says otherwise.
pub(crate) const PRESERVED: [u8; 6] = [3, RBP, 12, 13, 14, 15];

/// Longest expression that is kept, in bytes; longer ones make a row unusable.
const MAX_EXPRESSION: usize = 512;

/// Where the frame's base (CFA) is: the stack pointer before the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Register(u8, i64),
    Expression(Box<[u8]>),
}

/// How the caller's value of a register is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Saved {
    /// Not by the table.
    Lost,
    /// As it is now.
    Same,
    /// In memory, so far from the base.
    At(i64),
    /// The base and so much.
    Is(i64),
    Register(u8),
    AtExpression(Box<[u8]>),
    IsExpression(Box<[u8]>),
}

/// How to find the caller of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub base: Base,
    pub preserved: [Saved; PRESERVED.len()],
    pub return_address: Saved,
    /// Rules for other registers: only where a signal has saved all of them.
    pub others: Box<[(u8, Saved)]>,
    /// Whether the caller was interrupted here, and did not call.
    pub signal: bool,
}

impl Row {
    /// Of a row of the table; `None` if it has something that is not known here.
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
            CfaRule::RegisterAndOffset { register: number, offset } => Base::Register(register(*number)?, *offset),
            CfaRule::Expression(text) => Base::Expression(expression(text)?),
        };
        let saved = |number: u8, otherwise: Saved| {
            Some(match row.register(gimli::Register(u16::from(number))) {
                None => otherwise,
                Some(RegisterRule::Undefined) => Saved::Lost,
                Some(RegisterRule::SameValue) => Saved::Same,
                Some(RegisterRule::Offset(offset)) => Saved::At(offset),
                Some(RegisterRule::ValOffset(offset)) => Saved::Is(offset),
                Some(RegisterRule::Register(other)) => Saved::Register(register(other)?),
                Some(RegisterRule::Expression(text)) => Saved::AtExpression(expression(&text)?),
                Some(RegisterRule::ValExpression(text)) => Saved::IsExpression(expression(&text)?),
                Some(_) => return None,
            })
        };
        let mut preserved = PRESERVED.map(|_| Saved::Same);
        for (slot, &number) in preserved.iter_mut().zip(&PRESERVED) {
            *slot = saved(number, Saved::Same)?;
        }
        let mut others = Vec::new();
        for number in (0..RETURN).filter(|number| !PRESERVED.contains(number)) {
            let rule = saved(number, Saved::Lost)?;
            if rule != Saved::Lost {
                others.push((number, rule));
            }
        }
        let return_address = saved(RETURN, Saved::Lost)?;
        Some(Self { base, preserved, return_address, others: others.into(), signal })
    }

    /// Whether this is the outermost function of a thread: it has no return address.
    pub fn is_root(&self) -> bool {
        self.return_address == Saved::Lost
    }
}
