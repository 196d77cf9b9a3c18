//! A file as the body of a request.

use std::fs::File;
use std::io::{self, Read as _};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, SizeHint};

use super::RequestBody;

/// Bytes that are read at a time.
const PIECE: usize = 256 << 10;

/// The body; its length is that of the file now.
pub(super) fn body(file: File) -> io::Result<RequestBody> {
    let left = file.metadata()?.len();
    Ok(FileBody { file, left }.boxed_unsync())
}

/// Reads where it is polled: a command has nothing else to do.
struct FileBody {
    file: File,
    left: u64,
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        if this.left == 0 {
            return Poll::Ready(None);
        }
        let mut piece = vec![0; PIECE.min(usize::try_from(this.left).unwrap_or(PIECE))];
        Poll::Ready(Some(this.file.read_exact(&mut piece).map(|()| {
            this.left -= piece.len() as u64;
            Frame::data(piece.into())
        })))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
