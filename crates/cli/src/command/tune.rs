//! stub
pub(crate) fn run(_: &crate::arguments::Tune) -> Result<std::process::ExitCode, crate::Failure> { Ok(std::process::ExitCode::SUCCESS) }
