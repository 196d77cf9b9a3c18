//! What people can write in `nginx.conf` for Weir: directives, variables and access-log fields.
//!
//! Each is one table. The nginx module makes its command array, its setters and its log writers
//! from them, the command line its reference page and completion; so no name, default or
//! explanation exists twice. The crate knows nothing of nginx: the command line needs it on
//! machines that have none.

mod directive;
mod log_field;
mod reference;
mod suggestion;
mod variable;

pub use directive::{Arguments, Context, DIRECTIVES, Directive, DirectiveInfo};
pub use log_field::{LOG_FIELDS, LogField, LogFieldInfo};
pub use reference::markdown;
pub use suggestion::nearest;
pub use variable::{VARIABLES, Variable, VariableInfo};
