//! The attack log, which is read twice.

use std::io::{BufReader, Cursor, Read, stdin};
use std::path::{Path, PathBuf};

use crate::command::replay::Lines;
use crate::{Failure, body};

/// Bytes of standard input, which has to be kept to be read twice.
const MAX_INPUT_BYTES: u64 = 256 << 20;

/// A log that can be read again.
pub(super) struct Log {
    pub name: String,
    kept: Kept,
}

enum Kept {
    File(PathBuf),
    Bytes(std::sync::Arc<[u8]>),
}

impl Log {
    pub fn open(path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() != "-" {
            return Ok(Self { name: path.display().to_string(), kept: Kept::File(path.to_owned()) });
        }
        let mut bytes = Vec::new();
        stdin().take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_INPUT_BYTES {
            let message = format!("standard input is longer than {MAX_INPUT_BYTES} bytes");
            return Err(Failure::new(message).hint("name the log's file, which may be of any size"));
        }
        Ok(Self { name: "standard input".to_owned(), kept: Kept::Bytes(bytes.into()) })
    }

    /// Its entries from the beginning.
    pub fn entries(&self) -> Result<Lines, Failure> {
        Ok(match &self.kept {
            Kept::File(path) => {
                let file = body::open(path)?;
                Lines::new(Box::new(BufReader::with_capacity(1 << 16, file)), self.name.clone())
            }
            Kept::Bytes(bytes) => Lines::new(Box::new(Cursor::new(std::sync::Arc::clone(bytes))), self.name.clone()),
        })
    }
}
