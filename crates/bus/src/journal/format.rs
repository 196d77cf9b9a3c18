//! The version of what a generation holds: the frames, and the operations in them.
//!
//! The header's page never changes its layout, so that programs of all versions can tell which format a generation has.
//! During an upgrade control and the workers differ for a while. A worker that meets a generation in another format
//! keeps what it serves, says so, and goes on with the next generation that it can read; control counts it as a worker
//! that cannot follow and waits for the others. Translating formats was rejected: it would keep every old format alive
//! in the code for the few minutes of an upgrade.
//!
//! **Raise the number whenever an older build would misread a frame or an operation.**

use std::hint::black_box;

/// The text stands in module and command as it is here: `strings` shows the format of a build, and the tests of upgrades
/// make a build of another format by changing the digits in a copy.
#[used]
static FORMAT: [u8; 24] = *b"weir journal format 0002";

/// The format that this build writes and reads.
#[must_use]
pub fn journal_format() -> u32 {
    // `black_box`, because the digits may have been changed since they were compiled.
    black_box(&FORMAT)[20..].iter().fold(0, |number, digit| number * 10 + u32::from(digit & 15))
}
