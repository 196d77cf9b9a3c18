use proptest::prelude::*;

use super::*;

/// The entry of a GC64 build (OpenResty's luajit2 of January 2023, as in Debian 12), as bytes.
const GC64: &[u8] = &[
    0x55, 0x53, 0x41, 0x57, 0x41, 0x56, // push rbp, rbx, r15, r14
    0x48, 0x83, 0xec, 0x28, // sub rsp, 0x28
    0xbb, 0x01, 0x00, 0x00, 0x00, // mov ebx, 1
    0x89, 0x54, 0x24, 0x08, // mov [rsp+8], edx
    0x48, 0x89, 0xfd, // mov rbp, rdi
    0x48, 0x89, 0x7c, 0x24, 0x10, // mov [rsp+0x10], rdi
    0x48, 0x89, 0xf1, // mov rcx, rsi
    0x4c, 0x8b, 0x75, 0x10, // mov r14, [rbp+0x10]
    0x4c, 0x8b, 0x7d, 0x50, // mov r15, [rbp+0x50]
    0x4c, 0x89, 0x7c, 0x24, 0x20, // mov [rsp+0x20], r15
    0x48, 0x89, 0x6c, 0x24, 0x18, // mov [rsp+0x18], rbp
    0x49, 0x81, 0xc6, 0xa8, 0x0f, 0x00, 0x00, // add r14, 0xfa8
    0x48, 0x89, 0x65, 0x50, // mov [rbp+0x50], rsp
    0x49, 0x89, 0xae, 0xc8, 0xf1, 0xff, 0xff, // mov [r14-0xe38], rbp
    0x41, 0xc7, 0x86, 0x10, 0xf1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // mov dword [r14-0xef0], -1
    0x48, 0x8b, 0x55, 0x20, // mov rdx, [rbp+0x20]
    0x48, 0x01, 0xcb, // add rbx, rcx
    0x48, 0x29, 0xd3, // sub rbx, rdx
    0x48, 0x8b, 0x45, 0x28, // mov rax, [rbp+0x28]
    0x41, 0xff, 0x24, 0xee, // jmp [r14+rbp*8]
];

#[test]
fn the_entry_names_all_offsets() {
    assert!(is_entry(GC64));
    let expected = InterpreterEntry {
        c_size: 80,
        c_results: 8,
        c_state: 16,
        c_pc: 24,
        c_previous: 32,
        l_global: 16,
        l_cframe: 80,
        l_base: 32,
        l_top: 40,
        dispatch: 0xfa8,
        g_current: 0x170,
        g_vmstate: 0xb8,
    };
    assert_eq!(read(GC64, 0x1000), Ok(expected));
}

#[test]
fn an_entry_of_32_bit_references_is_told_apart() {
    let mut narrow = GC64[..19].to_vec();
    narrow.extend_from_slice(&[0x89, 0xfd]); // mov ebp, edi
    assert_eq!(read(&narrow, 0), Err(EntryError::Narrow));
}

#[test]
fn what_is_missing_is_said() {
    for (end, what) in [(10, "the dispatch table"), (GC64.len() - 11, "lua_State.top")] {
        assert_eq!(read(&GC64[..end], 0), Err(EntryError::Missing(what)), "{end}");
    }
}

#[test]
fn targets_are_those_of_calls_and_jumps() {
    let code = [0xe8, 0x0b, 0x00, 0x00, 0x00, 0x90, 0xeb, 0x02, 0xc3];
    assert_eq!(targets(&code, 0x1000), [0x1010, 0x100a]);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(code in prop::collection::vec(any::<u8>(), 0..400), at in 0..GC64.len(), byte: u8) {
        let _ = read(&code, 0x1000);
        let _ = targets(&code, u64::MAX - 100);
        let mut damaged = GC64.to_vec();
        damaged[at] = byte;
        if let Ok(entry) = read(&damaged, 0) {
            let _ = crate::handler::read(&code, 0, &entry);
        }
    }
}
