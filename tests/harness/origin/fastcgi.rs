//! A FastCGI responder (FastCGI specification 1.0) that answers with its parameters and the
//! length and hash of its input, as JSON.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::{Map, Value, json};

use super::serve;
use crate::fnv::fnv;

const END_REQUEST: u8 = 3;
const PARAMETERS: u8 = 4;
const INPUT: u8 = 5;
const OUTPUT: u8 = 6;

/// Starts the responder and returns its address.
pub fn start() -> SocketAddr {
    serve(respond)
}

fn respond(mut stream: TcpStream) -> io::Result<()> {
    let (mut parameters, mut input) = (Vec::new(), Vec::new());
    loop {
        let (kind, content) = record(&mut stream)?;
        match kind {
            PARAMETERS => parameters.extend(content),
            INPUT if content.is_empty() => break,
            INPUT => input.extend(content),
            _ => {}
        }
    }
    let body = json!({"parameters": pairs(&parameters), "body_length": input.len(), "body_fnv": fnv(&input)});
    let output = format!("Content-Type: application/json\r\n\r\n{body}");
    write(&mut stream, OUTPUT, output.as_bytes())?;
    write(&mut stream, OUTPUT, b"")?;
    write(&mut stream, END_REQUEST, &[0; 8])
}

fn record(stream: &mut TcpStream) -> io::Result<(u8, Vec<u8>)> {
    let mut header = [0; 8];
    stream.read_exact(&mut header)?;
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let mut content = vec![0; length + usize::from(header[6])];
    stream.read_exact(&mut content)?;
    content.truncate(length);
    Ok((header[1], content))
}

fn write(stream: &mut TcpStream, kind: u8, content: &[u8]) -> io::Result<()> {
    let length = u16::try_from(content.len()).map_err(io::Error::other)?.to_be_bytes();
    stream.write_all(&[[1, kind, 0, 1, length[0], length[1], 0, 0].as_slice(), content].concat())
}

fn pairs(mut bytes: &[u8]) -> Value {
    let mut all = Map::new();
    while !bytes.is_empty() {
        let (name_length, value_length) = (length(&mut bytes), length(&mut bytes));
        let (name, rest) = bytes.split_at(name_length.min(bytes.len()));
        let (value, rest) = rest.split_at(value_length.min(rest.len()));
        bytes = rest;
        all.insert(String::from_utf8_lossy(name).into_owned(), String::from_utf8_lossy(value).into());
    }
    Value::Object(all)
}

/// Reads a length: one byte below 128, or four bytes with the top bit set.
fn length(bytes: &mut &[u8]) -> usize {
    let size = if bytes.first().is_some_and(|first| *first >= 128) { 4 } else { 1 };
    let (number, rest) = bytes.split_at(size.min(bytes.len()));
    *bytes = rest;
    number.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)) & 0x7fff_ffff
}
