//! Sites, routes and upstreams: the immutable state that a worker serves, changed in O(changed).
//!
//! Nothing here knows of nginx, sockets or files: the module in nginx, the control daemon's tests and the fuzzers use
//! it as it is. A [`Gateway`] is a handful of persistent maps: cloning it costs the same whatever it holds, and an
//! operation copies only the path to what it changes, so that the revision in service and the next one share the rest.
//! It is single-threaded (`Rc`): each worker has its own.

pub mod draft;
pub mod op;
pub mod resource;
pub mod shadow;
pub mod teardown;

mod certificate;
mod condition;
mod consumer;
mod digest;
mod documents;
mod expansion;
mod gateway;
mod host_name;
mod map;
mod matched;
mod member;
mod names;
mod path;
mod pattern;
mod refusal;
mod request;
mod rewrite;
mod route;
mod site;
mod upstream;
mod view;

#[cfg(test)]
mod testing;

pub use certificate::CertificateEntry;
pub use consumer::consumer;
pub use digest::frame_digest;
pub use documents::Documents;
pub use gateway::{Counts, Gateway, MAX_FALLBACKS};
pub use host_name::{host_header, host_name};
pub use matched::{Allow, Found, Matched, Params};
pub use member::{Member, MemberState, Outcome};
pub use names::{Host, MAX_HOST};
pub use path::{MAX_PARAMS, MAX_SEGMENTS};
pub use pattern::{Patterns, Regex};
pub use refusal::Refusal;
pub use request::{RequestView, hash_key};
pub use route::{PolicyNames, RouteEntry};
pub use site::Site;
pub use upstream::{Choice, MAX_WEIGHT, Picked, Unavailable, Upstream};
pub use view::View;
