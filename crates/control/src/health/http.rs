//! A minimal HTTP/1.1 client: requests a path and reads the status.
//!
//! A health check needs three digits of an answer from a server that may be broken, so everything it sends is bounded and
//! only its first line is parsed. A full client has more that can go wrong.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Longest first line of a response, in bytes.
const MAX_LINE: usize = 1024;

/// How many bytes of the rest are read, and for how long: closing a connection with unread bytes resets it, which
/// servers write to their logs.
const MAX_REST: usize = 64 << 10;
const REST_TIME: Duration = Duration::from_millis(100);

/// Requests a path and returns the status.
pub(super) async fn get<S>(mut stream: S, host: &str, path: &str) -> Result<u16, String>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if [host, path].iter().any(|text| text.bytes().any(|byte| byte <= b' ' || byte == 0x7F)) {
        return Err("the path or the host has a character that cannot stand in a request".to_owned());
    }
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: weir-health\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.map_err(|error| error.to_string())?;
    stream.flush().await.map_err(|error| error.to_string())?;
    let mut answer = Vec::with_capacity(MAX_LINE);
    while !answer.contains(&b'\n') {
        let mut part = (&mut stream).take((MAX_LINE - answer.len()) as u64);
        match part.read_buf(&mut answer).await {
            Err(error) => return Err(error.to_string()),
            Ok(0) if answer.len() >= MAX_LINE => return Err("the first line of the answer does not end".to_owned()),
            Ok(0) => return Err("the connection was closed without an answer".to_owned()),
            Ok(_) => {}
        }
    }
    let status = status(&answer).ok_or_else(|| "the answer is not HTTP/1".to_owned())?;
    let mut rest = tokio::io::sink();
    let mut body = stream.take(MAX_REST as u64);
    let _ = tokio::time::timeout(REST_TIME, tokio::io::copy(&mut body, &mut rest)).await;
    Ok(status)
}

/// The status in the first line of an answer (RFC 9112, section 4).
fn status(answer: &[u8]) -> Option<u16> {
    let rest = answer.strip_prefix(b"HTTP/1.")?;
    let [minor, b' ', digits @ ..] = rest else { return None };
    let [a, b, c, end, ..] = digits else { return None };
    let digits = [minor, a, b, c];
    if !digits.iter().all(|digit| digit.is_ascii_digit()) || !matches!(end, b' ' | b'\r' | b'\n') {
        return None;
    }
    Some([a, b, c].iter().fold(0, |value, digit| value * 10 + u16::from(*digit - b'0')))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn statuses_are_read() {
        for (answer, expected) in [
            ("HTTP/1.1 200 OK\r\n", Some(200)),
            ("HTTP/1.0 503\r\n", Some(503)),
            ("HTTP/1.1 204 \r\n", Some(204)),
            ("HTTP/2 200\r\n", None),
            ("HTTP/1.1 20\r\n", None),
            ("HTTP/1.1 2000 OK\r\n", None),
            ("HTTP/1.x 200 OK\r\n", None),
            ("\r\n", None),
        ] {
            assert_eq!(status(answer.as_bytes()), expected, "{answer:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_status_of_three_digits_or_none(answer in prop::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(status(&answer).is_none_or(|status| status < 1000));
        }
    }

    #[tokio::test]
    async fn answers_without_end_or_without_sense_are_errors() {
        for (answer, expected) in [
            ("x".repeat(5000), "the first line of the answer does not end"),
            (String::new(), "the connection was closed without an answer"),
            ("SSH-2.0-x\r\n".to_owned(), "the answer is not HTTP/1"),
        ] {
            let (ours, mut theirs) = tokio::io::duplex(8192);
            theirs.write_all(answer.as_bytes()).await.unwrap();
            let server = tokio::spawn(async move {
                let mut asked = [0; 512];
                let _ = theirs.read(&mut asked).await;
            });
            assert_eq!(get(ours, "a", "/").await.unwrap_err(), expected);
            server.await.unwrap();
        }
        assert!(get(tokio::io::empty(), "a", "/x\r\ny").await.is_err());
    }
}
