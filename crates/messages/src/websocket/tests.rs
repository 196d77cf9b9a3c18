use proptest::prelude::*;

use super::*;

const LIMIT: usize = 100_000;
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// A client's frame.
fn frame(first: u8, mask: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let header = encode(Opcode::Binary, payload.len());
    let mut bytes = header.to_vec();
    bytes[0] = first;
    bytes[1] |= 0x80;
    bytes.extend(mask);
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    frame(first, MASK, payload)
}

/// All events as text, and at the end the close code of an error.
fn decode<'p>(limit: usize, pieces: impl IntoIterator<Item = &'p [u8]>) -> Vec<String> {
    let mut decoder = Decoder::new(limit);
    let mut events = Vec::new();
    for mut piece in pieces {
        loop {
            match decoder.next(&mut piece) {
                Ok(None) => break,
                Ok(Some(event)) => events.push(format!("{event:?}")),
                Err(error) => {
                    events.push(error.close_code().to_string());
                    assert_eq!(decoder.next(&mut &b"more"[..]), Err(error), "an error stays");
                    assert_eq!(decoder.heap_bytes(), 0);
                    return events;
                }
            }
        }
        assert!(piece.is_empty());
        assert!(decoder.heap_bytes() <= limit);
        assert!(decoder.is_in_message() || decoder.heap_bytes() == 0, "memory of no message");
    }
    events
}

fn events(bytes: &[u8]) -> Vec<String> {
    let whole = decode(LIMIT, [bytes]);
    let split = decode(LIMIT, bytes.chunks(1));
    assert_eq!(whole, split, "{bytes:?}");
    whole
}

fn shown(events: &[Event<'_>]) -> Vec<String> {
    events.iter().map(|event| format!("{event:?}")).collect()
}

/// RFC 6455, section 5.7; the server's frames are those that it may send, with the client's mask on the others.
#[test]
fn examples_of_the_standard_are_read_and_written() {
    let hello = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
    assert_eq!(events(&hello), shown(&[Event::Text(b"Hello")]));
    assert_eq!(events(&[masked(0x01, b"Hel"), masked(0x80, b"lo")].concat()), shown(&[Event::Text(b"Hello")]));
    let pong = [0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
    assert_eq!(events(&pong), shown(&[Event::Pong(b"Hello")]));
    assert_eq!(events(&masked(0x89, b"Hello")), shown(&[Event::Ping(b"Hello")]));
    for length in [256, 65_536] {
        assert_eq!(events(&masked(0x82, &vec![7; length])), shown(&[Event::Binary(&vec![7; length])]));
    }
    assert_eq!([&encode(Opcode::Text, 5)[..], b"Hello"].concat(), [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]);
    assert_eq!(encode(Opcode::Ping, 5)[..], [0x89, 0x05]);
    assert_eq!(encode(Opcode::Binary, 256)[..], [0x82, 0x7e, 0x01, 0x00]);
    assert_eq!(encode(Opcode::Binary, 65_536)[..], [0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0]);
    assert_eq!(encode(Opcode::Pong, 0)[..], [0x8a, 0]);
}

#[test]
fn control_frames_come_between_fragments() {
    let bytes = [
        masked(0x01, "gr\u{f6}".as_bytes().split_last().unwrap().1),
        masked(0x89, b"there?"),
        masked(0x00, &"gr\u{f6}".as_bytes()[3..]),
        masked(0x8a, b""),
        masked(0x80, b""),
        masked(0x82, b""),
        masked(0x88, b"\x03\xe8bye"),
        masked(0x82, b"dropped"),
        vec![0xff; 20],
    ];
    let expected = [
        Event::Ping(b"there?"),
        Event::Pong(b""),
        Event::Text("gr\u{f6}".as_bytes()),
        Event::Binary(b""),
        Event::Close { code: Some(1000), reason: "bye" },
    ];
    assert_eq!(events(&bytes.concat()), shown(&expected));
}

#[test]
fn what_breaks_the_protocol_closes_with_its_code() {
    let long = |bytes: &[u8]| [bytes, &[0; 20]].concat();
    for (what, bytes, code) in [
        ("RSV1", masked(0xc1, b""), 1002),
        ("RSV2", masked(0xa1, b""), 1002),
        ("RSV3", masked(0x91, b""), 1002),
        ("opcode 3", masked(0x83, b""), 1002),
        ("opcode 15", masked(0x8f, b""), 1002),
        ("not masked", encode(Opcode::Text, 0).to_vec(), 1002),
        ("long ping", masked(0x89, &[0; 126]), 1002),
        ("fragmented ping", masked(0x09, b""), 1002),
        ("continuation of nothing", masked(0x80, b""), 1002),
        ("continuation after the end", [masked(0x81, b""), masked(0x80, b"")].concat(), 1002),
        ("message in a message", [masked(0x01, b""), masked(0x81, b"")].concat(), 1002),
        ("125 in two bytes", long(&[0x82, 0xfe, 0, 125]), 1002),
        ("65,535 in eight bytes", long(&[0x82, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff]), 1002),
        ("2^63", long(&[0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0]), 1002),
        ("2^63 - 1", long(&[0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), 1009),
        ("a byte too many", masked(0x82, &[0; LIMIT + 1]), 1009),
        ("a byte too many in fragments", [masked(0x02, &[0; LIMIT]), masked(0x80, &[0])].concat(), 1009),
        ("text", masked(0x81, b"a\xff"), 1007),
        ("surrogate", masked(0x81, b"\xed\xa0\x80"), 1007),
        ("overlong", masked(0x81, b"\xc0\xaf"), 1007),
        ("half a character", masked(0x81, b"\xe2\x82"), 1007),
        ("half a character in fragments", [masked(0x01, b"\xe2"), masked(0x80, b"\x82")].concat(), 1007),
        ("bad text before its end", masked(0x01, b"a\xff"), 1007),
        ("half a close code", masked(0x88, b"\x03"), 1002),
        ("reason", masked(0x88, b"\x03\xe8\xff"), 1007),
    ] {
        let last = events(&bytes).pop();
        assert_eq!(last, Some(code.to_string()), "{what}");
    }
}

#[test]
fn close_codes_are_those_that_may_be_sent() {
    for code in 0..=u16::MAX {
        let expected = match code {
            1000..=1003 | 1007..=1014 | 3000..=4999 => format!("{:?}", Event::Close { code: Some(code), reason: "" }),
            _ => "1002".to_owned(),
        };
        assert_eq!(decode(LIMIT, [&masked(0x88, &code.to_be_bytes())[..]]), [expected]);
    }
    assert_eq!(events(&masked(0x88, b"")), shown(&[Event::Close { code: None, reason: "" }]));
}

#[test]
fn a_reason_is_cut_between_characters() {
    assert_eq!(close(1001, "bye")[..], *b"\x88\x05\x03\xe9bye");
    assert_eq!(close(1000, "")[..], *b"\x88\x02\x03\xe8");
    let frame = close(1002, &"\u{20ac}".repeat(50));
    assert_eq!((frame.len(), frame[1]), (127, 125), "41 characters of three bytes");
    assert_eq!(close(1002, &format!("a{}", "\u{20ac}".repeat(50))).len(), 4 + 121);
}

#[test]
fn memory_grows_with_what_has_come_and_is_freed() {
    let mut decoder = Decoder::new(1 << 20);
    let bytes = masked(0x82, &vec![1; 1 << 20]);
    let (first, rest) = bytes.split_at(100);
    assert_eq!(decoder.next(&mut &first[..]), Ok(None));
    assert!((1..=200).contains(&decoder.heap_bytes()), "{} bytes for what was announced", decoder.heap_bytes());
    for piece in rest.chunks(1_000) {
        let mut piece = piece;
        let _ = decoder.next(&mut piece).unwrap();
        assert!(decoder.heap_bytes() <= 1 << 20);
    }
    assert!(decoder.heap_bytes() > 0, "the caller may still look at the message");
    assert_eq!(decoder.next(&mut &[][..]), Ok(None));
    assert_eq!(decoder.heap_bytes(), 0);
    assert!(size_of::<Decoder>() <= 232, "{} bytes", size_of::<Decoder>());
}

fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..10),
        "[a\u{f6}\u{20ac}\u{1f600}]{0,8}".prop_map(String::into_bytes),
        (120_usize..135).prop_map(|length| vec![b'x'; length]),
    ];
    let first =
        prop_oneof![4 => prop::sample::select(vec![0x81, 0x82, 0x01, 0x80, 0x00, 0x89, 0x8a]), 1 => any::<u8>()];
    (first, any::<[u8; 4]>(), payload).prop_map(|(first, mask, payload)| frame(first, mask, &payload))
}

proptest! {
    #[test]
    fn where_the_input_is_cut_does_not_matter(
        frames in prop::collection::vec(any_frame(), 1..8),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        limit in 0_usize..400,
    ) {
        let mut bytes = frames.concat();
        for (index, byte) in changes {
            *index.get_mut(&mut bytes) = byte;
        }
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        prop_assert_eq!(decode(limit, pieces), decode(limit, [&bytes[..]]));
    }

    #[test]
    fn messages_arrive_as_they_were_sent(message in prop::collection::vec(any::<u8>(), 0..300), cuts in 1_usize..40) {
        let mut bytes = Vec::new();
        let fragments: Vec<&[u8]> = if message.is_empty() { vec![&[]] } else { message.chunks(cuts).collect() };
        for (index, fragment) in fragments.iter().enumerate() {
            let opcode = if index == 0 { 2 } else { 0 };
            let is_last = index + 1 == fragments.len();
            bytes.extend(masked(opcode | u8::from(is_last) << 7, fragment));
        }
        prop_assert_eq!(events(&bytes), shown(&[Event::Binary(&message)]));
    }
}
