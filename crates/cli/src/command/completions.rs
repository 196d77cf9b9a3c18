//! `weir completions`: a script for the shell, from the table of arguments.

use clap::CommandFactory;
use clap_complete::{Shell as Generator, generate};

use crate::Failure;
use crate::arguments::{Arguments, Shell};

pub(crate) fn run(shell: Shell) -> Result<(), Failure> {
    let generator = match shell {
        Shell::Bash => Generator::Bash,
        Shell::Zsh => Generator::Zsh,
        Shell::Fish => Generator::Fish,
    };
    generate(generator, &mut Arguments::command(), "weir", &mut std::io::stdout());
    Ok(())
}
