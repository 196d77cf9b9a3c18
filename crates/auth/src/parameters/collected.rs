//! The parameters of a request, sorted by name, borrowed from query and body wherever nothing has to be decoded.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::encoding::from_percent;
use crate::{Failure, Reason};

/// The most parameters of a request; calls have some dozens.
pub const MAX_PARAMETERS: usize = 512;

/// A name with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// The name.
    pub name: Cow<'a, [u8]>,
    /// The value.
    pub value: Cow<'a, [u8]>,
    /// Whether both are escaped as in a query.
    pub is_raw: bool,
}

/// Parameters in the order of their names' bytes.
#[derive(Clone, Debug, Default)]
pub struct Collected<'a>(Vec<Parameter<'a>>);

impl<'a> Collected<'a> {
    /// Adds those of a query or form, decoded or as written.
    ///
    /// # Errors
    /// [`Reason::TooLarge`] if there are too many, [`Reason::Malformed`] if a `%` is not followed by two digits.
    pub fn add_form(&mut self, text: &'a [u8], decode: bool) -> Result<(), Failure> {
        for piece in text.split(|byte| *byte == b'&').filter(|piece| !piece.is_empty()) {
            let (name, value) = match memchr::memchr(b'=', piece) {
                Some(at) => (&piece[..at], &piece[at + 1..]),
                None => (piece, &[][..]),
            };
            let read = |text| if decode { decoded(text) } else { Ok(Cow::Borrowed(text)) };
            self.push(Parameter { name: read(name)?, value: read(value)?, is_raw: !decode })?;
        }
        Ok(())
    }

    /// Adds the scalars at the top of a JSON object. Arrays and objects are left out, if `allow_nested`.
    ///
    /// # Errors
    /// [`Reason::Malformed`] if it is not an object in JSON, [`Reason::Incomplete`] if it has nested values that may not
    /// be left out, [`Reason::TooLarge`] if there are too many.
    pub fn add_json(&mut self, text: &'a [u8], allow_nested: bool) -> Result<(), Failure> {
        let mut refused = None;
        let mut reader = serde_json::Deserializer::from_slice(text);
        let members = Members { into: self, allow_nested, refused: &mut refused };
        let read = members.deserialize(&mut reader).and_then(|()| reader.end());
        match (refused, read) {
            (Some(failure), _) => Err(failure),
            (None, Ok(())) => Ok(()),
            (None, Err(_)) => Err(Failure::new(Reason::Malformed, "the body is not a JSON object")),
        }
    }

    fn push(&mut self, parameter: Parameter<'a>) -> Result<(), Failure> {
        if self.0.len() == MAX_PARAMETERS {
            return Err(Failure::new(Reason::TooLarge, format!("more than {MAX_PARAMETERS} parameters")));
        }
        self.0.push(parameter);
        Ok(())
    }

    /// Sorts them.
    ///
    /// # Errors
    /// [`Reason::Duplicated`] if two have the same name.
    pub fn sort(&mut self) -> Result<(), Failure> {
        self.0.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        if self.0.windows(2).any(|pair| pair[0].name == pair[1].name) {
            return Err(Failure::new(Reason::Duplicated, "two parameters have the same name"));
        }
        Ok(())
    }

    /// The decoded value of the parameter of that name, after [`Collected::sort`].
    ///
    /// # Errors
    /// [`Reason::Malformed`] if it cannot be decoded.
    pub fn get(&self, name: &str) -> Result<Option<Cow<'_, [u8]>>, Failure> {
        let found = self.0.binary_search_by(|parameter| parameter.name.as_ref().cmp(name.as_bytes()));
        let Ok(at) = found else { return Ok(None) };
        let Parameter { value, is_raw, .. } = &self.0[at];
        if *is_raw { decoded(value).map(Some) } else { Ok(Some(Cow::Borrowed(value))) }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Parameter<'a>> {
        self.0.iter()
    }
}

/// A text without its `%` and `+`.
fn decoded(text: &[u8]) -> Result<Cow<'_, [u8]>, Failure> {
    let decoded = from_percent(text, true);
    let broken = || Failure::new(Reason::Malformed, "a `%` without two hexadecimal digits");
    decoded.is_valid.then_some(decoded.bytes).ok_or_else(broken)
}

/// Reads the members of a JSON object.
struct Members<'c, 'a> {
    into: &'c mut Collected<'a>,
    allow_nested: bool,
    /// serde's errors are texts, so a failure of ours goes beside them.
    refused: &'c mut Option<Failure>,
}

/// A string that borrows unless it has escapes.
#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> DeserializeSeed<'a> for Members<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for Members<'_, 'a> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some((name, value)) = map.next_entry::<Text<'a>, &'a RawValue>()? {
            let text = value.get();
            let value = match text.as_bytes().first() {
                Some(b'{' | b'[') if self.allow_nested => continue,
                Some(b'{' | b'[') => {
                    *self.refused =
                        Some(Failure::new(Reason::Incomplete, "arrays and objects of the body are not signed"));
                    return Err(serde::de::Error::custom("nested"));
                }
                Some(b'"') => bytes(serde_json::from_str::<Text<'a>>(text).map_err(serde::de::Error::custom)?.0),
                Some(b'n') => Cow::Borrowed(&[][..]),
                _ => Cow::Borrowed(text.as_bytes()),
            };
            if let Err(failure) = self.into.push(Parameter { name: bytes(name.0), value, is_raw: false }) {
                *self.refused = Some(failure);
                return Err(serde::de::Error::custom("refused"));
            }
        }
        Ok(())
    }
}

fn bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read = fn(&mut Collected<'static>, &'static [u8]) -> Result<(), Failure>;
    const DECODED: Read = |into, text| into.add_form(text, true);
    const RAW: Read = |into, text| into.add_form(text, false);
    const FLAT: Read = |into, text| into.add_json(text, false);
    const NESTED: Read = |into, text| into.add_json(text, true);

    #[test]
    fn parameters_are_read_and_sorted() {
        let cases: [(Read, &str, &str); 14] = [
            (DECODED, "b=2&a=1&&c&B=%E4%B8%AD+x&=&d==", "=;B=中 x;a=1;b=2;c=;d==;"),
            (RAW, "b=%41+&a%41=", "a%41=;b=%41+;"),
            (DECODED, "a=%4", "malformed"),
            (DECODED, "a=%", "malformed"),
            (DECODED, "a=%+1", "malformed"),
            (DECODED, "a=1&%61=2", "duplicated"),
            (
                FLAT,
                r#" {"b":1.50,"a":"x\u4e2d\n","c":true,"d":null,"\u0041":-0e1} "#,
                "A=-0e1;a=x中\n;b=1.50;c=true;d=;",
            ),
            (FLAT, r#"{"a":1,"a":2}"#, "duplicated"),
            (FLAT, r#"{"a":[]}"#, "incomplete"),
            (NESTED, r#"{"a":[{"b":1}],"c":{},"d":1}"#, "d=1;"),
            (NESTED, "[1]", "malformed"),
            (NESTED, r#"{"a":1}x"#, "malformed"),
            (NESTED, r#"{"a":"\ud800"}"#, "malformed"),
            (NESTED, "", "malformed"),
        ];
        for (read, text, expected) in cases {
            let mut collected = Collected::default();
            let read = read(&mut collected, text.as_bytes()).and_then(|()| collected.sort());
            let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let shown = |parameter: &Parameter<'_>| format!("{}={};", lossy(&parameter.name), lossy(&parameter.value));
            let found = match read {
                Ok(()) => collected.iter().map(shown).collect(),
                Err(failure) => failure.reason.as_str().to_owned(),
            };
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn the_number_of_parameters_is_bounded() {
        let names: String = (0..=MAX_PARAMETERS).map(|at| format!("a{at}=&")).collect();
        let failure = Collected::default().add_form(names.as_bytes(), true).unwrap_err();
        assert_eq!(failure.reason, Reason::TooLarge);
        let names: Vec<String> = (0..=MAX_PARAMETERS).map(|at| format!("\"a{at}\":1")).collect();
        let failure = Collected::default().add_json(format!("{{{}}}", names.join(",")).as_bytes(), true).unwrap_err();
        assert_eq!(failure.reason, Reason::TooLarge);
    }

    #[test]
    fn nothing_is_copied_that_need_not_be() {
        let mut collected = Collected::default();
        collected.add_form(b"a=1", true).unwrap();
        collected.add_json(br#"{"b":"2","c":3}"#, false).unwrap();
        let is_borrowed = |text: &Cow<'_, [u8]>| matches!(text, Cow::Borrowed(_));
        assert!(collected.iter().all(|parameter| is_borrowed(&parameter.name) && is_borrowed(&parameter.value)));
    }
}
