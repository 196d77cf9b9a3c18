//! The product: real nginx with the Weir module, real origins, real clients.
//!
//! One binary, so that it links once. Each module is one promise to users; the name of a test
//! says what must hold.
#![allow(clippy::unwrap_used)]

mod harness_itself;
