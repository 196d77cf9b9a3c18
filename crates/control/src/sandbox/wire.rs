//! What the two processes say to each other: a length (4 bytes, little endian), then so many bytes of JSON.
//!
//! The child's side is not trusted more than the policy it reads, so lengths are bounded in both directions.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weir_gateway::resource::{CapturedFile, Document, ResourceKind};

/// Largest job: all documents together. One may have 16 MiB (`weir_policy::MAX_DOCUMENT_BYTES`); 10,000 policies of a
/// few rules have 10 MB.
pub const MAX_JOB_BYTES: usize = 64 << 20;

/// Largest answer; a hundred errors with long messages fit many times.
pub const MAX_ANSWER_BYTES: usize = 4 << 20;

/// The first message to a child: what it may use.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// Address space in bytes.
    pub memory_bytes: u64,
    /// The directory of captured files, the only one that it reads.
    pub objects: PathBuf,
}

/// What a child says: any number of wishes, then the answer.
#[derive(Debug, Serialize, Deserialize)]
pub enum Said {
    /// It needs a file that was not captured yet; a path that ends in `/` is a folder.
    Want {
        /// The path.
        path: PathBuf,
        /// Largest size in bytes.
        max_bytes: u64,
    },
    /// It is done.
    Done(Answer),
}

/// The reply to a wish: the file, whose content is in the directory, or why there is none.
pub type Granted = Result<CapturedFile, String>;

/// What a document depends on: its kind and id, and positions in [`Answer::groups`].
pub type Uses = (ResourceKind, String, Vec<usize>);

/// What the child is to do.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Task {
    /// Documents of policies, to be compiled together.
    pub documents: Option<Vec<(ResourceKind, Document)>>,
    /// Regular expressions of routes.
    pub patterns: Vec<String>,
}

/// What came of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Answer {
    /// What is wrong with the policy.
    pub errors: Vec<Complaint>,
    /// How many errors were left out.
    pub more: usize,
    /// What is odd about the policy.
    pub warnings: Vec<Complaint>,
    /// What is wrong with patterns, by their index.
    pub patterns: Vec<(usize, String)>,
    /// Groups of paths that documents depend on: many policies use the same rule files.
    pub groups: Vec<Vec<PathBuf>>,
    /// The groups of each document that depends on files.
    pub uses: Vec<Uses>,
    /// A panic's message: a fault of Weir.
    pub panic: Option<String>,
}

/// What is wrong with, or odd about, a document.
#[derive(Debug, Serialize, Deserialize)]
pub struct Complaint {
    /// The document's kind.
    pub kind: ResourceKind,
    /// Its id; empty for settings.
    pub id: String,
    /// JSON pointer within it.
    pub pointer: String,
    /// What was expected and what was found; with file and line where the pointer cannot tell them.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A message with its length.
///
/// # Errors
/// If it is longer than `max`.
pub fn framed<T: Serialize>(message: &T, max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = bytes.len() - 4;
    if length > max {
        return Err(too_long(length, max));
    }
    let length = u32::try_from(length).map_err(|_| too_long(length, max))?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// The length of a message from its first 4 bytes.
///
/// # Errors
/// If it is longer than `max`.
pub fn length(head: [u8; 4], max: usize) -> io::Result<usize> {
    match usize::try_from(u32::from_le_bytes(head)) {
        Ok(length) if length <= max => Ok(length),
        other => Err(too_long(other.unwrap_or(usize::MAX), max)),
    }
}

/// The next message; `None` at the end of the stream.
pub(super) fn read<T: for<'de> Deserialize<'de>>(input: &mut impl Read, max: usize) -> io::Result<Option<T>> {
    let mut head = [0; 4];
    match input.read_exact(&mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let mut body = vec![0; length(head, max)?];
    input.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}

/// Writes a message.
pub(super) fn write<T: Serialize>(output: &mut impl Write, message: &T, max: usize) -> io::Result<()> {
    output.write_all(&framed(message, max)?)?;
    output.flush()
}

fn too_long(length: usize, max: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a message of {length} bytes; at most {max} are allowed"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(text in ".{0,200}", patterns in prop::collection::vec(".{0,20}", 0..5)) {
            let document = Document::new("p", serde_json::to_string(&text).unwrap());
            let documents = Some(vec![(ResourceKind::Policies, document)]);
            let task = Task { documents: documents.clone(), patterns: patterns.clone() };
            let bytes = framed(&task, MAX_JOB_BYTES).unwrap();
            let back: Task = read(&mut bytes.as_slice(), MAX_JOB_BYTES).unwrap().unwrap();
            prop_assert_eq!(back.documents, documents);
            prop_assert_eq!(back.patterns, patterns);
        }

        #[test]
        fn any_bytes_are_an_error_or_a_message(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = read::<Answer>(&mut bytes.as_slice(), 1024);
        }
    }

    #[test]
    fn lengths_are_bounded_before_memory_is_taken() {
        assert!(read::<Task>(&mut [0xFF, 0xFF, 0xFF, 0xFF, 1].as_slice(), 1024).is_err());
        assert!(framed(&Task { documents: None, patterns: vec!["x".repeat(100)] }, 50).is_err());
    }
}
