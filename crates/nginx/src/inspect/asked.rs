//! A question on its way to an endpoint.

use nginx_sys::ngx_http_request_t;
use weir_inspect::{Failure, Inspector, adapter, own};

/// A question to be sent.
#[derive(Clone)]
pub struct Asked {
    /// The request.
    pub request: *mut ngx_http_request_t,
    /// The question's number.
    pub number: usize,
    /// Number of the service.
    pub service: u64,
    /// The endpoint that has just failed.
    pub except: Option<usize>,
    /// How often it has been asked before.
    pub tries: u8,
    /// When the answer is too late.
    pub deadline_ms: u64,
    /// When it was first asked, in ticks.
    pub began: u64,
    /// Under what the answer is remembered.
    pub key: Vec<u8>,
    /// Now.
    pub now_ms: u64,
}

/// Appends a question in the inspector's protocol.
///
/// # Errors
/// If it is too long.
pub fn write(
    buffer: &mut Vec<u8>,
    id: u32,
    authority: &str,
    inspector: &Inspector,
    question: &weir_inspect::Question<'_>,
) -> Result<(), Failure> {
    if inspector.protocol.is_pipelined() {
        return own::write_question(buffer, id, question).map_err(|_| Failure::TooLarge);
    }
    adapter::write(buffer, inspector, authority, question);
    Ok(())
}
