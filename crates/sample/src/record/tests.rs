use proptest::prelude::*;

use super::*;

/// A record in words, since the ring's memory is aligned.
fn words(header: Header, data: &[u64]) -> Vec<u64> {
    // SAFETY: `Header` is a multiple of 8 bytes without padding.
    let head: [u64; size_of::<Header>() / 8] = unsafe { std::mem::transmute(header) };
    head.iter().chain(data).copied().collect()
}

fn bytes(words: &[u64]) -> &[u8] {
    // SAFETY: bytes of integers.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len() * 8) }
}

#[test]
fn the_header_is_as_long_as_the_programs_write_it() {
    assert_eq!(size_of::<Header>(), 200);
    assert_eq!(std::mem::offset_of!(Header, registers), 64);
}

#[test]
fn parts_are_found() {
    let header = Header {
        kind: 1,
        pid: 7,
        tid: 8,
        flags: HAS_REGISTERS | STACK_CUT,
        comm: *b"nginx\0..........",
        stack_bytes: 8,
        kernel_bytes: 16,
        lua_bytes: 88,
        ..Header::default()
    };
    let lua = [10, 11, 12, 13, 1, 20, 21, 22, 23, 24, 1];
    let words = words(header, &[&[1][..], &lua, &[3, 4]].concat());
    let record = Record::parse(bytes(&words)).expect("a record");
    assert_eq!((record.kind, record.pid, record.tid), (RecordKind::OnCpu, 7, 8));
    assert_eq!(record.comm, b"nginx");
    assert_eq!((record.stack, record.kernel), (&1_u64.to_le_bytes()[..], &[3, 4][..]));
    let lua = record.lua.expect("a Lua stack");
    assert_eq!(
        (lua.global, lua.vmstate, lua.frames.len(), lua.frames[0].state, lua.frames[0].ffid),
        (10, 13, 1, 20, 1)
    );
    assert!(record.stack_cut && record.registers.is_some() && !record.preempted);
}

#[test]
fn what_does_not_fit_is_refused() {
    let good = Header { kind: 1, stack_bytes: 8, kernel_bytes: 8, ..Header::default() };
    for (case, header) in [
        ("no kind", Header { kind: 0, ..good }),
        ("unknown kind", Header { kind: 7, ..good }),
        ("long stack", Header { stack_bytes: 24, ..good }),
        ("long kernel stack", Header { kernel_bytes: u32::MAX, ..good }),
        ("half an address", Header { kernel_bytes: 4, ..good }),
        ("long Lua", Header { lua_bytes: 8, ..good }),
    ] {
        assert!(Record::parse(bytes(&words(header, &[0, 0]))).is_none(), "{case}");
    }
    assert!(Record::parse(bytes(&words(good, &[0, 0]))).is_some());
    assert!(Record::parse(&[]).is_none());
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(words in prop::collection::vec(any::<u64>(), 0..64), cut in 0_usize..8) {
        let all = bytes(&words);
        let _ = Record::parse(all.get(cut..).unwrap_or_default());
    }
}
