use std::process;

use proptest::prelude::*;

use super::*;
use crate::bytecode::{CALLM, GGET, MOV, UGET};
use crate::name;

/// A prototype in memory, and the string of its chunk.
struct ProtoImage {
    bytes: Vec<u64>,
    /// The chunk's name first.
    strings: Vec<Vec<u64>>,
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes
        .chunks(8)
        .map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        })
        .collect()
}

fn string(text: &str) -> Vec<u64> {
    let mut bytes = vec![0_u8; 24];
    bytes[9] = object::STRING;
    bytes[20..24].copy_from_slice(&(text.len() as u32).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(0);
    words(&bytes)
}

fn instruction(operation: u8, a: u32, d: u32) -> u32 {
    u32::from(operation) | a << 8 | d << 16
}

/// A function of six instructions from line 10 on: local `f = g` (a global), called; then its upvalue `u`.
fn made() -> ProtoImage {
    let code = [
        0x59,
        instruction(GGET, 0, 0),
        instruction(MOV, 1, 0),
        instruction(CALLM, 1, 0),
        instruction(UGET, 2, 1),
        instruction(CALLM, 2, 0),
    ];
    let strings = vec![string("@/etc/app/access.lua"), string("g")];
    let lines = [1_u8, 2, 3, 4, 5];
    let upvalues = b"first\0u\0";
    // `f` from the third instruction on.
    let variables = b"f\0\x02\x04\0";
    let constants = PROTO_SIZE + 4 * code.len();
    let middle = constants + 8;
    let line_info = middle;
    let upvalue_info = line_info + lines.len();
    let variable_info = upvalue_info + upvalues.len();
    let size = variable_info + variables.len();
    let mut bytes = vec![0_u8; size];
    bytes[9] = object::PROTO;
    bytes[UPVALUES] = 2;
    let mut all = vec![0_u64; size.div_ceil(8)];
    let start = all.as_ptr() as u64;
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(SIZE_BC, &(code.len() as u32).to_le_bytes());
    put(CONSTANTS, &(start + middle as u64).to_le_bytes());
    put(SIZE, &(size as u32).to_le_bytes());
    put(CHUNK, &(strings[0].as_ptr() as u64).to_le_bytes());
    put(FIRST_LINE, &10_u32.to_le_bytes());
    put(LINE_COUNT, &6_u32.to_le_bytes());
    put(LINE_INFO, &(start + line_info as u64).to_le_bytes());
    put(UPVALUE_INFO, &(start + upvalue_info as u64).to_le_bytes());
    put(VARIABLE_INFO, &(start + variable_info as u64).to_le_bytes());
    for (index, word) in code.iter().enumerate() {
        put(PROTO_SIZE + 4 * index, &word.to_le_bytes());
    }
    put(constants, &(strings[1].as_ptr() as u64).to_le_bytes());
    put(line_info, &lines);
    put(upvalue_info, upvalues);
    put(variable_info, variables);
    all.copy_from_slice(&words(&bytes));
    ProtoImage { bytes: all, strings }
}

#[test]
fn a_prototype_gives_lines_and_names() {
    let memory = Memory::of(process::id());
    let made = made();
    let address = made.bytes.as_ptr() as u64;
    let proto = Proto::read(memory, address).expect("it is whole");
    assert_eq!(proto.chunk, "@/etc/app/access.lua");
    assert!(!proto.is_main() && !proto.is_builtin() && proto.is_current(memory));
    let code = proto.code();
    assert_eq!(code, address + 104..address + 128);
    let places = [(code.start, None), (code.start + 4, Some(0)), (code.end, Some(5)), (code.end + 4, None)];
    for (pc, number) in places {
        assert_eq!(proto.before(pc), number);
    }
    let lines: Vec<_> = (0..7).map(|number| proto.line(number)).collect();
    assert_eq!(lines[..6], [Some(10), Some(11), Some(12), Some(13), Some(14), Some(15)]);
    let named: Vec<_> = (0..7).map(|number| name::at_call(memory, &proto, number)).collect();
    assert_eq!(named[3].as_deref(), Some("f"), "moved from a local variable");
    assert_eq!(named[5].as_deref(), Some("u"));
    assert_eq!(named[1].as_deref(), Some("__index"), "a metamethod of the globals");
    assert_eq!(proto.variable(2, 0).as_deref(), Some("f"));
    assert_eq!(proto.variable(1, 0), None, "not yet");
    assert_eq!(proto.upvalue(2), None);
}

#[test]
fn code_that_was_loaded_anew_is_noticed() {
    let memory = Memory::of(process::id());
    let mut made = made();
    let proto = Proto::read(memory, made.bytes.as_ptr() as u64).expect("it is whole");
    made.bytes[3] ^= 0xff; // the collector's list
    assert!(proto.is_current(memory));
    made.bytes[8] = made.strings[1].as_ptr() as u64; // the chunk's name
    assert!(!proto.is_current(memory));
}

proptest! {
    #[test]
    fn damage_is_refused_or_read_within_bounds(at in 0_usize..200, byte: u8, number in 0_u32..20, slot in 0_u32..20) {
        let memory = Memory::of(process::id());
        let mut made = made();
        let at = at % (made.bytes.len() * 8);
        let shift = 8 * (at % 8);
        made.bytes[at / 8] = made.bytes[at / 8] & !(0xff << shift) | u64::from(byte) << shift;
        if let Some(proto) = Proto::read(memory, made.bytes.as_ptr() as u64) {
            let _ = (proto.line(number), proto.variable(number, slot), proto.upvalue(number), proto.constant(number));
            let _ = name::at_call(memory, &proto, number);
        }
    }
}
