//! The command `weir` with a real nginx: `weir up` from start to every kind of end, replayed
//! requests and exclusions against what nginx does, and what the README promises, line by line.

mod replay;
mod running;
mod tour;
mod tune;
mod up;
