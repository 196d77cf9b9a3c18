//! Weir's own profiles, compressed or not, and any other format that [`read`] detects.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_profile::format::{Format, read, read_as};

mod profile;

fuzz_target!(|bytes: &[u8]| {
    for read in [read(bytes), read_as(bytes, Format::Weir)] {
        if let Ok(read) = read {
            profile::usable(&read);
        }
    }
});
