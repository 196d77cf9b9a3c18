//! The bench: what `weir-bench` runs, a program beside the product that is not installed with it.
//!
//! Mostly the question is how much CPU the process under test spends on one request, compared with
//! its peer: every number is taken beside its reference in the same round, and every variant is first
//! seen to do the work that its name promises. Other scenarios ask whether Weir finds what it must
//! (conformance, differential) and whether anything grows (soak). `bench/README.md` says how, and
//! what to distrust.

mod attached;
mod check;
mod choice;
mod command;
mod comparison;
mod conformance;
mod crs;
mod differential;
mod events;
mod files;
mod growth;
mod haproxy;
mod hostile;
mod inspect;
mod log_fields;
mod lua;
mod messages;
mod policy;
mod probe;
mod records;
mod report;
mod request;
mod rounds;
mod rules;
mod signature;
mod silence;
mod slices;
mod soak;
mod stories;
mod turn;
mod variants;
mod weir;

pub use command::{Arguments, Scenario, run};
