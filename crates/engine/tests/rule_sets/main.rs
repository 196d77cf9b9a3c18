//! Rule sets in SecLang, from text to verdict: tables of what each part of the language does, and
//! that filters and folding change no outcome (`folding.rs` with generated rule sets, `crs.rs`
//! with CRS). Every case runs twice: with a profile that filters and folds, and with one that runs
//! every rule on every value.
//!
//! What ModSecurity 3.0.9 does decides; where Weir means to differ, the case says so.

#![allow(clippy::unwrap_used)]

mod bodies;
mod collections;
mod control;
mod crs;
mod decisions;
mod everything;
mod filters;
mod flow;
mod folding;
mod generated;
mod site;
mod tunings;
mod values;
mod work;
