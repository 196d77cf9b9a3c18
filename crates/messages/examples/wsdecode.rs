//! Decodes WebSocket frames for comparison with other implementations (`make interop-messages`).
//!
//! Each line of the input is one connection: pieces of bytes in hexadecimal, between spaces. Each line of the output has the
//! events of that connection, and at the end `error:` with the code that it is closed with.

use std::fmt::Write as _;
use std::io::{BufRead as _, Write as _};

use weir_messages::websocket::{Decoder, Event};

fn main() -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let pieces: Vec<Vec<u8>> = line?.split_whitespace().map(from_hex).collect();
        writeln!(out, "{}", events(&pieces))?;
    }
    out.flush()
}

fn events(pieces: &[Vec<u8>]) -> String {
    let mut decoder = Decoder::new(usize::MAX);
    let mut shown = Vec::new();
    for piece in pieces {
        let mut rest = &piece[..];
        loop {
            match decoder.next(&mut rest) {
                Ok(None) => break,
                Ok(Some(event)) => shown.push(show(event)),
                Err(error) => {
                    shown.push(format!("error:{}", error.close_code()));
                    return shown.join(" ");
                }
            }
        }
    }
    shown.join(" ")
}

fn show(event: Event<'_>) -> String {
    match event {
        Event::Text(text) => format!("text:{}", hex(text)),
        Event::Binary(bytes) => format!("binary:{}", hex(bytes)),
        Event::Ping(bytes) => format!("ping:{}", hex(bytes)),
        Event::Pong(bytes) => format!("pong:{}", hex(bytes)),
        Event::Close { code, reason } => format!("close:{}:{}", code.unwrap_or(1005), hex(reason.as_bytes())),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("memory takes all");
        text
    })
}

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("hexadecimal digits") as u8;
    text.as_bytes().as_chunks::<2>().0.iter().map(|[high, low]| digit(*high) << 4 | digit(*low)).collect()
}
