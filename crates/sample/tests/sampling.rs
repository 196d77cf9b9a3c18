//! Sampling of real processes: C programs, compiled here without frame pointers, whose profile is known beforehand.

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
