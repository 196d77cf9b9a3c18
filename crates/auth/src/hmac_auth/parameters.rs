//! The parameters of a signature: `name="value"`, or `name=number`, separated by commas.

use super::dialect::Row;
use crate::excerpt::Excerpt;
use crate::{Failure, Reason, Request};

/// The longest field with parameters: nginx's usual buffer for a header line.
const MAX_FIELD_BYTES: usize = 8192;
/// The most parameters: six are known, and ones from extensions are skipped.
const MAX_PARAMETERS: usize = 16;
/// The longest key id, as APISIX has it.
const MAX_KEY_ID_BYTES: usize = 256;

/// The parameters of a request.
pub(super) struct Parameters<'a> {
    /// The id of the key.
    pub(super) key_id: &'a [u8],
    /// The name of the algorithm.
    pub(super) algorithm: &'a [u8],
    /// The names of the signed components, separated by spaces.
    pub(super) components: &'a [u8],
    /// The signature in Base64.
    pub(super) signature: &'a [u8],
    /// When it was signed, in seconds since the Unix epoch.
    pub(super) created: Option<&'a [u8]>,
    /// When it expires, likewise.
    pub(super) expires: Option<&'a [u8]>,
}

impl<'a> Parameters<'a> {
    /// Finds and reads the parameters.
    pub(super) fn find(request: &Request<'a>, row: &Row) -> Result<Self, Failure> {
        let mut found = None;
        for (field, scheme) in row.places {
            let value = request.only(field)?.and_then(|value| after_scheme(value, scheme));
            if value.is_some() && found.is_some() {
                return Err(Failure::new(
                    Reason::Duplicated,
                    format!("signatures in `{}` and `{field}`", row.places[0].0),
                ));
            }
            found = found.or(value);
        }
        let (field, scheme) = row.places[0];
        let missing = || Failure::new(Reason::Missing, format!("no `{field}` with `{scheme} {}=…`", row.key_id));
        Self::read(found.ok_or_else(missing)?, row)
    }

    fn read(text: &'a [u8], row: &Row) -> Result<Self, Failure> {
        if text.len() > MAX_FIELD_BYTES {
            let detail = format!("the signature's field has {} bytes; at most {MAX_FIELD_BYTES} are read", text.len());
            return Err(Failure::new(Reason::TooLarge, detail));
        }
        let names = [row.key_id, "algorithm", "headers", "signature", "created", "expires"];
        let mut values: [Option<&'a [u8]>; 6] = [None; 6];
        let mut rest = text.trim_ascii();
        for number in 0.. {
            if number == MAX_PARAMETERS {
                return Err(Failure::new(Reason::TooLarge, format!("more than {MAX_PARAMETERS} parameters")));
            }
            let (name, value, after) = parameter(rest).ok_or_else(|| {
                Failure::new(Reason::Malformed, format!("{} is not a parameter `name=\"value\"`", Excerpt(rest)))
            })?;
            if let Some(at) = names.iter().position(|known| known.as_bytes() == name)
                && values[at].replace(value).is_some()
            {
                return Err(Failure::new(Reason::Duplicated, format!("several parameters `{}`", names[at])));
            }
            match after.split_first() {
                None => break,
                Some((b',', after)) => rest = after.trim_ascii_start(),
                Some(_) => {
                    return Err(Failure::new(
                        Reason::Malformed,
                        format!("{} where a comma is expected", Excerpt(after)),
                    ));
                }
            }
        }
        let [key_id, algorithm, components, signature, created, expires] = values;
        let or = |default: Option<&'static str>| default.map(str::as_bytes);
        let needed =
            [key_id, algorithm.or(or(row.default_algorithm)), components.or(or(row.default_components)), signature];
        let given = needed.map(|value| value.filter(|value| !value.is_empty()));
        let [Some(key_id), Some(algorithm), Some(components), Some(signature)] = given else {
            let at = given.iter().position(Option::is_none).unwrap_or_default();
            return Err(Failure::new(Reason::Malformed, format!("parameter `{}` is missing or empty", names[at])));
        };
        if key_id.len() > MAX_KEY_ID_BYTES {
            let detail = format!("the key id has {} bytes; at most {MAX_KEY_ID_BYTES} are read", key_id.len());
            return Err(Failure::new(Reason::TooLarge, detail));
        }
        Ok(Self { key_id, algorithm, components, signature, created, expires })
    }
}

/// What follows a scheme in a field's value; `None` if it has another one.
fn after_scheme<'a>(value: &'a [u8], scheme: &str) -> Option<&'a [u8]> {
    let (start, rest) = value.split_at_checked(scheme.len())?;
    let ends = scheme.is_empty() || rest.first().is_none_or(u8::is_ascii_whitespace);
    (start.eq_ignore_ascii_case(scheme.as_bytes()) && ends).then_some(rest)
}

/// The name and value of the first parameter, and what follows it without white space.
fn parameter(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let equals = memchr::memchr(b'=', text)?;
    let (name, value) = (&text[..equals], &text[equals + 1..]);
    let is_name = !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte));
    let (value, after) = match value.split_first() {
        Some((b'"', quoted)) => {
            let end = memchr::memchr2(b'"', b'\\', quoted).filter(|end| quoted[*end] == b'"')?;
            (&quoted[..end], &quoted[end + 1..])
        }
        _ => {
            let end = value.iter().position(|byte| *byte == b',' || byte.is_ascii_whitespace()).unwrap_or(value.len());
            // Only numbers may stand without quotes.
            (value[..end].iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')).then(|| value.split_at(end))?
        }
    };
    is_name.then(|| (name, value, after.trim_ascii_start()))
}
