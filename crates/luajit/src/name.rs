//! The name of a function at its call site, as in `jit.p` and tracebacks.
//!
//! Functions have no names in Lua; the instruction that calls one shows where it was taken from: a
//! local variable, an upvalue, a global, a field or a method. A parameter's name says nothing about
//! the function (`fn`, `callback`), so it is not used.

use weir_unwind::Memory;

use crate::bytecode::{Effect, GGET, Instruction, KNIL, MOV, TGETS, UGET};
use crate::object;
use crate::proto::Proto;

/// The name of the function called by an instruction of its caller.
pub(crate) fn at_call(memory: Memory, caller: &Proto, number: u32) -> Option<String> {
    let call = caller.instruction(number)?;
    match call.called() {
        Some(slot) => of_slot(memory, caller, number, slot),
        None => call.metamethod().map(str::to_owned),
    }
}

/// Traces a slot back to the source of its value.
fn of_slot(memory: Memory, proto: &Proto, number: u32, mut slot: u32) -> Option<String> {
    let local =
        |number, slot| proto.variable(number, slot).map(|name| (slot >= u32::from(proto.parameters)).then_some(name));
    if let Some(name) = local(number, slot) {
        return name;
    }
    let mut at = number;
    while at > 1 {
        at -= 1;
        let instruction = proto.instruction(at)?;
        match instruction.effect() {
            Effect::From if slot >= instruction.a() && (instruction.operation() != KNIL || slot <= instruction.d()) => {
                return None;
            }
            Effect::Writes if slot == instruction.a() => {
                if instruction.operation() != MOV {
                    return of_source(memory, proto, instruction);
                }
                slot = instruction.d();
                if let Some(name) = local(at, slot) {
                    return name;
                }
            }
            _ => {}
        }
    }
    None
}

fn of_source(memory: Memory, proto: &Proto, instruction: Instruction) -> Option<String> {
    match instruction.operation() {
        GGET => object::string(memory, proto.constant(instruction.d())?),
        TGETS => object::string(memory, proto.constant(instruction.c())?),
        UGET => proto.upvalue(instruction.d()),
        _ => None,
    }
}
