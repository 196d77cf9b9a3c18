//! Between threads that read and write archives, and bodies of HTTP messages.

use std::io::{self, Read, Write};

use bytes::{Buf as _, Bytes};
use tokio::sync::mpsc;

/// Bytes of a piece.
const PIECE: usize = 256 << 10;

/// Writes into a channel, piece by piece. Flush it before it is dropped.
pub(crate) struct Sending {
    sender: mpsc::Sender<io::Result<Bytes>>,
    piece: Vec<u8>,
}

impl Sending {
    pub fn new(sender: mpsc::Sender<io::Result<Bytes>>) -> Self {
        Self { sender, piece: Vec::with_capacity(PIECE) }
    }
}

impl Write for Sending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let part = bytes.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&bytes[..part]);
        if self.piece.len() == PIECE {
            self.flush()?;
        }
        Ok(part)
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        self.sender.blocking_send(Ok(piece.into())).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// Reads from a channel.
pub(crate) struct Receiving {
    receiver: mpsc::Receiver<io::Result<Bytes>>,
    piece: Bytes,
}

impl Receiving {
    pub fn new(receiver: mpsc::Receiver<io::Result<Bytes>>) -> Self {
        Self { receiver, piece: Bytes::new() }
    }
}

impl Read for Receiving {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.receiver.blocking_recv() {
                None => return Ok(0),
                Some(piece) => self.piece = piece?,
            }
        }
        let length = buffer.len().min(self.piece.len());
        self.piece.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}
