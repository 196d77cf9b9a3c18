//! The command `weir` with a real nginx: `weir up` from its start to every kind of end, replayed
//! requests and exclusions compared with nginx, and every command shown in the README and in the
//! guide on ModSecurity.

mod ablate;
mod guide;
mod replay;
mod running;
mod sign;
mod tour;
mod tune;
mod up;
mod watching;
