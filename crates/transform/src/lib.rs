//! SecLang's transformations: pure functions on bytes that borrow what they do not change.
//!
//! The reference is ModSecurity v3.0.9 (`src/actions/transformations`), oddities included, because verdicts depend on
//! them; where its own published vectors contradict it (`cssDecode` past a zero byte) the vectors win. ModSecurity
//! copies every value through every transformation. Most values are changed by none, so here each transformation
//! declares which bytes it needs to have an effect ([`Transformation::may_change`]) and returns its argument if
//! nothing changes: the caller recognises that by the pointer and need not match the value twice.

mod base64;
mod byteset;
mod case;
mod command_line;
mod comments;
mod css;
mod digest;
mod digits;
mod edit;
mod escape_sequence;
mod hexadecimal;
mod html_entity;
mod js;
mod length;
mod nulls;
mod parity;
mod path;
mod sql_hex;
mod table;
mod unicode_map;
mod url;
mod url_unicode;
mod utf8;
mod whitespace;

pub use byteset::ByteSet;
pub use table::{MANUAL, MAX_FIXED_OUTPUT, MAX_GROWTH, Transformation, TransformationInfo};
