//! Rule sets in SecLang, from text to verdict: what each part of the language does
//! (`language.rs` and those beside it), and that filters and folding change no outcome
//! (`folding.rs` with generated rule sets, `crs.rs` with CRS).
//!
//! Every case runs twice, with a profile that filters and folds and with one that runs every rule
//! on every value.

#![allow(clippy::unwrap_used)]

//mod bodies;
//mod collections;
//mod control;
//mod crs;
//mod decisions;
//mod filters;
mod flow;
mod folding;
mod generated;
mod site;
//mod tunings;
mod values;
