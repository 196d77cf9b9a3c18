//! `curl`, for TLS and HTTP/2.

use std::process::Command;

use super::{Response, find};

/// Runs `curl -isk` with these arguments and returns the last response.
///
/// # Panics
/// If curl is missing or fails.
#[must_use]
pub fn curl(arguments: &[&str]) -> Response {
    let run =
        Command::new("curl").args(["-isk", "--max-time", "20"]).args(arguments).output().expect("curl is installed");
    assert!(run.status.success(), "curl {arguments:?}: {} {}", run.status, String::from_utf8_lossy(&run.stderr));
    let mut rest = run.stdout.as_slice();
    loop {
        let end = find(rest, b"\r\n\r\n").expect("curl -i shows a header") + 4;
        let mut response = Response::parse_head(&rest[..end]);
        rest = &rest[end..];
        let length = response.header("content-length").and_then(|length| length.parse::<usize>().ok()).unwrap_or(0);
        let next = if response.status < 200 { rest } else { rest.get(length..).unwrap_or_default() };
        if !next.starts_with(b"HTTP/") {
            response.body = rest.to_vec();
            return response;
        }
        rest = next;
    }
}
