//! Frames of Weir's own protocol, version 1, which `docs/inspectors.md` describes for those who write a service.
//!
//! A connection carries frames both ways. A frame is its length (u32, of what follows), its kind (u8), an id (u32), and
//! items: a tag (u8), a length (u32), that many bytes. Numbers are big-endian. Unknown kinds and tags are passed over, so
//! that either side may be newer. Why not HTTP/2 or gRPC: a question costs one copy and no allocation in the worker, a
//! service is a hundred lines in any language, and answers may come in any order.

use thiserror::Error;

/// Most bytes of a frame after its length: a question with a body of 1 MiB and all header fields.
pub const MAX_FRAME_BYTES: usize = 2 << 20;
/// Bytes before the items: length, kind, id.
const HEAD_BYTES: usize = 9;
/// What both sides say first.
pub const VERSION: &[u8] = b"weir-inspect/1";

/// Kinds of frames.
pub mod kind {
    /// The first frame of either side; the id is 0.
    pub const HELLO: u8 = 0;
    /// A question; its id is the asking side's.
    pub const QUESTION: u8 = 1;
    /// The answer to the question with that id.
    pub const ANSWER: u8 = 2;
    /// Asks for a pong with the same id.
    pub const PING: u8 = 3;
    /// Answers a ping.
    pub const PONG: u8 = 4;
    /// The service is about to stop: it answers what it was asked, and wants no more.
    pub const GOODBYE: u8 = 5;
}

/// Items of a hello.
pub mod hello {
    /// [`super::VERSION`].
    pub const VERSION: u8 = 1;
    /// From the gateway: the secret that the service asks for.
    pub const TOKEN: u8 = 2;
    /// From the service: a detector that it has; once for each.
    pub const DETECTOR: u8 = 3;
}

/// Why a connection is given up.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum FrameError {
    /// A frame is longer than any may be.
    #[error("a frame of {0} bytes; at most {MAX_FRAME_BYTES} are possible")]
    TooLong(usize),
    /// A frame is shorter than its own head, or an item longer than its frame.
    #[error("a frame that does not fit its length")]
    Malformed,
}

/// A frame as it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'f> {
    /// See [`kind`].
    pub kind: u8,
    /// The id of a question, its answer, or a ping.
    pub id: u32,
    items: &'f [u8],
}

impl<'f> Frame<'f> {
    /// The first frame in `bytes`, and its whole length; `None` if it is not there completely.
    ///
    /// # Errors
    /// If no more bytes can make it a frame.
    pub fn first(bytes: &'f [u8]) -> Result<Option<(Self, usize)>, FrameError> {
        let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > MAX_FRAME_BYTES {
            return Err(FrameError::TooLong(length));
        }
        if length < HEAD_BYTES - 4 {
            return Err(FrameError::Malformed);
        }
        let Some(frame) = rest.get(..length) else { return Ok(None) };
        let mut id = [0; 4];
        id.copy_from_slice(&frame[1..5]);
        Ok(Some((Self { kind: frame[0], id: u32::from_be_bytes(id), items: &frame[5..] }, 4 + length)))
    }

    /// The items, in their order.
    ///
    /// # Errors
    /// Each item that does not fit is an error, and the last.
    pub fn items(self) -> impl Iterator<Item = Result<(u8, &'f [u8]), FrameError>> {
        let mut rest = self.items;
        std::iter::from_fn(move || {
            let (tag, after) = rest.split_first()?;
            let item = after.split_first_chunk::<4>().and_then(|(length, after)| {
                let length = u32::from_be_bytes(*length) as usize;
                after.split_at_checked(length)
            });
            match item {
                Some((item, after)) => {
                    rest = after;
                    Some(Ok((*tag, item)))
                }
                None => {
                    rest = &[];
                    Some(Err(FrameError::Malformed))
                }
            }
        })
    }
}

/// A frame that is being written at the end of a buffer.
pub struct Writer<'b> {
    buffer: &'b mut Vec<u8>,
    begin: usize,
}

impl<'b> Writer<'b> {
    /// Begins a frame.
    pub fn begin(buffer: &'b mut Vec<u8>, kind: u8, id: u32) -> Self {
        let begin = buffer.len();
        buffer.extend_from_slice(&[0; 4]);
        buffer.push(kind);
        buffer.extend_from_slice(&id.to_be_bytes());
        Self { buffer, begin }
    }

    /// Adds an item of several parts.
    pub fn item(&mut self, tag: u8, parts: &[&[u8]]) -> &mut Self {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let [a, b, c, d] = (length as u32).to_be_bytes();
        self.buffer.reserve(5 + length);
        self.buffer.extend_from_slice(&[tag, a, b, c, d]);
        parts.iter().for_each(|part| self.buffer.extend_from_slice(part));
        self
    }

    /// Adds an item unless it is empty.
    pub fn some(&mut self, tag: u8, bytes: &[u8]) -> &mut Self {
        if bytes.is_empty() { self } else { self.item(tag, &[bytes]) }
    }

    /// Writes the length.
    ///
    /// # Errors
    /// If the frame is too long; then it is not in the buffer.
    pub fn end(self) -> Result<(), FrameError> {
        let length = self.buffer.len() - self.begin - 4;
        if length > MAX_FRAME_BYTES {
            self.buffer.truncate(self.begin);
            return Err(FrameError::TooLong(length));
        }
        self.buffer[self.begin..self.begin + 4].copy_from_slice(&(length as u32).to_be_bytes());
        Ok(())
    }
}

/// Writes a frame that has no items.
pub fn bare(buffer: &mut Vec<u8>, kind: u8, id: u32) {
    Writer::begin(buffer, kind, id).end().expect("a head is shorter than the longest frame");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            frames in prop::collection::vec((any::<u8>(), any::<u32>(), prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..40)), 0..6)), 0..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = Vec::new();
            for (kind, id, items) in &frames {
                let mut writer = Writer::begin(&mut bytes, *kind, *id);
                for (tag, item) in items {
                    writer.item(*tag, &[&item[..item.len() / 2], &item[item.len() / 2..]]);
                }
                writer.end().unwrap();
            }
            let mut rest = &bytes[..];
            let mut read = Vec::new();
            while let Some((frame, length)) = Frame::first(rest).unwrap() {
                let items: Vec<_> = frame.items().map(|item| item.map(|(tag, item)| (tag, item.to_vec())).unwrap()).collect();
                read.push((frame.kind, frame.id, items));
                rest = &rest[length..];
            }
            prop_assert_eq!(read, frames);
            prop_assert!(rest.is_empty());
            // Half a frame is no frame, and no error.
            let cut = cut.index(bytes.len() + 1);
            prop_assert!(Frame::first(&bytes[..cut]).is_ok());
        }

        #[test]
        fn any_bytes_are_frames_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(Some((frame, length))) = Frame::first(&bytes) {
                prop_assert!(length <= bytes.len());
                prop_assert!(frame.items().count() <= bytes.len());
            }
        }
    }

    #[test]
    fn a_frame_has_a_longest_length() {
        let long = (MAX_FRAME_BYTES as u32 + 1).to_be_bytes();
        assert_eq!(Frame::first(&long), Err(FrameError::TooLong(MAX_FRAME_BYTES + 1)));
        assert_eq!(Frame::first(&[0, 0, 0, 4, 1, 0, 0, 0]), Err(FrameError::Malformed));
        let mut buffer = b"before".to_vec();
        let mut writer = Writer::begin(&mut buffer, kind::QUESTION, 1);
        writer.item(11, &[&vec![0; MAX_FRAME_BYTES]]);
        assert!(writer.end().is_err());
        assert_eq!(buffer, b"before");
    }
}
