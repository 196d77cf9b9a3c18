//! `weir-tidy cycles` prints the cycles of files in each crate, `weir-tidy dependencies` writes the
//! dependencies between crates into ARCHITECTURE.md. `make cycles` and `make docs` call them.

use std::process::ExitCode;

use weir_tidy::cycles::Cycles;
use weir_tidy::dependencies;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("cycles") => weir_tidy::crates().iter().for_each(|name| print!("{}", Cycles::of(name))),
        Some("dependencies") => {
            if let Err(error) = dependencies::write() {
                eprintln!("weir-tidy: {}: {error}", dependencies::DOCUMENT);
                return ExitCode::FAILURE;
            }
        }
        _ => {
            eprintln!("usage: weir-tidy cycles|dependencies");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
