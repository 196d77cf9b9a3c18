//! `make soak`: does anything grow?
//!
//! A second server of the same nginx is a gateway, whose upstream, policy and routes are changed by control meanwhile.
//!
//! nginx with Weir, the RS policy and all logs serves millions of mixed requests while it is
//! reloaded hundreds of times. Reloads are spread evenly, so that each generation of the worker
//! serves the same number of requests, and a generation is weighed after its share: growth from
//! one to the next is a leak in the master's configuration cycle, which workers inherit. A leak
//! within one worker would need a longer life to show, so at the end a single generation serves
//! many times its usual share and is weighed twice.

mod drive;
mod gateway;
mod run;
mod traffic;
mod verdict;

pub use run::run;
