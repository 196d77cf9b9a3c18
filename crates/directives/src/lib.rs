//! What people can write in `nginx.conf` for Weir: directives and variables.
//!
//! Each is one table. The nginx module makes its command array from them, the command line its reference
//! page and completion; so no name, default or explanation exists twice. The crate knows nothing of nginx:
//! the command line needs it on machines that have none.

mod directive;
mod reference;
mod variable;

pub use directive::{
    Arguments, DEFAULT_BODY_LIMIT, DEFAULT_MESSAGES_ZONE_BYTES, DEFAULT_NONCE_ZONE_BYTES, DEFAULT_RUNTIME,
    DEFAULT_SAMPLE, DEFAULT_ZONE_BYTES, DIRECTIVES, Default, Directive, DirectiveInfo, HttpDirective,
    LocationDirective, ServerDirective,
};
pub use reference::markdown;
pub use variable::{VARIABLES, Variable, VariableInfo};
