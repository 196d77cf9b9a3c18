//! Documents that people type: YAML, which JSON is part of, to JSON.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde_json::Value;
use weir_policy::source::Source;

use crate::Failure;

/// A longer one is refused by the API, too.
const MAX_BYTES: u64 = 16 << 20;

/// Names of descriptors that a shell has opened, as for `<(command)`: what they read may be a pipe.
const DESCRIPTORS: [&str; 3] = ["/dev/fd", "/dev/stdin", "/proc/self/fd"];

/// The text of standard input.
pub(crate) fn standard_input() -> Result<String, Failure> {
    limited(std::io::stdin(), "standard input")
}

/// The text of a file.
pub(crate) fn file(path: &Path) -> Result<String, Failure> {
    limited(open(path)?, &path.display().to_string())
}

/// Opens a regular file to be read. A named pipe is refused, because opening it waits for another process.
pub(crate) fn open(path: &Path) -> Result<File, Failure> {
    let fail = |error: &dyn std::fmt::Display| Failure::new(format!("{}: {error}", path.display()));
    if DESCRIPTORS.iter().any(|known| path.starts_with(known)) {
        return File::open(path).map_err(|error| fail(&error));
    }
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(|error| fail(&error))?;
    let about = file.metadata().map_err(|error| fail(&error))?;
    match about.file_type() {
        kind if kind.is_file() => Ok(file),
        kind if kind.is_dir() => Err(fail(&"it is a directory").hint("name a file in it")),
        _ => Err(fail(&"it is not a regular file").hint("to read from a pipe, use standard input: `-`")),
    }
}

fn limited(reader: impl Read, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    reader.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| Failure::new(format!("{name}: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::new(format!("{name}: more than {MAX_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        // The text before the bad byte is the same in both.
        let source = Source::new(name.to_owned(), &String::from_utf8_lossy(error.as_bytes()));
        let position = source.position(error.utf8_error().valid_up_to());
        let place = format!("{name}:{}:{}", position.line, position.column);
        Failure::new(format!("{place}: expected UTF-8 text, found other bytes")).hint("save the file as UTF-8")
    })
}

/// The document; `name` is for messages.
pub(crate) fn parse(text: &str, name: &str) -> Result<Value, Failure> {
    weir_policy::parse_document(text, Path::new(name)).map_err(|errors| {
        let failure = Failure::new(&errors);
        let has_hint = errors.errors().iter().any(|error| error.hint.is_some());
        if has_hint { failure } else { failure.hint("write YAML or JSON, such as '{weight: 3}'") }
    })
}
