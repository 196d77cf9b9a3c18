//! Arbitrary bytes as a pprof profile, read as that format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_profile::format::{Format, read_as};

mod profile;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(read) = read_as(bytes, Format::Pprof) {
        profile::usable(&read);
    }
});
