//! `weir bench` without the rest of the command.

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    bench: weir_lab::BenchArguments,
}

fn main() -> ExitCode {
    match weir_lab::run(&Arguments::parse().bench) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("weir bench: {error}");
            ExitCode::FAILURE
        }
    }
}
