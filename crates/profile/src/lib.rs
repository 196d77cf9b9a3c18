//! Profiles: what they are, how they are read and written, drawn and compared.
//!
//! Nothing in this crate takes samples; `weir-sample` does. So graphs, importers and differences
//! are tested and fuzzed without a kernel, and work on other tools' profiles just as well.

pub mod amount;
pub mod diff;
pub mod format;
pub mod graph;
pub mod health;
pub mod label;
pub mod merge;
mod model;
pub mod top;
pub mod tree;

pub use model::{
    Builder, Frame, FrameId, Health, Kind, Meta, Origin, Profile, Sample, StackId, SystemCall, Thread, ThreadIndex,
};
