//! The functions of the expression language, applied to values.
//!
//! A function of several values (`lower(http.request.uri.args.values[*])`) yields several. One
//! that changes nothing returns the slice it was given.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;
use weir_http::Anomalies;
use weir_rules::Function;

use crate::value::{Reader, Source, Value, Values};

/// Calls of more arguments are refused by the checker's own bound long before.
const MAX_ARGUMENTS: usize = 64;

/// Reads the arguments and applies the function: for each value of the first argument that has
/// several, with the first value of the others.
pub(crate) fn call<'a>(function: Function, arguments: &[Source], reader: &Reader<'a, '_>) -> Values<'a> {
    let arena = reader.transaction.arena();
    let mut read: ArenaVec<'_, Values<'a>> = ArenaVec::with_capacity_in(arguments.len().min(MAX_ARGUMENTS), arena);
    read.extend(arguments.iter().take(MAX_ARGUMENTS).map(|argument| argument.read(reader)));
    let mut single: ArenaVec<'_, Value<'a>> = ArenaVec::with_capacity_in(read.len(), arena);
    let mut several = None;
    for (position, values) in read.iter().enumerate() {
        if let (Values::Many(_), None) = (values, several) {
            several = Some(position);
        }
        match values.as_slice().first() {
            Some(first) => single.push(*first),
            None => return Values::Many(&[]),
        }
    }
    match several {
        None => apply(function, &single, arena).map_or(Values::Many(&[]), Values::One),
        Some(position) => {
            let mut results = ArenaVec::with_capacity_in(read[position].as_slice().len(), arena);
            for value in read[position].as_slice() {
                single[position] = *value;
                results.extend(apply(function, &single, arena));
            }
            Values::Many(results.into_bump_slice())
        }
    }
}

/// One application. `None` for arguments that do not fit, which the checker rules out.
fn apply<'a>(function: Function, arguments: &[Value<'a>], arena: &'a Bump) -> Option<Value<'a>> {
    use Value::{Bool, Bytes, Int, Ip};
    let text = |at: usize| if let Some(Bytes(text)) = arguments.get(at) { Some(*text) } else { None };
    let integer = |at: usize| if let Some(Int(integer)) = arguments.get(at) { Some(*integer) } else { None };
    let address = |at: usize| if let Some(Ip(address)) = arguments.get(at) { Some(*address) } else { None };
    Some(match function {
        Function::Lower => Bytes(map_bytes(text(0)?, arena, u8::is_ascii_uppercase, u8::to_ascii_lowercase)),
        Function::Upper => Bytes(map_bytes(text(0)?, arena, u8::is_ascii_lowercase, u8::to_ascii_uppercase)),
        Function::Len => Int(text(0)?.len() as i64),
        Function::StartsWith => Bool(text(0)?.starts_with(text(1)?)),
        Function::EndsWith => Bool(text(0)?.ends_with(text(1)?)),
        Function::UrlDecode => Bytes(weir_http::uri::decode(arena, text(0)?, true, &mut Anomalies::empty())),
        Function::RemoveSpaces => Bytes(remove_spaces(text(0)?, arena)),
        Function::Concat => Bytes(joined(arguments, arena)),
        Function::Substring => Bytes(substring(text(0)?, integer(1)?, integer(2).unwrap_or(i64::MAX))),
        Function::ToString => Bytes(text(0).unwrap_or_else(|| joined(arguments, arena))),
        Function::DecodeBase64 => Bytes(decode_base64(text(0)?, arena)),
        Function::Cidr => Ip(network_of(address(0)?, integer(1)?, integer(2)?)),
    })
}

/// The values as text, one after the other.
fn joined<'a>(values: &[Value<'a>], arena: &'a Bump) -> &'a [u8] {
    let mut text = ArenaVec::new_in(arena);
    values.iter().for_each(|value| write_text(value, &mut text));
    text.into_bump_slice()
}

/// Appends a value as text.
pub(crate) fn write_text(value: &Value<'_>, out: &mut ArenaVec<'_, u8>) {
    let written = match value {
        Value::Bytes(bytes) => {
            out.extend_from_slice(bytes);
            Ok(())
        }
        Value::Int(number) => write!(out, "{number}"),
        Value::Bool(truth) => write!(out, "{truth}"),
        Value::Ip(address) => write!(out, "{address}"),
    };
    debug_assert!(written.is_ok(), "writing to memory cannot fail");
}

fn map_bytes<'a>(text: &'a [u8], arena: &'a Bump, changes: impl Fn(&u8) -> bool, map: impl Fn(&u8) -> u8) -> &'a [u8] {
    if !text.iter().any(changes) {
        return text;
    }
    arena.alloc_slice_fill_iter(text.iter().map(map))
}

fn remove_spaces<'a>(text: &'a [u8], arena: &'a Bump) -> &'a [u8] {
    if !text.iter().any(u8::is_ascii_whitespace) {
        return text;
    }
    let mut kept = ArenaVec::with_capacity_in(text.len(), arena);
    kept.extend(text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()));
    kept.into_bump_slice()
}

/// Positions count from the end if negative, and are clamped to the text.
fn substring(text: &[u8], start: i64, end: i64) -> &[u8] {
    let len = text.len() as i64;
    let clamp =
        |position: i64| (if position < 0 { position.saturating_add(len) } else { position }).clamp(0, len) as usize;
    let (start, end) = (clamp(start), clamp(end));
    text.get(start..end).unwrap_or_default()
}

/// Either alphabet, even mixed; padding may be missing and the last bits need not be zero, because
/// what an attacker encodes is read by decoders that are as lenient.
pub(crate) const LENIENT_BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

fn decode_base64<'a>(text: &[u8], arena: &'a Bump) -> &'a [u8] {
    let text = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    let mut standard = ArenaVec::with_capacity_in(text.len(), arena);
    standard.extend(text.iter().map(|byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => *other,
    }));
    let decoded = arena.alloc_slice_fill_copy(base64::decoded_len_estimate(text.len()), 0);
    match LENIENT_BASE64.decode_slice(&standard, decoded) {
        Ok(length) => &decoded[..length],
        Err(_) => &[],
    }
}

fn network_of(address: IpAddr, v4: i64, v6: i64) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - v4.clamp(0, 32) as u32).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - v6.clamp(0, 128) as u32).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<'a>(arena: &'a Bump, function: Function, arguments: &[Value<'a>]) -> &'a [u8] {
        match apply(function, arguments, arena) {
            Some(Value::Bytes(bytes)) => bytes,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn functions_yield_what_their_documentation_says() {
        let arena = Bump::new();
        let text = |text: &'static str| Value::Bytes(text.as_bytes());
        for (function, arguments, expected) in [
            (Function::Lower, vec![text("AbC")], "abc"),
            (Function::Upper, vec![text("AbC")], "ABC"),
            (Function::RemoveSpaces, vec![text("a b\tc")], "abc"),
            (Function::Concat, vec![text("a"), Value::Int(-7), Value::Ip("::1".parse().unwrap())], "a-7::1"),
            (Function::Substring, vec![text("abcdef"), Value::Int(1), Value::Int(3)], "bc"),
            (Function::Substring, vec![text("abcdef"), Value::Int(-2)], "ef"),
            (Function::Substring, vec![text("abc"), Value::Int(5), Value::Int(2)], ""),
            (Function::Substring, vec![text("abc"), Value::Int(i64::MIN), Value::Int(i64::MAX)], "abc"),
            (Function::DecodeBase64, vec![text("d2Vpcg==")], "weir"),
            (Function::DecodeBase64, vec![text("d2Vpcg")], "weir"),
            (Function::DecodeBase64, vec![text("d2V*")], ""),
            (Function::ToString, vec![Value::Bool(true)], "true"),
        ] {
            assert_eq!(bytes(&arena, function, &arguments), expected.as_bytes(), "{function:?} {arguments:?}");
        }
    }

    #[test]
    fn what_changes_nothing_is_not_copied() {
        let arena = Bump::new();
        let text = b"already lower";
        assert!(std::ptr::eq(bytes(&arena, Function::Lower, &[Value::Bytes(text)]), &text[..]));
    }

    #[test]
    fn cidr_keeps_the_network() {
        for (address, v4, v6, expected) in [
            ("192.0.2.129", 24, 64, "192.0.2.0"),
            ("192.0.2.129", 0, 64, "0.0.0.0"),
            ("192.0.2.129", 32, 64, "192.0.2.129"),
            ("192.0.2.129", 99, -1, "192.0.2.129"),
            ("2001:db8::1", 24, 32, "2001:db8::"),
        ] {
            assert_eq!(network_of(address.parse().unwrap(), v4, v6), expected.parse::<IpAddr>().unwrap());
        }
    }
}
