//! Changes whose answer may get lost: control is killed or restarted, or a connection breaks, after a request was sent.
//!
//! Every change has an idempotency key, so that it can be sent again and is made once. If control does not come back in
//! time, whether the change was made is unknown, which is told apart from a failure.

use std::time::{Duration, Instant};

use serde_json::Value;
use weir_control::client::{Answer, Client, ClientError, Method};

use crate::style::{Stream, Style};

/// How long a change is sent again: a restart of control takes a second, or some with a large state.
const PATIENCE: Duration = Duration::from_secs(15);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(200);

/// Why there is no answer.
pub(super) enum NoAnswer {
    /// The request was not sent: nothing was changed.
    NotSent(ClientError),
    /// The request was sent, and may have been processed.
    Unknown(String),
}

/// Sends a change until it is answered.
pub(super) async fn send(
    client: &Client,
    (method, path): (Method, &str),
    body: Option<&Value>,
    key: &str,
) -> Result<Answer, NoAnswer> {
    let end = Instant::now() + PATIENCE;
    let mut is_told = false;
    loop {
        let reason = match client.call_with(method, path, body, &[("idempotency-key", key)]).await {
            Ok(answer) if answer.body["in_progress"] == true => {
                "an earlier attempt is still being processed".to_owned()
            }
            Ok(answer) => return Ok(answer),
            Err(error @ (ClientError::Connect(_) | ClientError::Target(_) | ClientError::Request(_))) if !is_told => {
                return Err(NoAnswer::NotSent(error));
            }
            Err(error) => error.to_string(),
        };
        if !std::mem::replace(&mut is_told, true) {
            let style = Style::of(Stream::Err);
            eprintln!("{} no answer yet ({reason}); asking again", style.yellow("weir:"));
        }
        if Instant::now() >= end {
            return Err(NoAnswer::Unknown(reason));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// A new key: 128 random bits.
pub(super) fn new_key() -> std::io::Result<String> {
    use std::io::Read as _;
    let mut random = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The command that asks what became of a change: the one that was typed, with what has to be added.
pub(super) fn command(arguments: impl Iterator<Item = String>, added: &[String]) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte);
    let quoted = |argument: String| match argument.bytes().all(is_plain) && !argument.is_empty() {
        true => argument,
        false => format!("'{}'", argument.replace('\'', r"'\''")),
    };
    let words = std::iter::once("weir".to_owned()).chain(arguments.skip(1)).chain(added.iter().cloned());
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let arguments = ["/usr/bin/weir", "put", "sites/a", "{hosts: ['a b']}"].map(str::to_owned);
        let added = ["--idempotency-key".to_owned(), "0f".to_owned()];
        let want = r"weir put sites/a '{hosts: ['\''a b'\'']}' --idempotency-key 0f";
        assert_eq!(command(arguments.into_iter(), &added), want);
        assert_ne!(new_key().expect("random bits"), new_key().expect("random bits"));
    }
}
