//! Counters in sliding windows: what a question counts for, and how much has been counted.
//!
//! Conditions, keys and values are expressions. They are compiled to a plan like rules, with the key and the value as
//! header fields to be set, so that counters read requests exactly as rules do and share the filters of the engine.
//!
//! Requests are counted in two fixed windows, the earlier one weighted by the share that the sliding window still covers.
//! That is exact as long as requests came evenly in the earlier window. At worst all of them came at its end, and count
//! for that share alone, or at its beginning, and count for that share too much. Exact logs of times were the
//! alternative: they need memory for each request, just when there are most. Distinct values are counted exactly, each
//! with the time of its last request, up to [`count::MAX_MEMBERS`].

mod count;
mod keys;
mod local;
mod redis;
mod store;

pub(crate) use keys::Counters;
pub(crate) use redis::RedisState;
pub(crate) use store::Store;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
