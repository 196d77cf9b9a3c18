//! `Content-Disposition` of a part, as `Multipart::parse_content_disposition` reads it.
//!
//! It is strict where applications are not: any parameter other than `name`, `filename` and `filename*` is an error,
//! and so is `filename*` alone. The error numbers are those that ModSecurity logs.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use super::MultipartFlags;
use crate::seclang::Gaps;

/// The parameters of a `Content-Disposition`, as far as they could be read.
#[derive(Clone, Debug)]
pub(super) struct Disposition<'a> {
    /// The first `name` that is not empty.
    pub name: &'a [u8],
    /// The first `filename` that is not empty.
    pub file_name: &'a [u8],
    /// All `name` parameters read: `MULTIPART_NAME`. More than one is an error.
    pub names: Vec<'a, &'a [u8]>,
    /// All `filename` parameters read: `MULTIPART_FILENAME`.
    pub file_names: Vec<'a, &'a [u8]>,
}

/// Reads `value` into `disposition`, which may hold results of an earlier attempt. Returns
/// ModSecurity's error number.
pub(super) fn parse<'a>(
    arena: &'a Bump,
    value: &'a [u8],
    disposition: &mut Disposition<'a>,
    flags: &mut MultipartFlags,
    gaps: Gaps,
) -> Result<(), i8> {
    let rest = value.strip_prefix(b"form-data").ok_or(-1)?;
    let mut cursor = Cursor { arena, rest, flags, gaps };
    cursor.skip_blanks();
    match cursor.rest.split_first() {
        None => return Ok(()),
        Some((b';', rest)) => cursor.rest = rest,
        Some(_) => return Err(-2),
    }
    let mut extended_name: &[u8] = b"";
    while !cursor.rest.is_empty() {
        let name = cursor.parameter_name()?;
        let mut quoted = false;
        if name == b"filename*" {
            let value = cursor.extended_value()?;
            if !extended_name.is_empty() {
                return Err(-20);
            }
            extended_name = value;
        } else {
            let (value, quote) = cursor.value()?;
            quoted = quote.is_some();
            let (first, all, twice) = match name {
                b"name" => (&mut disposition.name, &mut disposition.names, -14),
                b"filename" => (&mut disposition.file_name, &mut disposition.file_names, -15),
                _ => return Err(-11),
            };
            if quote != Some(b'"') && value.contains(&b'\'') {
                *cursor.flags |= MultipartFlags::INVALID_QUOTING;
            }
            all.push(value);
            if !first.is_empty() {
                return Err(twice);
            }
            *first = value;
        }
        cursor.separator(quoted)?;
    }
    if !extended_name.is_empty() && disposition.file_name.is_empty() { Err(-21) } else { Ok(()) }
}

struct Cursor<'a, 'f> {
    arena: &'a Bump,
    rest: &'a [u8],
    flags: &'f mut MultipartFlags,
    gaps: Gaps,
}

impl<'a> Cursor<'a, '_> {
    fn skip_blanks(&mut self) {
        while let [b' ' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    fn take(&mut self, is: impl Fn(u8) -> bool) -> &'a [u8] {
        let length = self.rest.iter().take_while(|byte| is(**byte)).count();
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    /// `Err(number)` at the end.
    fn more(&self, number: i8) -> Result<(), i8> {
        if self.rest.is_empty() { Err(number) } else { Ok(()) }
    }

    /// A parameter's name, its equal sign, and the blanks around them.
    fn parameter_name(&mut self) -> Result<&'a [u8], i8> {
        self.skip_blanks();
        self.more(-3)?;
        let name = self.take(|byte| !matches!(byte, b'=' | b'\t' | b' '));
        self.more(-4)?;
        self.skip_blanks();
        self.more(-5)?;
        self.rest = self.rest.strip_prefix(b"=").ok_or(-13)?;
        self.skip_blanks();
        self.more(-6)?;
        Ok(name)
    }

    /// A token or quoted string, and its quote.
    fn value(&mut self) -> Result<(&'a [u8], Option<u8>), i8> {
        let quote = match self.rest.first() {
            Some(quote @ (b'"' | b'\'')) => *quote,
            _ => return Ok((self.take(is_token), None)),
        };
        if quote == b'\'' {
            *self.flags |= MultipartFlags::INVALID_QUOTING;
        }
        let inner = &self.rest[1..];
        if inner.is_empty() {
            return Err(-7);
        }
        let mut out: Option<Vec<'a, u8>> = None;
        let mut copied = 0;
        let mut at = 0;
        loop {
            match inner.get(at) {
                None => {
                    if self.gaps == Gaps::Closed {
                        *self.flags |= MultipartFlags::INVALID_QUOTING;
                    }
                    break;
                }
                Some(byte) if *byte == quote => break,
                Some(b'\\') => match inner.get(at + 1) {
                    None => return Err(-8),
                    Some(next) if *next == quote || *next == b'\\' => {
                        let out = out.get_or_insert_with(|| Vec::with_capacity_in(inner.len(), self.arena));
                        out.extend_from_slice_copy(&inner[copied..at]);
                        copied = at + 1;
                        at += 2;
                    }
                    Some(_) => at += 1, // as old browsers send paths
                },
                Some(_) => at += 1,
            }
        }
        self.rest = inner.get(at + 1..).unwrap_or_default();
        let value = match out {
            None => &inner[..at],
            Some(mut out) => {
                out.extend_from_slice_copy(&inner[copied..at]);
                out.into_bump_slice()
            }
        };
        Ok((value, Some(quote)))
    }

    /// The value of `filename*` (RFC 5987), without charset and language, not decoded.
    fn extended_value(&mut self) -> Result<&'a [u8], i8> {
        let charset = self.take(|byte| byte.is_ascii_alphanumeric() || b"!#$%&+-^_`{}~".contains(&byte));
        self.rest = self.rest.strip_prefix(b"'").filter(|_| !charset.is_empty()).ok_or(-16)?;
        self.take(|byte| byte != b'\'');
        self.rest = self.rest.strip_prefix(b"'").ok_or(-17)?;
        let start = self.rest;
        loop {
            match self.rest {
                [] | [b';', ..] => return Ok(&start[..start.len() - self.rest.len()]),
                [b'%', high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => self.rest = rest,
                [b'%', ..] => return Err(-18),
                [byte, rest @ ..] if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`~".contains(byte) => self.rest = rest,
                _ => return Err(-19),
            }
        }
    }

    /// The semicolon before the next parameter, or the end. `quoted`: a quote is before it.
    fn separator(&mut self, quoted: bool) -> Result<(), i8> {
        let length = self.rest.len();
        self.skip_blanks();
        match self.rest.split_first() {
            None => Ok(()),
            Some((b';', rest)) => {
                self.rest = rest;
                Ok(())
            }
            Some(_) => {
                if quoted && self.rest.len() == length {
                    *self.flags |= MultipartFlags::INVALID_QUOTING;
                }
                Err(-12)
            }
        }
    }
}

fn is_token(byte: u8) -> bool {
    (33..127).contains(&byte) && !b"()<>@,;:\\\"/[]?=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, file name, the error's number and whether quoting is flagged.
    fn parsed(value: &str) -> (String, String, i8, bool) {
        let arena = Bump::new();
        let mut flags = MultipartFlags::empty();
        let mut found =
            Disposition { name: b"", file_name: b"", names: Vec::new_in(&arena), file_names: Vec::new_in(&arena) };
        let result = parse(&arena, value.as_bytes(), &mut found, &mut flags, Gaps::Closed);
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        (text(found.name), text(found.file_name), result.err().unwrap_or(0), !flags.is_empty())
    }

    #[test]
    fn parses() {
        let cases = [
            ("form-data", "", "", 0, false),
            ("form-data;", "", "", 0, false),
            ("form-data; name=\"a b\" ; filename = \"c;d\";", "a b", "c;d", 0, false),
            ("form-data;name=a;filename=b.php", "a", "b.php", 0, false),
            (r#"form-data; name="a\"b\\c\d""#, r#"a"b\c\d"#, "", 0, false),
            ("form-data; name='a'", "a", "", 0, true),
            ("form-data; name=\"a'b\"", "a'b", "", 0, false),
            ("form-data; name=a'b", "a'b", "", 0, true),
            ("form-data; name=\"a", "a", "", 0, true),
            ("form-data; name=a; filename=b; filename*=utf-8''%41.x", "a", "b", 0, false),
            ("attachment", "", "", -1, false),
            ("form-data, name=a", "", "", -2, false),
            ("form-data; ", "", "", -3, false),
            ("form-data; name", "", "", -4, false),
            ("form-data; name ", "", "", -5, false),
            ("form-data; name a", "", "", -13, false),
            ("form-data; name=", "", "", -6, false),
            ("form-data; name=\"", "", "", -7, false),
            ("form-data; name=\"a\\", "", "", -8, false),
            ("form-data; Name=a", "", "", -11, false),
            ("form-data; name=a,b", "a", "", -12, false),
            ("form-data; name=\"a\"b\"", "a", "", -12, true),
            ("form-data; name=a; name=b", "a", "", -14, false),
            ("form-data; name=a; filename=b; filename=c", "a", "b", -15, false),
            ("form-data; filename*='x", "", "", -16, false),
            ("form-data; filename*=u'x", "", "", -17, false),
            ("form-data; filename*=u''%x", "", "", -18, false),
            ("form-data; filename*=u''\"", "", "", -19, false),
            ("form-data; filename*=u''a; filename*=u''b", "", "", -20, false),
            ("form-data; name=a; filename*=u''b", "a", "", -21, false),
        ];
        for (value, name, file_name, number, quoting) in cases {
            assert_eq!(parsed(value), (name.to_owned(), file_name.to_owned(), number, quoting), "{value}");
        }
    }
}
