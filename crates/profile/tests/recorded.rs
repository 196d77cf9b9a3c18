//! One recording in the shapes that `perf script` prints, folded as its program was written.
//!
//! `names.cc` was built with `g++ -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread`, recorded with
//! `perf record --sample-cpu -F 97 -e cpu-clock -g`, and two samples of each thread were kept. The stacks below come from
//! its source and from perf's own text, not from Weir.

#![allow(clippy::unwrap_used, reason = "in a test it is the assertion, in its helpers too")]

use weir_profile::format::{self, Format};

/// What both threads that count have in common, outermost first.
const SPIN: &str = "[libstdc++.so.6.0.30];std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)(char const*), \
                    char const*> > >::_M_run;run;shop::Order::operator();shop::Cart<int>::add;(anonymous namespace)::spin";
const READ: &str = "__libc_start_call_main;main;read;entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];ksys_read_[k];\
                    vfs_read_[k];read_zero_[k]";

#[test]
fn every_shape_of_a_recording_folds_into_the_stacks_of_its_program() {
    for (name, text, weight) in [
        ("default", &include_bytes!("recorded/names-default.perf")[..], 2 * 10_309_278),
        ("process ids, without periods", include_bytes!("recorded/names-ids.perf"), 2),
        ("neither times nor processors, and no line after the last", include_bytes!("recorded/names-bare.perf"), 2),
    ] {
        let mut folded = Vec::new();
        format::write(&format::read(text).unwrap(), Format::Folded, &mut folded).unwrap();
        let expected = format!("V8_Worker/2;{SPIN} {weight}\nnames;{READ} {weight}\npack_worker_1;{SPIN} {weight}\n");
        assert_eq!(String::from_utf8(folded).unwrap(), expected, "{name}");
    }
}
