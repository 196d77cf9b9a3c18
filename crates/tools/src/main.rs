//! `weir-tools`: what `weir profile`, `diagnose`, `baseline`, `inspector` and `docs` run.

use std::process::ExitCode;

fn main() -> ExitCode {
    weir_cli::main(|arguments| weir_tools::run(&arguments))
}
