//! Applies a row to registers and stack bytes to compute the caller's registers.

use gimli::{Encoding, EndianSlice, EvaluationResult, Expression, Format, LittleEndian, Location, Value};

use crate::registers::Registers;
use crate::row::{FrameBase, PRESERVED, REGISTERS, RETURN, RSP, SavedRegister, UnwindRow};
use crate::stack::Stack;

/// Maximum number of operations of one expression, because a damaged one may jump backwards.
const MAX_OPERATIONS: u32 = 256;

/// Register values, in DWARF's numbering, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RegisterValues {
    values: [u64; REGISTERS],
    known: u32,
}

impl RegisterValues {
    /// All registers of a sample.
    pub fn of(registers: &Registers) -> Self {
        let Registers { ax, bx, cx, dx, si, di, bp, sp, ip, r8, r9, r10, r11, r12, r13, r14, r15 } = *registers;
        let values = [ax, dx, cx, bx, si, di, bp, sp, r8, r9, r10, r11, r12, r13, r14, r15, ip];
        Self { values, known: (1 << REGISTERS) - 1 }
    }

    pub fn get(&self, register: u8) -> Option<u64> {
        (self.known & 1 << register != 0).then(|| self.values[usize::from(register)])
    }

    pub fn set(&mut self, register: u8, value: Option<u64>) {
        self.known = self.known & !(1 << register) | u32::from(value.is_some()) << register;
        self.values[usize::from(register)] = value.unwrap_or(0);
    }
}

/// The reason why a row could not be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EvalError {
    /// Stack bytes were not captured.
    Stack,
    /// A register value is not known.
    Register,
    /// An operation is unknown or invalid.
    Invalid,
}

/// Computes the caller's registers. `first` means that the frame is the innermost one.
pub(crate) fn caller(
    row: &UnwindRow,
    values: &RegisterValues,
    stack: &Stack<'_>,
    first: bool,
) -> Result<RegisterValues, EvalError> {
    let base = match &row.base {
        FrameBase::Register(register, offset) => {
            values.get(*register).ok_or(EvalError::Register)?.wrapping_add_signed(*offset)
        }
        FrameBase::Expression(text) => evaluate(text, None, values, stack)?,
    };
    let mut caller = RegisterValues::default();
    let value = |register: u8, rule: &SavedRegister| -> Result<Option<u64>, EvalError> {
        let known = values.get(register);
        match rule {
            SavedRegister::Undefined => Ok(None),
            SavedRegister::Same => Ok(known),
            SavedRegister::Offset(offset) => {
                let at = base.wrapping_add_signed(*offset);
                // In an epilogue the register may already be restored while the table still refers to its old slot.
                if first && at < stack.base() { Ok(known) } else { stack.u64(at).ok_or(EvalError::Stack).map(Some) }
            }
            SavedRegister::ValueOffset(offset) => Ok(Some(base.wrapping_add_signed(*offset))),
            SavedRegister::Register(other) => Ok(values.get(*other)),
            SavedRegister::AtExpression(text) => {
                let at = evaluate(text, Some(base), values, stack)?;
                stack.u64(at).ok_or(EvalError::Stack).map(Some)
            }
            SavedRegister::IsExpression(text) => evaluate(text, Some(base), values, stack).map(Some),
        }
    };
    let return_address = value(RETURN, &row.return_address)?.ok_or(EvalError::Register)?;
    caller.set(RSP, Some(base));
    caller.set(RETURN, Some(return_address));
    // A register that cannot be recovered is unknown from here on; most callers do not need it.
    for (&register, rule) in PRESERVED.iter().zip(&row.preserved) {
        caller.set(register, value(register, rule).ok().flatten());
    }
    for (register, rule) in &row.others {
        caller.set(*register, value(*register, rule).ok().flatten());
    }
    Ok(caller)
}

/// Evaluates an expression, with `base` initially on its stack if present.
fn evaluate(text: &[u8], base: Option<u64>, values: &RegisterValues, stack: &Stack<'_>) -> Result<u64, EvalError> {
    let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 4 };
    let mut evaluation = Expression(EndianSlice::new(text, LittleEndian)).evaluation(encoding);
    evaluation.set_max_iterations(MAX_OPERATIONS);
    if let Some(base) = base {
        evaluation.set_initial_value(base);
    }
    let mut state = evaluation.evaluate().map_err(|_| EvalError::Invalid)?;
    for _ in 0..MAX_OPERATIONS {
        state = match state {
            EvaluationResult::Complete => {
                return match evaluation.as_result() {
                    [piece] => match piece.location {
                        Location::Address { address } => Ok(address),
                        Location::Value { value: Value::Generic(value) | Value::U64(value) } => Ok(value),
                        _ => Err(EvalError::Invalid),
                    },
                    _ => Err(EvalError::Invalid),
                };
            }
            EvaluationResult::RequiresMemory { address, size: 8, space: None, .. } => {
                let value = stack.u64(address).ok_or(EvalError::Stack)?;
                evaluation.resume_with_memory(Value::Generic(value))
            }
            EvaluationResult::RequiresRegister { register, .. } => {
                let number = u8::try_from(register.0).ok().filter(|&number| usize::from(number) < REGISTERS);
                let value = values.get(number.ok_or(EvalError::Invalid)?).ok_or(EvalError::Register)?;
                evaluation.resume_with_register(Value::Generic(value))
            }
            _ => return Err(EvalError::Invalid),
        }
        .map_err(|_| EvalError::Invalid)?;
    }
    Err(EvalError::Invalid)
}

#[cfg(test)]
mod tests;
