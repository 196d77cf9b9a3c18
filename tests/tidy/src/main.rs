//! `weir-tidy cycles` prints the cycles of files in each crate, `weir-tidy documents` writes the dependencies between
//! crates into ARCHITECTURE.md and the tables of figures into every document. `make cycles` and `make docs` call them.

use std::process::ExitCode;

use weir_tidy::cycles::Cycles;
use weir_tidy::{dependencies, figures};

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("cycles") => weir_tidy::crates().iter().for_each(|name| print!("{}", Cycles::of(name))),
        Some("documents") => {
            if let Err(error) = dependencies::write().and_then(|()| figures::write()) {
                eprintln!("weir-tidy: {error}");
                return ExitCode::FAILURE;
            }
        }
        _ => {
            eprintln!("usage: weir-tidy cycles|documents");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
