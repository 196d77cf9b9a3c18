//! Profiles: model, file formats, graphs and comparison.
//!
//! Nothing in this crate takes samples; `weir-sample` does. Graphs, importers and differences are
//! therefore tested and fuzzed without a kernel, and also work on profiles of other tools.

pub mod amount;
pub mod diff;
pub mod format;
pub mod graph;
#[cfg(test)]
#[path = "../../../tests/harness/hang.rs"]
mod hang;
pub mod health;
pub mod label;
pub mod merge;
mod model;
pub mod top;
pub mod tree;

pub use model::{
    Builder, Frame, FrameId, Health, Meta, Origin, Profile, ProfileKind, Sample, StackId, SystemCall, Thread,
    ThreadIndex,
};
