use proptest::prelude::*;

use super::*;

fn record(kind: u32, misc: u16, words: &[u64]) -> Vec<u8> {
    let mut bytes = kind.to_le_bytes().to_vec();
    bytes.extend(misc.to_le_bytes());
    bytes.extend(u16::try_from(8 + 8 * words.len()).unwrap_or(u16::MAX).to_le_bytes());
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes
}

fn two(low: u64, high: u64) -> u64 {
    low | high << 32
}

#[test]
fn records_are_read() {
    let name = u64::from_le_bytes(*b"nginx\0\0\0");
    for (bytes, expected) in [
        (record(2, 0, &[1, 5]), Some(Event::Lost(5))),
        (record(3, 0, &[two(7, 8), name]), Some(Event::Name { pid: 7, tid: 8, name: b"nginx", executed: false })),
        (record(3, 1 << 13, &[two(7, 7), name]), Some(Event::Name { pid: 7, tid: 7, name: b"nginx", executed: true })),
        (record(4, 0, &[two(7, 1), two(8, 1), 0]), Some(Event::Exit { pid: 7, tid: 8 })),
        (record(7, 0, &[two(9, 7), two(9, 7), 0]), Some(Event::Fork { pid: 9, parent: 7 })),
        (record(1, 0, &[0, 0]), None),
        (record(9, 0, &[two(7, 8), 1]), None),
    ] {
        assert_eq!(Event::parse(&bytes), expected);
    }
}

#[test]
fn samples_are_read() {
    let mut words = vec![two(7, 8), 99, 3, 128_u64.wrapping_neg(), 0xffff_ffff_8100_0000, 0xffff_ffff_8100_0010, 2];
    words.extend(0..17);
    words.extend([16, 0xaa, 0xbb, 8]);
    let bytes = record(9, 0, &words);
    let Some(Event::Sample(sample)) = Event::parse(&bytes) else { panic!("a sample") };
    assert_eq!((sample.pid, sample.tid, sample.time_ns), (7, 8, 99));
    assert_eq!(sample.kernel, [0xffff_ffff_8100_0000, 0xffff_ffff_8100_0010]);
    assert_eq!(sample.registers.map(|registers| (registers.ax, registers.ip, registers.r15)), Some((0, 8, 16)));
    assert_eq!(sample.stack, 0xaa_u64.to_le_bytes());
}

#[test]
fn threads_of_the_kernel_have_neither_registers_nor_stack() {
    let bytes = record(9, 0, &[two(2, 2), 99, 0, 0, 0]);
    let Some(Event::Sample(sample)) = Event::parse(&bytes) else { panic!("a sample") };
    assert_eq!((sample.registers, sample.stack.len()), (None, 0));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(kind in 0_u32..12, words in prop::collection::vec(prop_oneof![any::<u64>(), 0_u64..64], 0..40)) {
        let _ = Event::parse(&record(kind, 0, &words));
    }
}
