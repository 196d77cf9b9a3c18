//! The beginning of a connection: the client names the protocol and its secret, the service its detectors.

use std::time::Duration;

use ring::digest::{SHA256, digest};
use tokio::io::AsyncRead;
use tokio::sync::mpsc;
use weir_inspect::frame::{Frame, VERSION, hello, kind};

use super::input::{Broken, Input, Limits};
use super::writer::Reply;

/// How long a client may take to say hello.
const HELLO: Duration = Duration::from_secs(5);
/// Longest hello.
const MAX_HELLO_BYTES: usize = 4 << 10;

/// Waits for the client's hello and answers it; whether there was one. Before that nothing is said, and little is read.
pub(super) async fn exchange<S: AsyncRead>(
    input: &mut Input<S>,
    limits: &Limits,
    detectors: &[String],
    replies: &mpsc::Sender<Reply>,
) -> Result<bool, Broken> {
    let length = match tokio::time::timeout(HELLO, first(input)).await {
        Ok(length) => length?,
        Err(_) => return Err(Broken::Hello("no hello in time")),
    };
    let Some(length) = length else { return Ok(false) };
    if let Some((frame, _)) = Frame::first(input.unread())? {
        check(frame, limits.token.as_deref())?;
    }
    input.forget(length);
    let _ = replies.send(Reply::Hello(detectors.to_vec())).await;
    Ok(true)
}

/// Length of the first frame; nothing if the client leaves before it is complete.
async fn first<S: AsyncRead>(input: &mut Input<S>) -> Result<Option<usize>, Broken> {
    loop {
        let begin = input.unread();
        let announced = begin.first_chunk().map_or(0, |length: &[u8; 4]| u32::from_be_bytes(*length) as usize);
        if announced > MAX_HELLO_BYTES {
            return Err(Broken::Hello("not Weir's protocol"));
        }
        if let Some((_, length)) = Frame::first(begin)? {
            return Ok(Some(length));
        }
        if !input.more().await? {
            return Ok(None);
        }
    }
}

fn check(frame: Frame<'_>, token: Option<&[u8]>) -> Result<(), Broken> {
    if frame.kind != kind::HELLO {
        return Err(Broken::Hello("a connection begins with a hello"));
    }
    let (mut version, mut given) = (None, None);
    for item in frame.items() {
        match item? {
            (hello::VERSION, bytes) => version = Some(bytes),
            (hello::TOKEN, bytes) => given = Some(bytes),
            _ => {} // of a newer gateway
        }
    }
    if version != Some(VERSION) {
        return Err(Broken::Hello("another version of the protocol"));
    }
    match token {
        Some(token) if !is_same(token, given.unwrap_or_default()) => Err(Broken::Hello("wrong token")),
        Some(_) | None => Ok(()),
    }
}

/// Whether two secrets are the same. Their hashes are compared: how long that takes says nothing about either.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    digest(&SHA256, one).as_ref() == digest(&SHA256, other).as_ref()
}
