//! The command `weir` with a real nginx: `weir up` from start to every kind of end, replayed
//! requests and exclusions against what nginx does, and what the README and the guide from
//! ModSecurity promise, line by line.

mod ablate;
mod guide;
mod replay;
mod running;
mod tour;
mod tune;
mod up;
mod watching;
