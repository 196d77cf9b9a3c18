use proptest::prelude::*;

use super::*;

#[test]
fn lines_of_the_kernel_are_read() {
    let text = b"55a0-55b0 r-xp 00001000 fe:0a 42                     /usr/sbin/nginx
7f00-7f10 rw-p 00000000 00:00 0 
7f10-7f20 r-xp 00003000 08:01 7                     /lib/a b.so (deleted)
7fff-8000 r-xp 00000000 00:00 0                          [vdso]
";
    let maps = parse(text);
    assert_eq!(maps.len(), 4);
    let nginx = &maps[0];
    assert_eq!((nginx.start, nginx.end, nginx.offset), (0x55a0, 0x55b0, 0x1000));
    assert_eq!((nginx.device, nginx.inode), ((0xfe, 0xa), 42));
    assert!(nginx.executable && nginx.readable && !nginx.writable && nginx.has_file() && !nginx.deleted);
    assert_eq!(nginx.path, "/usr/sbin/nginx");
    assert!(!maps[1].executable && maps[1].path.is_empty() && !maps[1].has_file());
    assert_eq!((maps[2].path.as_str(), maps[2].deleted), ("/lib/a b.so", true));
    assert!(maps[3].is_vdso());
}

#[test]
fn nonsense_is_left_out() {
    let cases: &[&[u8]] = &[
        b"",
        b"x",
        b"10-0f r-xp 0 0:0 0",
        b"10 r-xp 0 0:0 0",
        b"10-20",
        b"10-20 rwxp zz 0:0 0",
        b"10-20 rwxp 0 00 0",
        b"\xff\xfe",
    ];
    for case in cases {
        assert_eq!(parse(case), [], "{case:?}");
    }
}

proptest! {
    #[test]
    fn bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        parse(&bytes);
    }

    #[test]
    fn what_is_written_is_read(start in 0_u64..1 << 47, length in 1_u64..1 << 30, offset: u32, inode: u32) {
        let end = start + length;
        let text = format!("{start:x}-{end:x} r-xp {offset:08x} 08:01 {inode}      /a\n");
        let maps = parse(text.as_bytes());
        prop_assert_eq!((maps[0].start, maps[0].end), (start, end));
        prop_assert_eq!((maps[0].offset, maps[0].inode), (u64::from(offset), u64::from(inode)));
    }
}
