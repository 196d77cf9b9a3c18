//! Reading server-sent events (HTML living standard, 9.2.6): only what control sends, `data` of one line in JSON.

use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;

use super::ClientError;

/// The longest line.
const MAX_LINE: usize = 64 << 20;

pub(super) async fn read(mut body: Incoming, see: &mut dyn FnMut(&Value)) -> Result<(), ClientError> {
    let mut pending: Vec<u8> = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        pending.extend_from_slice(&data);
        let mut start = 0;
        while let Some(length) = pending[start..].iter().position(|byte| *byte == b'\n') {
            let line = &pending[start..start + length];
            if let Some(data) = line.strip_prefix(b"data:") {
                let event = serde_json::from_slice(data).map_err(|error| ClientError::Answer(error.to_string()))?;
                see(&event);
            }
            start += length + 1;
        }
        pending.drain(..start);
        if pending.len() > MAX_LINE {
            return Err(ClientError::Answer("a line of the stream is too long".to_owned()));
        }
    }
    Ok(())
}
