//! `; name=value; name="quoted value"`: the parameters of `Content-Type` and
//! `Content-Disposition` (RFC 9110, section 5.6.6), read as leniently as servers do.

use bumpalo::Bump;

use crate::text::trim;

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter<'a> {
    /// Parameter name, in any case.
    pub name: &'a [u8],
    /// Parameter value; empty without `=`.
    pub value: ParameterValue<'a>,
    /// Whether a quoted value has its closing quote with nothing after it.
    pub terminated: bool,
    /// Whether there is an equal sign.
    pub has_value: bool,
    /// Whether the value is quoted.
    pub quoted: bool,
}

impl Parameter<'_> {
    /// Whether all parsers agree about the value.
    pub fn is_complete(&self) -> bool {
        self.terminated && self.has_value
    }
}

/// A value that may still contain backslash escapes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParameterValue<'a> {
    raw: &'a [u8],
    escaped: bool,
}

impl<'a> ParameterValue<'a> {
    /// The value as written, without quotes.
    pub fn raw(self) -> &'a [u8] {
        self.raw
    }

    /// The unescaped value. Only `\"` and `\\` are escapes, because old browsers send `C:\file` verbatim.
    pub fn unescaped(self, arena: &'a Bump) -> &'a [u8] {
        if !self.escaped {
            return self.raw;
        }
        let mut out = bumpalo::collections::Vec::with_capacity_in(self.raw.len(), arena);
        let mut rest = self.raw;
        while let Some(at) = memchr::memchr(b'\\', rest) {
            out.extend_from_slice_copy(&rest[..at]);
            match rest.get(at + 1) {
                Some(&byte @ (b'"' | b'\\')) => {
                    out.push(byte);
                    rest = &rest[at + 2..];
                }
                _ => {
                    out.push(b'\\');
                    rest = &rest[at + 1..];
                }
            }
        }
        out.extend_from_slice_copy(rest);
        out.into_bump_slice()
    }
}

/// The parameters in `rest`, which begins at the first `;` or is empty. Text before that `;` is
/// skipped. Linear: every byte is read a bounded number of times.
pub(crate) fn parameters(mut rest: &[u8]) -> impl Iterator<Item = Parameter<'_>> {
    std::iter::from_fn(move || {
        loop {
            let begin = memchr::memchr(b';', rest)?;
            rest = &rest[begin + 1..];
            let Some(at) = memchr::memchr2(b'=', b';', rest) else {
                let name = trim(rest);
                rest = b"";
                return (!name.is_empty()).then(|| without_value(name));
            };
            let name = trim(&rest[..at]);
            if rest[at] == b';' {
                rest = &rest[at..];
                if name.is_empty() {
                    continue;
                }
                return Some(without_value(name));
            }
            rest = &rest[at + 1..];
            while let [b' ' | b'\t' | b'\r' | b'\n', after @ ..] = rest {
                rest = after;
            }
            if let [b'"', after @ ..] = rest {
                let (raw, escaped, behind) = quoted(after);
                rest = behind.unwrap_or_default();
                let clean = trim(&rest[..memchr::memchr(b';', rest).unwrap_or(rest.len())]).is_empty();
                let value = ParameterValue { raw, escaped };
                let terminated = behind.is_some() && clean;
                return Some(Parameter { name, value, terminated, has_value: true, quoted: true });
            }
            let end = memchr::memchr(b';', rest).unwrap_or(rest.len());
            let value = ParameterValue { raw: trim(&rest[..end]), escaped: false };
            rest = &rest[end..];
            return Some(Parameter { name, value, terminated: true, has_value: true, quoted: false });
        }
    })
}

fn without_value(name: &[u8]) -> Parameter<'_> {
    let value = ParameterValue { raw: b"", escaped: false };
    Parameter { name, value, terminated: true, has_value: false, quoted: false }
}

/// Content of a quoted string after its opening quote, whether it has escapes, and the text after
/// the closing quote, if there is one.
fn quoted(bytes: &[u8]) -> (&[u8], bool, Option<&[u8]>) {
    let mut escaped = false;
    let mut at = 0;
    while let Some(offset) = memchr::memchr2(b'"', b'\\', &bytes[at..]) {
        at += offset;
        if bytes[at] == b'"' {
            return (&bytes[..at], escaped, Some(&bytes[at + 1..]));
        }
        escaped = true;
        at += if matches!(bytes.get(at + 1), Some(b'"' | b'\\')) { 2 } else { 1 };
    }
    (bytes, escaped, None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &[u8]) -> String {
        let arena = Bump::new();
        let all: Vec<String> = parameters(text)
            .map(|one| {
                let end = if one.terminated { "" } else { "!" };
                format!("{}={}{end}", one.name.escape_ascii(), one.value.unescaped(&arena).escape_ascii())
            })
            .collect();
        all.join("|")
    }

    #[test]
    fn parses() {
        let cases = [
            ("", ""),
            ("form-data", ""),
            (";", ""),
            (";;a=1; ;", "a=1"),
            ("form-data; name=a; filename=b", "name=a|filename=b"),
            ("; name=\"a;b\"; x=\"\"", "name=a;b|x="),
            ("; a = b ;c", "a=b|c="),
            ("; a=\"x", "a=x!"),
            ("; a=\"x\"y; b=c", "a=x!|b=c"),
            (r#"; a="q\"q\\"; b=c"#, r#"a=q\"q\\|b=c"#),
            (r#"; a="C:\dir\f.txt""#, r"a=C:\\dir\\f.txt"),
            (";a=b\r\n c", "a=b\\r\\n c"),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text.as_bytes()), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn takes_any_bytes(text in "[a;=\" \\\\]{0,40}") {
            let bound = text.matches(';').count();
            prop_assert!(parameters(text.as_bytes()).count() <= bound);
            let _ = shown(text.as_bytes());
        }
    }
}
