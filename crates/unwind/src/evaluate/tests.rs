use gimli::constants as op;
use proptest::prelude::*;

use super::*;

const SP: u64 = 0x7000;

fn values() -> RegisterValues {
    let registers =
        Registers { sp: SP, bp: SP + 32, bx: 7, r12: 12, ip: 0x40_0013, r10: SP + 16, ..Registers::default() };
    RegisterValues::of(&registers)
}

fn row(base: FrameBase) -> UnwindRow {
    let preserved = PRESERVED.map(|_| SavedRegister::Same);
    UnwindRow { base, preserved, return_address: SavedRegister::Offset(-8), others: Box::default(), signal: false }
}

/// Eight words: 0x100, 0x101, ...
fn stack_bytes() -> Vec<u8> {
    (0..8_u64).flat_map(|word| (0x100 + word).to_le_bytes()).collect()
}

fn call(row: &UnwindRow, first: bool) -> Result<RegisterValues, EvalError> {
    caller(row, &values(), &Stack::new(SP, &stack_bytes()), first)
}

#[test]
fn bases_are_found_in_each_way() {
    let expression = |bytes: &[u8]| FrameBase::Expression(bytes.into());
    let cases = [
        (FrameBase::Register(RSP, 8), Ok(SP + 8)),
        (FrameBase::Register(6, 16), Ok(SP + 48)),
        (FrameBase::Register(10, 8), Ok(SP + 24)),
        (FrameBase::Register(RSP, 4096), Err(EvalError::Stack)),
        // rsp + 8, plus 8 more after the eleventh byte of a linkage table entry.
        (
            expression(&[
                op::DW_OP_breg7.0,
                8,
                op::DW_OP_breg16.0,
                0,
                op::DW_OP_lit15.0,
                op::DW_OP_and.0,
                op::DW_OP_lit11.0,
                op::DW_OP_ge.0,
                op::DW_OP_lit3.0,
                op::DW_OP_shl.0,
                op::DW_OP_plus.0,
            ]),
            Ok(SP + 8),
        ),
        // The value in memory at rsp + 8, and 0x6f0f.
        (
            expression(&[op::DW_OP_breg7.0, 8, op::DW_OP_deref.0, op::DW_OP_const2u.0, 0x0f, 0x6f, op::DW_OP_plus.0]),
            Ok(0x101 + 0x6f0f),
        ),
        (expression(&[op::DW_OP_breg7.0, 0xc0, 0, op::DW_OP_deref.0]), Err(EvalError::Stack)),
        (expression(&[]), Err(EvalError::Invalid)),
        (expression(&[op::DW_OP_skip.0, 0xfd, 0xff]), Err(EvalError::Invalid)),
        (expression(&[0xff, 0xff]), Err(EvalError::Invalid)),
    ];
    for (base, expected) in cases {
        let row = row(base);
        let found = call(&row, true).map(|values| values.get(RSP).unwrap());
        assert_eq!(found, expected, "{row:?}");
    }
}

#[test]
fn registers_are_restored_kept_or_lost() {
    let mut row = row(FrameBase::Register(RSP, 32));
    row.preserved[0] = SavedRegister::Offset(-16);
    row.preserved[1] = SavedRegister::ValueOffset(-24);
    row.preserved[3] = SavedRegister::Undefined;
    row.preserved[4] = SavedRegister::Register(3);
    row.others = Box::new([(0, SavedRegister::Offset(-32))]);
    let found = call(&row, true).unwrap();
    let expected = [(3, Some(0x102)), (6, Some(SP + 8)), (12, Some(12)), (13, None), (14, Some(7)), (0, Some(0x100))];
    for (register, value) in expected {
        assert_eq!(found.get(register), value, "register {register}");
    }
    assert_eq!(found.get(RETURN), Some(0x103));
    assert_eq!(found.get(1), None, "a called function may change rdx");
}

#[test]
fn what_is_below_the_stack_pointer_is_still_in_its_register() {
    let mut row = row(FrameBase::Register(RSP, 8));
    row.preserved[0] = SavedRegister::Offset(-16);
    assert_eq!(call(&row, true).unwrap().get(3), Some(7), "restored already, in an epilogue");
    assert_eq!(call(&row, false).unwrap().get(3), None, "a caller has nothing below");
}

proptest! {
    #[test]
    fn expressions_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let _ = call(&row(FrameBase::Expression(bytes.into())), true);
    }
}
