//! `md5` and `sha1`: raw digests; rules write `t:sha1,t:hexEncode`.
//!
//! They serve for comparison with lists of known values, not for security.

use bumpalo::Bump;
use md5::{Digest as _, Md5};
use sha1::Sha1;

use crate::edit::changed;

pub(crate) fn md5<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    changed(input, arena.alloc_slice_copy(&Md5::digest(input)))
}

pub(crate) fn sha1<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    changed(input, arena.alloc_slice_copy(&Sha1::digest(input)))
}
