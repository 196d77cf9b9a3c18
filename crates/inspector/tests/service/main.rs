//! The service from outside: a client on a socket, with nothing but the protocol.
#![allow(clippy::unwrap_used)]

mod client;
mod examples;
mod load;
mod protocol;
mod redis;
mod reload;
mod verdicts;
