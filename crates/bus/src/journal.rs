//! The journal: the policy as a base and the changes since, in one file that all workers read and control writes.
//!
//! It is one inode for ever: the master opens it before it forks, and workers without any right to the directory read it
//! through that fd, also after control died and came back. A *generation* is a base (all operations that make the state)
//! and the frames appended to it; it lies in one of four *areas* of the sparse file. Control begins a new generation when
//! it starts and when the deltas have grown; the older one stays readable until two more have begun, then its blocks
//! are given back. Frames become visible when the committed length is stored in the header, so a writer that is killed
//! leaves nothing that can be seen. A new file for each generation would be simpler, but how would a worker open it?
//!
//! Readers use `pread`, not the mapping: a hole or a truncated file is an error there, and SIGBUS in a mapping.

pub(crate) mod checksum;
mod error;
mod file;
mod format;
mod frame;
mod header;
mod reader;
mod writer;

pub use error::JournalError;
pub use format::journal_format;
pub use frame::Frame;
pub use reader::{Read, Reader};
pub use writer::{Place, Writer};

#[cfg(test)]
mod tests;
