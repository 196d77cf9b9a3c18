//! The `weir` command as a library: `weir-tools` carries out some of its commands, from the same arguments.
//!
//! One subcommand is one file in `command/`. What they share is small: how an error is told
//! ([`Failure`]), tables on the terminal ([`table`]) and where the runtime files are.

mod api;
pub mod arguments;
mod body;
mod command;
mod difference;
mod failure;
pub mod moment;
mod probe;
mod state_directory;
mod state_files;
pub mod style;
pub mod table;
pub mod terminal;
mod up;
mod yaml;

use std::process::ExitCode;

use clap::Parser;

pub use arguments::{Arguments, Command};
pub use command::run;
pub use failure::Failure;

/// Parses the command line of this process, and lets `run` carry it out.
#[must_use]
pub fn main(run: fn(Arguments) -> Result<ExitCode, Failure>) -> ExitCode {
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
    match run(arguments) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("{}", failure.render(style::Stream::Err));
            ExitCode::from(failure.code())
        }
    }
}

/// A client that goes away while it is answered must be an error of that answer, not the end of a service.
pub fn survive_broken_pipes() {
    // SAFETY: sets a disposition before any thread exists.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}
