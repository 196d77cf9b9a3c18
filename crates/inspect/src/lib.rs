//! Inspectors: remote detectors that a rule asks about a request.
//!
//! A gateway that asks its detectors one after the other, and for every request, adds up their time-outs. Here a rule names
//! the inspector, all that a request needs are asked at once, and a request for which no rule asks pays nothing. This crate
//! has what does not depend on nginx: the [question](Question), the [answer](Answer), and the protocols between them as pure
//! functions on bytes. Sockets are in `crates/nginx`, the service that answers is `crates/inspector`.

pub mod adapter;
mod address;
mod answer;
pub mod breaker;
pub mod endpoint;
pub mod frame;
pub mod http;
pub mod inspector;
pub mod memory;
pub mod own;
mod question;
#[cfg(test)]
mod testing;

pub use answer::{Advice, Answer, Failure, OwnedField};
pub use inspector::Inspector;
pub use question::{Field, Question, UNKNOWN_LENGTH};
