//! `weir bench`: runs the lab.

use std::process::ExitCode;

use crate::Failure;

pub(crate) fn run(arguments: &weir_lab::BenchArguments) -> Result<ExitCode, Failure> {
    let good = weir_lab::run(arguments).map_err(Failure::new)?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
