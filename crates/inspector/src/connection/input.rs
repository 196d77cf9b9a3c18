//! What comes over a connection, frame by frame, and why it may be given up.

use std::sync::Arc;
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncReadExt as _, ReadHalf};
use weir_inspect::frame::{Frame, FrameError};

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// What a connection may use.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Most questions that are being answered.
    pub in_flight: usize,
    /// The secret that a hello must have.
    pub token: Option<Arc<[u8]>>,
}

/// Why a connection ends before its client closes it.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("{0}")]
    Hello(&'static str),
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("a frame of kind {0}, which a client does not send")]
    Kind(u8),
}

/// What has been read and not yet taken.
pub(super) struct Input<S> {
    reader: ReadHalf<S>,
    buffer: Vec<u8>,
    /// Where the next frame begins.
    begin: usize,
}

impl<S: AsyncRead> Input<S> {
    pub fn new(reader: ReadHalf<S>) -> Self {
        Self { reader, buffer: Vec::new(), begin: 0 }
    }

    pub fn unread(&self) -> &[u8] {
        &self.buffer[self.begin..]
    }

    /// Kind, id and length of the next frame, if all of it is there.
    pub fn buffered(&self) -> Result<Option<((u8, u32, usize), Instant)>, FrameError> {
        let first = Frame::first(self.unread())?;
        Ok(first.map(|(frame, length)| ((frame.kind, frame.id, length), Instant::now())))
    }

    pub fn forget(&mut self, length: usize) {
        self.begin += length;
    }

    /// Reads; whether anything came. The buffer never holds more than a frame and what is read at once.
    pub async fn more(&mut self) -> std::io::Result<bool> {
        self.buffer.drain(..self.begin);
        self.begin = 0;
        if self.buffer.is_empty() {
            self.buffer.shrink_to(READ_BYTES);
        }
        self.buffer.reserve(READ_BYTES);
        Ok(self.reader.read_buf(&mut self.buffer).await? > 0)
    }
}
