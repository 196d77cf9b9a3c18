//! Diagnosis of running processes.
//!
//! Facts are gathered ([`facts`]), rules judge them, and a baseline shows what has changed since ([`baseline`]).

pub mod baseline;
pub mod facts;
pub mod finding;
pub mod report;
pub mod rules;
pub mod saved;
