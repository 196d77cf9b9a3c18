//! What an attacker does to a payload that was found: each mutation is one entry of the table.

use weir_measure::random::Random;

/// A payload never grows past this.
const MAX_BYTES: usize = 4000;

type Mutation = fn(&[u8], &mut Random) -> Vec<u8>;

/// The mutations.
const MUTATIONS: &[Mutation] = &[
    mixed_case,
    escaped,
    escaped_twice,
    percent_u,
    html_entities,
    backslash_escapes,
    comments_for_spaces,
    other_spaces,
    inserted,
    deleted,
    truncated,
    doubled,
    reversed_halves,
    overlong,
    wide,
];

/// Bytes that are worth inserting.
const INSERTED: &[&[u8]] = &[
    b"\0", b"\t", b"\n", b"\r\n", b" ", b"'", b"\"", b"`", b"/**/", b"%", b"\\", b"<", b"\x80", b"\xff", b"+", b";",
    b"(", b"0",
];
/// What else separates words.
const SPACES: &[&[u8]] = &[b"\t", b"\n", b"\x0b", b"\x0c", b"\r\n", b"  ", b"\xa0", b"+", b"/**/"];

/// `payload` after one to three mutations.
#[must_use]
pub fn mutate(payload: &[u8], random: &mut Random) -> Vec<u8> {
    let mut value = payload.to_vec();
    for _ in 0..=random.below(3) {
        value = random.pick(MUTATIONS)(&value, random);
        value.truncate(MAX_BYTES);
    }
    value
}

/// Some bytes, or all in one of four cases, rewritten by `write`.
fn some(value: &[u8], random: &mut Random, write: impl Fn(u8, &mut Vec<u8>)) -> Vec<u8> {
    let share = *random.pick(&[20, 50, 80, 100]);
    value.iter().fold(Vec::with_capacity(value.len() * 2), |mut out, &byte| {
        if random.chance(share) {
            write(byte, &mut out)
        } else {
            out.push(byte)
        }
        out
    })
}

fn mixed_case(value: &[u8], random: &mut Random) -> Vec<u8> {
    some(value, random, |byte, out| out.push(if byte.is_ascii_alphabetic() { byte ^ 0x20 } else { byte }))
}

fn escaped(value: &[u8], random: &mut Random) -> Vec<u8> {
    some(value, random, |byte, out| out.extend(format!("%{byte:02x}").into_bytes()))
}

fn escaped_twice(value: &[u8], random: &mut Random) -> Vec<u8> {
    some(value, random, |byte, out| out.extend(format!("%25{byte:02X}").into_bytes()))
}

fn percent_u(value: &[u8], random: &mut Random) -> Vec<u8> {
    some(value, random, |byte, out| out.extend(format!("%u00{byte:02x}").into_bytes()))
}

fn html_entities(value: &[u8], random: &mut Random) -> Vec<u8> {
    let hexadecimal = random.chance(50);
    some(value, random, |byte, out| {
        out.extend(if hexadecimal { format!("&#x{byte:x};") } else { format!("&#{byte};") }.into_bytes());
    })
}

fn backslash_escapes(value: &[u8], random: &mut Random) -> Vec<u8> {
    let short = random.chance(50);
    some(value, random, |byte, out| {
        out.extend(if short { format!("\\x{byte:02x}") } else { format!("\\u00{byte:02x}") }.into_bytes());
    })
}

fn overlong(value: &[u8], random: &mut Random) -> Vec<u8> {
    some(value, random, |byte, out| out.extend([0xC0 | byte >> 6, 0x80 | byte & 0x3F]))
}

/// Full-width forms, U+FF01 to U+FF5E.
fn wide(value: &[u8], random: &mut Random) -> Vec<u8> {
    some(value, random, |byte, out| match byte {
        b'!'..=b'~' => {
            let letter = char::from_u32(0xFF00 + u32::from(byte) - 0x20).unwrap_or('?');
            out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        }
        _ => out.push(byte),
    })
}

fn comments_for_spaces(value: &[u8], random: &mut Random) -> Vec<u8> {
    some(value, random, |byte, out| {
        out.extend_from_slice(if byte == b' ' { b"/*x*/" } else { std::slice::from_ref(&byte) })
    })
}

fn other_spaces(value: &[u8], random: &mut Random) -> Vec<u8> {
    let space = *random.pick(SPACES);
    some(value, random, |byte, out| {
        out.extend_from_slice(if byte == b' ' { space } else { std::slice::from_ref(&byte) })
    })
}

fn inserted(value: &[u8], random: &mut Random) -> Vec<u8> {
    let (head, tail) = value.split_at(random.below(value.len() + 1));
    [head, *random.pick(INSERTED), tail].concat()
}

fn deleted(value: &[u8], random: &mut Random) -> Vec<u8> {
    let mut value = value.to_vec();
    if !value.is_empty() {
        value.remove(random.below(value.len()));
    }
    value
}

fn truncated(value: &[u8], random: &mut Random) -> Vec<u8> {
    let at = random.below(value.len() + 1);
    if random.chance(50) { value[..at].to_vec() } else { value[at..].to_vec() }
}

fn doubled(value: &[u8], _: &mut Random) -> Vec<u8> {
    [value, value].concat()
}

fn reversed_halves(value: &[u8], random: &mut Random) -> Vec<u8> {
    let (head, tail) = value.split_at(random.below(value.len() + 1));
    [tail, head].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutation_takes_every_value_and_most_change_it() {
        let mut random = Random::new(1);
        for (index, mutation) in MUTATIONS.iter().enumerate() {
            for value in [&b""[..], b"a", b"1' or 1=1 -- ", &[0xFF; 300]] {
                let _ = mutation(value, &mut random);
            }
            let changed = (0..20).any(|_| mutation(b"1 Union Select 2", &mut random) != b"1 Union Select 2");
            assert!(changed, "mutation {index}");
        }
        assert!((0..1000).all(|_| mutate(&[b'<'; 3000], &mut random).len() <= MAX_BYTES));
    }
}
