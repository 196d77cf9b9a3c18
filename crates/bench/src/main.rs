//! `weir-bench`: Weir beside its peers, in figures and in verdicts. Built by `make bench`, never installed.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match weir_bench::run(&weir_bench::Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("weir-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
