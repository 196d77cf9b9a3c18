//! Stacks and names of real programs, built by the system's C compiler and stepped or damaged here.

#![allow(clippy::unwrap_used, reason = "there it is the assertion")]

mod damaged;
mod names;
mod nginx;
mod second_opinion;
mod stepping;
mod support;
