use super::*;

#[test]
fn calls_are_recognised_in_all_their_lengths() {
    let cases: &[(&[u8], Option<CallKind>)] = &[
        (&[0xe8, 1, 2, 3, 4], Some(CallKind::Direct)),
        (&[0xff, 0xd0], Some(CallKind::Indirect)),                   // call rax
        (&[0x41, 0xff, 0xd3], Some(CallKind::Indirect)),             // call r11
        (&[0xff, 0x10], Some(CallKind::Indirect)),                   // call [rax]
        (&[0xff, 0x50, 0x18], Some(CallKind::Indirect)),             // call [rax+0x18]
        (&[0xff, 0x14, 0xc8], Some(CallKind::Indirect)),             // call [rax+rcx*8]
        (&[0xff, 0x54, 0x24, 0x08], Some(CallKind::Indirect)),       // call [rsp+8]
        (&[0xff, 0x15, 1, 2, 3, 4], Some(CallKind::Indirect)),       // call [rip+...]
        (&[0xff, 0x90, 1, 2, 3, 4], Some(CallKind::Indirect)),       // call [rax+...]
        (&[0xff, 0x94, 0x24, 1, 2, 3, 4], Some(CallKind::Indirect)), // call [rsp+...]
        (&[0xff, 0x14, 0x25, 1, 2, 3, 4], Some(CallKind::Indirect)), // call [...]
        (&[0xff, 0xe0], None),                                       // jmp rax
        (&[0xff, 0x25, 1, 2, 3, 4], None),                           // jmp [rip+...]
        (&[0xe9, 1, 2, 3, 4], None),                                 // jmp
        (&[0x90, 0x90, 0x90], None),
        (&[0xc3], None),
        (&[], None),
    ];
    for (code, expected) in cases {
        let mut bytes = [0; LONGEST_CALL];
        bytes[LONGEST_CALL - code.len()..].copy_from_slice(code);
        assert_eq!(ends_with_call(&bytes), *expected, "{code:02x?}");
    }
}
