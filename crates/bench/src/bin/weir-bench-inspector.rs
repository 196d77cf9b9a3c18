//! The service that gateways ask in the scenario `inspect`: HTTP/1.1 and Weir's own frames on one port.
//!
//!     weir-bench-inspector PORT now|never|MILLISECONDS WORD
//!
//! It lets every request pass, at once, after so many milliseconds or never, but those whose question has the word in it.
//! A connection's first byte tells the protocol: a frame begins with 0. It is a process of its own, so that its CPU time is
//! not the gateway's.

use std::io::ErrorKind;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use weir_inspect::frame::{self, Frame, Writer, hello, kind};
use weir_inspect::{Advice, Answer, own};

/// Most bytes that are read at once.
const READ_BYTES: usize = 64 << 10;
const PASS: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const REFUSE: &[u8] = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";

/// When a question is answered; `None` if never.
type Delay = Option<Duration>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [port, when, word] = &arguments[..] else { return usage() };
    let delay = match when.as_str() {
        "now" => Some(Duration::ZERO),
        "never" => None,
        ms => match ms.parse() {
            Ok(ms) => Some(Duration::from_millis(ms)),
            Err(_) => return usage(),
        },
    };
    let Ok(port) = port.parse() else { return usage() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    match runtime.and_then(|runtime| runtime.block_on(serve(port, delay, word))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weir-bench-inspector: port {port}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: weir-bench-inspector PORT now|never|MILLISECONDS WORD");
    ExitCode::from(2)
}

async fn serve(port: u16, delay: Delay, word: &str) -> std::io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let word: Arc<str> = word.into();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let word = Arc::clone(&word);
        // A connection that breaks or does not speak either protocol is closed.
        tokio::spawn(async move { _ = connection(Arc::new(stream), delay, word.as_bytes()).await });
    }
}

async fn connection(stream: Arc<TcpStream>, delay: Delay, word: &[u8]) -> std::io::Result<()> {
    let (mut input, mut buffer) = (Vec::new(), vec![0; READ_BYTES]);
    let mut is_greeted = false;
    loop {
        stream.readable().await?;
        let read = match stream.try_read(&mut buffer) {
            Ok(0) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            read => read?,
        };
        input.extend_from_slice(&buffer[..read]);
        let mut output = Vec::new();
        let used = if input[0] == 0 {
            if !std::mem::replace(&mut is_greeted, true) {
                greet(&mut output);
            }
            frames(&input, word, &mut output)?
        } else {
            requests(&input, word, &mut output)
        };
        input.drain(..used);
        match delay.filter(|_| !output.is_empty()) {
            None => {}
            Some(Duration::ZERO) => write(&stream, &output).await?,
            Some(delay) => {
                let stream = Arc::clone(&stream);
                tokio::spawn(async move {
                    // The runtime's own timer rounds up to the next millisecond.
                    _ = tokio::task::spawn_blocking(move || std::thread::sleep(delay)).await;
                    _ = write(&stream, &output).await;
                });
            }
        }
    }
}

async fn write(stream: &TcpStream, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            written => bytes = &bytes[written?..],
        }
    }
    Ok(())
}

fn greet(output: &mut Vec<u8>) {
    let mut greeting = Writer::begin(output, kind::HELLO, 0);
    greeting.item(hello::VERSION, &[frame::VERSION]);
    greeting.end().expect("a greeting is shorter than the longest frame");
}

/// Answers the questions that are there completely; returns how many bytes they are.
fn frames(input: &[u8], word: &[u8], output: &mut Vec<u8>) -> std::io::Result<usize> {
    let mut at = 0;
    while let Some((frame, length)) = Frame::first(&input[at..]).map_err(std::io::Error::other)? {
        if frame.kind == kind::QUESTION {
            let advice = if has(&input[at..at + length], word) { Advice::Refuse } else { Advice::Pass };
            let answer = Answer { advice, ..Answer::default() };
            own::write_answer(output, frame.id, &answer).map_err(std::io::Error::other)?;
        }
        at += length;
    }
    Ok(at)
}

/// Answers the requests that are there completely; they have no body.
fn requests(input: &[u8], word: &[u8], output: &mut Vec<u8>) -> usize {
    let mut at = 0;
    while let Some(end) = memchr::memmem::find(&input[at..], b"\r\n\r\n") {
        let length = end + 4;
        output.extend_from_slice(if has(&input[at..at + length], word) { REFUSE } else { PASS });
        at += length;
    }
    at
}

fn has(question: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(question, word).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_questions_are_answered_and_the_word_refuses() {
        let http = b"GET /auth HTTP/1.1\r\nX-Original-URI: /stop\r\n\r\nGET /auth HTTP/1.1\r\n\r\nGET ";
        let mut output = Vec::new();
        assert_eq!(requests(http, b"/stop", &mut output), http.len() - 4);
        assert_eq!(output, [REFUSE, PASS].concat());
    }
}
