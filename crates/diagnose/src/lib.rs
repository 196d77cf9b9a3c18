//! What is wrong with a running process.
//!
//! Facts are gathered ([`facts`]), rules judge them, and a baseline says what has changed since ([`baseline`]).

pub mod baseline;
pub mod facts;
pub mod finding;
pub mod report;
pub mod rules;
pub mod saved;
