//! The state directory of commands that open it themselves: the one that is named, or else that of the daemon which the
//! command line leads to.
//!
//! A default alone was a trap: with another gateway's `--runtime`, a token went where no daemon reads it. So the daemon is
//! asked. If it does not answer, only the default runtime directory stands for the default state directory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Failure;
use crate::api::Api;
use crate::arguments::{Arguments, NamedState};

/// The state directory of a daemon that was given none.
pub(crate) const DEFAULT: &str = "/var/lib/weir";
/// How long the daemon is waited for: a token can also be revoked while it hangs.
const PATIENCE: Duration = Duration::from_secs(2);

/// The directory, which is told on standard error.
pub(crate) fn of(arguments: &Arguments, state: &NamedState) -> Result<PathBuf, Failure> {
    let directory = match &state.named {
        Some(named) => named.clone(),
        None => of_daemon(arguments)?,
    };
    eprintln!("state directory: {}", directory.display());
    Ok(directory)
}

fn of_daemon(arguments: &Arguments) -> Result<PathBuf, Failure> {
    let unknown = |message: String| Failure::new(message).hint("name it with --state or WEIR_STATE");
    if arguments.is_remote() {
        return Err(unknown("the state directory of a daemon behind a URL is not known here".to_owned()));
    }
    let api = Api::of(arguments)?;
    let health = api.get_within("/healthz", PATIENCE).unwrap_or_default();
    match health["state_directory"].as_str() {
        Some(directory) => Ok(directory.into()),
        None if arguments.control.is_none() && arguments.runtime == Path::new(weir_directives::DEFAULT_RUNTIME) => {
            eprintln!("note: no daemon answers at {}", api.target());
            Ok(DEFAULT.into())
        }
        None => Err(unknown(format!("no daemon at {} says what its state directory is", api.target()))),
    }
}
