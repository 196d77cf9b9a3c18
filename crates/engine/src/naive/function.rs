//! Functions of the expression language, one by one.

use base64::Engine as _;
use ipnet::IpNet;
use weir_rules::Function;

use super::Value;

/// Applies `function` to one value per argument.
pub(super) fn call(function: Function, arguments: &[Value]) -> Value {
    let text = arguments[0].text();
    let second = || arguments[1].text();
    match function {
        Function::Lower => Value::Bytes(text.to_ascii_lowercase()),
        Function::Upper => Value::Bytes(text.to_ascii_uppercase()),
        Function::Len => Value::Int(text.len() as i64),
        Function::StartsWith => Value::Bool(text.starts_with(&second())),
        Function::EndsWith => Value::Bool(text.ends_with(&second())),
        Function::UrlDecode => Value::Bytes(url_decode(&text)),
        Function::RemoveSpaces => Value::Bytes(text.into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect()),
        Function::Concat => Value::Bytes(arguments.iter().flat_map(Value::text).collect()),
        Function::Substring => {
            let length = text.len() as i64;
            let place = |position: i64| if position < 0 { (length + position).max(0) } else { position.min(length) };
            let start = place(arguments[1].int());
            let end = arguments.get(2).map_or(length, |end| place(end.int()));
            Value::Bytes(text[start as usize..end.max(start) as usize].to_vec())
        }
        Function::ToString => Value::Bytes(text),
        Function::DecodeBase64 => Value::Bytes(decode_base64(&text).unwrap_or_default()),
        Function::Cidr => {
            let Value::Ip(ip) = arguments[0] else { panic!("the checker promises an address") };
            let prefix = arguments[if ip.is_ipv4() { 1 } else { 2 }].int();
            let prefix = prefix.clamp(0, if ip.is_ipv4() { 32 } else { 128 }) as u8;
            Value::Ip(IpNet::new(ip, prefix).expect("the prefix was clamped").network())
        }
    }
}

fn url_decode(text: &[u8]) -> Vec<u8> {
    let digit = |at: usize| text.get(at).and_then(|byte| (*byte as char).to_digit(16));
    let (mut decoded, mut at) = (Vec::new(), 0);
    while at < text.len() {
        match (text[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 2;
            }
            (b'+', ..) => decoded.push(b' '),
            (byte, ..) => decoded.push(byte),
        }
        at += 1;
    }
    decoded
}

/// RFC 4648, both alphabets, padding optional.
fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    let standard: Vec<u8> = text
        .iter()
        .map(|byte| {
            if *byte == b'-' {
                b'+'
            } else if *byte == b'_' {
                b'/'
            } else {
                *byte
            }
        })
        .collect();
    crate::function::LENIENT_BASE64.decode(standard).ok()
}
