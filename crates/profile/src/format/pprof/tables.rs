//! The tables of a profile: strings, functions, locations, mappings.
//!
//! The file is walked twice, because the samples precede the tables: storing all samples would take
//! far more memory than a second walk takes time.

use std::collections::HashMap;

use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint};

use super::super::{FilePosition, Format, FormatError};
use super::message::{Function, Location, Mapping, ValueType, field};

/// Maximum size of one message or string. The largest real ones are stacks of a few thousand frames.
const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// Maximum number of entries of one table.
const MAX_ENTRIES: usize = 4 << 20;
/// Maximum number of lines of all locations.
const MAX_LINES: usize = 16 << 20;
/// Maximum number of sample types and of comments.
const MAX_TYPES: usize = 256;

const DAMAGED: &str = "the file is damaged or not a pprof profile; copy or record it again";

/// One field of the profile.
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Calls back for each field with its position.
pub(super) fn walk<'a>(
    bytes: &'a [u8],
    each: &mut dyn FnMut(u32, Value<'a>, &FilePosition) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let offset = bytes.len() - rest.len();
        let place = FilePosition::Byte(offset as u64);
        let broken = |error: prost::DecodeError| bad(&place, error.to_string());
        let (number, wire) = decode_key(&mut rest).map_err(broken)?;
        match wire {
            WireType::Varint => each(number, Value::Number(decode_varint(&mut rest).map_err(broken)?), &place)?,
            WireType::LengthDelimited => {
                let length = decode_varint(&mut rest).map_err(broken)? as usize;
                if length > rest.len() {
                    return Err(bad(&place, format!("expected {length} bytes, {} are left", rest.len())));
                }
                if length > MAX_MESSAGE_BYTES {
                    return Err(bad(
                        &place,
                        format!("a message of {length} bytes; at most {MAX_MESSAGE_BYTES} are allowed"),
                    ));
                }
                let (message, behind) = rest.split_at(length);
                rest = behind;
                each(number, Value::Bytes(message), &place)?;
            }
            wire => return Err(bad(&place, format!("a field of the type {wire:?}, which does not occur in profiles"))),
        }
    }
    Ok(())
}

pub(super) fn bad(place: &FilePosition, what: String) -> FormatError {
    FormatError::Bad { format: Format::Pprof, place: place.clone(), what, hint: DAMAGED }
}

pub(super) fn decode<M: Message + Default>(bytes: &[u8], place: &FilePosition) -> Result<M, FormatError> {
    M::decode(bytes).map_err(|error| bad(place, error.to_string()))
}

/// The numbers of a repeated field, packed or single.
fn numbers(value: &Value<'_>, place: &FilePosition, into: &mut Vec<i64>) -> Result<(), FormatError> {
    match value {
        Value::Number(number) => into.push(*number as i64),
        Value::Bytes(bytes) => {
            let mut bytes = *bytes;
            while !bytes.is_empty() && into.len() < MAX_TYPES {
                into.push(decode_varint(&mut bytes).map_err(|error| bad(place, error.to_string()))? as i64);
            }
        }
    }
    into.truncate(MAX_TYPES);
    Ok(())
}

/// The tables, by the ids in the file.
#[derive(Default)]
pub(super) struct Tables<'a> {
    strings: Vec<&'a [u8]>,
    pub(super) types: Vec<ValueType>,
    pub(super) mappings: HashMap<u64, Mapping>,
    pub(super) functions: HashMap<u64, Function>,
    pub(super) locations: HashMap<u64, (Location, FilePosition)>,
    pub(super) comments: Vec<i64>,
    pub(super) default_type: i64,
    pub(super) time_nanos: i64,
    pub(super) duration_nanos: i64,
    pub(super) period_type: Option<ValueType>,
    pub(super) period: i64,
    lines: usize,
}

impl<'a> Tables<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let mut tables = Self::default();
        walk(bytes, &mut |number, value, place| tables.field(number, value, place))?;
        Ok(tables)
    }

    fn field(&mut self, number: u32, value: Value<'a>, place: &FilePosition) -> Result<(), FormatError> {
        match (number, value) {
            (field::SAMPLE_TYPE, Value::Bytes(bytes)) if self.types.len() < MAX_TYPES => {
                self.types.push(decode(bytes, place)?);
            }
            (field::MAPPING, Value::Bytes(bytes)) => {
                let mapping: Mapping = decode(bytes, place)?;
                self.mappings.insert(mapping.id, mapping);
            }
            (field::FUNCTION, Value::Bytes(bytes)) => {
                let function: Function = decode(bytes, place)?;
                self.functions.insert(function.id, function);
            }
            (field::LOCATION, Value::Bytes(bytes)) => {
                let location: Location = decode(bytes, place)?;
                self.lines += location.line.len();
                self.locations.insert(location.id, (location, place.clone()));
            }
            (field::STRING, Value::Bytes(bytes)) => self.strings.push(bytes),
            (field::COMMENT, value) => numbers(&value, place, &mut self.comments)?,
            (field::PERIOD_TYPE, Value::Bytes(bytes)) => self.period_type = Some(decode(bytes, place)?),
            (field::PERIOD, Value::Number(number)) => self.period = number as i64,
            (field::TIME_NANOS, Value::Number(number)) => self.time_nanos = number as i64,
            (field::DURATION_NANOS, Value::Number(number)) => self.duration_nanos = number as i64,
            (field::DEFAULT_SAMPLE_TYPE, Value::Number(number)) => self.default_type = number as i64,
            _ => {}
        }
        let sizes = [self.mappings.len(), self.functions.len(), self.locations.len(), self.strings.len()];
        if sizes.iter().any(|size| *size > MAX_ENTRIES) || self.lines > MAX_LINES {
            return Err(bad(place, format!("a table of more than {MAX_ENTRIES} entries")));
        }
        Ok(())
    }

    /// A string of the table; the first one is empty and means "none".
    pub(super) fn string(&self, index: i64, place: &FilePosition) -> Result<String, FormatError> {
        let string = usize::try_from(index).ok().and_then(|at| self.strings.get(at));
        match string {
            Some(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
            None if index == 0 => Ok(String::new()),
            None => Err(bad(place, format!("there is no string {index}; there are {}", self.strings.len()))),
        }
    }
}
