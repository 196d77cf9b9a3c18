//! Documents that people type: YAML, which JSON is part of, to JSON.

use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::Failure;

/// A longer one is refused by the API, too.
const MAX_BYTES: u64 = 16 << 20;

/// The text of standard input.
pub(crate) fn standard_input() -> Result<String, Failure> {
    limited(std::io::stdin(), "standard input")
}

/// The text of a file.
pub(crate) fn file(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    let file = std::fs::File::open(path).map_err(|error| Failure::new(format!("{name}: {error}")))?;
    limited(file, &name)
}

fn limited(reader: impl Read, name: &str) -> Result<String, Failure> {
    let mut text = String::new();
    reader.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| Failure::new(format!("{name}: {error}")))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(Failure::new(format!("{name}: more than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

/// The document; `name` is for messages.
pub(crate) fn parse(text: &str, name: &str) -> Result<Value, Failure> {
    weir_policy::parse_document(text, Path::new(name))
        .map_err(|errors| Failure::new(format!("{errors}")).hint("write YAML or JSON, such as '{weight: 3}'"))
}
