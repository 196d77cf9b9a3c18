//! Sampling of real processes: C programs with a known profile, compiled here without frame
//! pointers.

#[path = "sampling/calls.rs"]
mod calls;
#[path = "sampling/depth.rs"]
mod depth;
#[path = "sampling/ends.rs"]
mod ends;
#[path = "sampling/families.rs"]
mod families;
#[path = "sampling/program.rs"]
mod program;
#[path = "sampling/shares.rs"]
mod shares;
#[path = "sampling/waits.rs"]
mod waits;
