//! The `weir` command; everything it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    weir_cli::main(weir_cli::run)
}
