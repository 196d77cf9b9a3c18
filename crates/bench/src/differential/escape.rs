//! Values as they stand in URLs, JSON and XML.

use weir_measure::http::encode;

/// Percent-encodes all but unreserved bytes; spaces become plus.
pub fn escape(value: &[u8]) -> Vec<u8> {
    value.iter().fold(Vec::with_capacity(value.len() * 2), |mut out, &byte| {
        match byte {
            b' ' => out.push(b'+'),
            _ if byte.is_ascii() => out.extend(encode(&char::from(byte).to_string()).into_bytes()),
            _ => out.extend(format!("%{byte:02X}").into_bytes()),
        }
        out
    })
}

/// A JSON string of these bytes; those that are no UTF-8 stay as they are.
pub fn json_string(value: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for &byte in value {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            0..=0x1F => out.extend(format!("\\u{byte:04x}").into_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
    out
}

/// Text or attribute of XML; control characters, which XML has no way to write, are left out.
pub fn xml_text(value: &[u8]) -> Vec<u8> {
    value.iter().fold(Vec::new(), |mut out, &byte| {
        match byte {
            b'<' => out.extend_from_slice(b"&lt;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'"' => out.extend_from_slice(b"&quot;"),
            0..=8 | 11 | 12 | 14..=31 => {}
            _ => out.push(byte),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_has_its_escapes() {
        assert_eq!(escape(b"a b&\xff=\0"), b"a+b%26%FF%3D%00");
        assert_eq!(json_string(b"a\"\\\n\x01"), b"\"a\\\"\\\\\\n\\u0001\"");
        assert_eq!(xml_text(b"<a b=\"&\">\0\n"), b"&lt;a b=&quot;&amp;&quot;>\n");
    }
}
