//! The rule languages: text to a typed intermediate form that the engine compiles.
//!
//! Now one language, expressions; SecLang joins it and yields the same form.

mod field;
mod function;
pub mod ir;

pub use field::{FIELDS, Field, FieldInfo, Phase, Shape, Type};
pub use function::{FUNCTIONS, Function, FunctionInfo};
