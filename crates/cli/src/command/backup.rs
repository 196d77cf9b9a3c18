//! `weir backup` and `restore`.

use std::fs::File;
use std::io::{BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use weir_control::backup::{self, Manifest};

use crate::api::Api;
use crate::arguments::{Backup, Restore};
use crate::table::{counted, size};
use crate::{Failure, moment};

pub(crate) fn make(api: &Api, arguments: &Backup) -> Result<(), Failure> {
    if arguments.file == Path::new("-") {
        return api.download("/api/v1/backup", &mut std::io::stdout().lock());
    }
    // Until it is complete, an earlier backup of this name stays.
    let mut new = arguments.file.clone().into_os_string();
    new.push(".new");
    let new = PathBuf::from(new);
    let made = download(api, &new).and_then(|manifest| {
        std::fs::rename(&new, &arguments.file).map_err(|error| at(&arguments.file, error))?;
        Ok(manifest)
    });
    if made.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    println!("{}: {}", arguments.file.display(), sentence(&made?));
    Ok(())
}

fn download(api: &Api, path: &Path) -> Result<Manifest, Failure> {
    let open = File::options().read(true).write(true).create(true).truncate(true).mode(0o600).open(path);
    let mut file = open.map_err(|error| at(path, error))?;
    api.download("/api/v1/backup", &mut file)?;
    file.flush().and_then(|()| file.sync_all()).map_err(|error| at(path, error))?;
    verified(path)
}

pub(crate) fn restore(api: &Api, arguments: &Restore) -> Result<(), Failure> {
    // Checked here as well: a damaged file is then named before anything is sent.
    let manifest = verified(&arguments.file)?;
    if !arguments.options.json {
        println!("{}: {}", arguments.file.display(), sentence(&manifest));
    }
    let file = open(&arguments.file)?;
    let changed = api.upload("/api/v1/restore", file, backup::MEDIA_TYPE, &arguments.options)?;
    changed.say(&arguments.options)
}

pub(crate) fn install(arguments: &Restore, state: &Path) -> Result<(), Failure> {
    let manifest = backup::install(BufReader::new(open(&arguments.file)?), state).map_err(|error| {
        let failure = Failure::new(format!("{}: {error}", arguments.file.display()));
        match error {
            backup::BackupError::Store(_) => {
                failure.hint("without --state, the running gateway gets the configuration as a new revision")
            }
            _ => failure,
        }
    })?;
    println!("{}: {}", state.display(), sentence(&manifest));
    Ok(())
}

fn verified(path: &Path) -> Result<Manifest, Failure> {
    backup::verify(BufReader::new(open(path)?)).map_err(|error| at(path, error))
}

fn open(path: &Path) -> Result<File, Failure> {
    let file = File::open(path).map_err(|error| at(path, error))?;
    match file.metadata() {
        Ok(about) if about.is_file() => Ok(file),
        _ => Err(at(path, "it is not a regular file")),
    }
}

fn at(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

fn sentence(manifest: &Manifest) -> String {
    format!(
        "revision {} of {}, {}, {}",
        manifest.revision,
        moment::utc(manifest.time_ms),
        counted(manifest.files.len() as u64, "file"),
        size(manifest.bytes())
    )
}
