//! What a function is called where it is called: as `jit.p` and tracebacks name it.
//!
//! Functions have no names in Lua; the instruction that calls one says where it was taken from: a
//! local variable, an upvalue, a global, a field or a method. A parameter's name says nothing about
//! the function (`fn`, `callback`), so it does not count here.

use weir_unwind::Memory;

use crate::bytecode::{Effect, GGET, Instruction, KNIL, MOV, TGETS, UGET};
use crate::object;
use crate::proto::Proto;

/// The name of the function that an instruction of its caller calls.
pub(crate) fn at_call(memory: Memory, caller: &Proto, number: u32) -> Option<String> {
    let call = caller.instruction(number)?;
    match call.called() {
        Some(slot) => of_slot(memory, caller, number, slot),
        None => call.metamethod().map(str::to_owned),
    }
}

/// Follows a slot back to where its value comes from.
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
