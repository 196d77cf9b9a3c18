//! The `weir` command as a library, so that the tests of the repository can compare the reference
//! pages with the tables they are made from.
//!
//! One subcommand is one file in `command/`. What they share is small: how an error is told
//! ([`Failure`]), tables on the terminal ([`table`]) and where the runtime files are.

mod answered;
mod api;
mod arguments;
mod body;
mod command;
mod difference;
mod failure;
mod moment;
mod probe;
pub mod reference;
mod state_directory;
mod state_files;
mod style;
mod table;
mod terminal;
mod up;
mod yaml;

use std::process::ExitCode;

use clap::Parser;

pub use arguments::{Arguments, Command};
pub use failure::Failure;

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    // `weir cost | head` shall end quietly: without this a closed pipe is a panic in println!.
    // SAFETY: restores a default disposition before any thread or child exists.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            // clap: 0 for --help and --version, 2 for a command line it does not understand.
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match command::run(arguments) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("{}", failure.render(style::Stream::Err));
            ExitCode::from(failure.code())
        }
    }
}
