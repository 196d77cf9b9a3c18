//! The command `weir` with a real nginx: `weir up` from start to every kind of end, and what the
//! README promises, line by line.

mod running;
mod tour;
mod up;
