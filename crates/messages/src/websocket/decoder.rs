//! Frames of a client, from pieces of bytes as they come from the network.
//!
//! # Memory
//!
//! A message is gathered in one buffer that grows with what has come, not with what was announced, and at most to the
//! bound. It is freed when the caller asks for what comes after the message. Control frames come between the fragments of a
//! message; they have a place in the decoder itself.
//!
//! # Where the input is cut does not matter
//!
//! Each byte is judged in order, so that the same bytes give the same events and the same error, however they were cut;
//! the tests and the fuzz target `websocket` compare. `make interop-messages` compares with wsproto.
//!
//! A text of 80 bytes takes 70 to 140 ns, with the memory for it, and one of 64 KiB 4 to 8 µs (`cargo bench -p
//! weir-messages`, on two cores that other builds kept busy).

use super::error::ProtocolError;
use super::header::{FrameHeader, MAX_CONTROL_BYTES, MAX_HEADER_BYTES, Opcode};

/// What a client sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A message of text, checked to be UTF-8.
    Text(&'a [u8]),
    /// A message of bytes.
    Binary(&'a [u8]),
    /// To be answered by a pong with the same payload of at most 125 bytes.
    Ping(&'a [u8]),
    /// The answer to a ping, or a sign of life.
    Pong(&'a [u8]),
    /// The client closes the connection; to be answered by a close frame with the same code.
    Close {
        /// A code that may be sent; `None` if the client gave none.
        code: Option<u16>,
        /// Its reason, for people; may be empty.
        reason: &'a str,
    },
}

/// The state of one connection's input.
#[derive(Debug)]
pub struct Decoder {
    max_message_bytes: usize,
    state: State,
    header: [u8; MAX_HEADER_BYTES],
    header_length: u8,
    /// The payload of a control frame.
    control: [u8; MAX_CONTROL_BYTES],
    control_length: u8,
    /// The kind of the message whose fragments are being gathered.
    message_opcode: Option<Opcode>,
    message: Vec<u8>,
    /// The number of bytes of a text that are known to be UTF-8.
    valid: usize,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Reading a header.
    Header,
    /// Reading the payload; the number of bytes taken and left.
    Payload { header: FrameHeader, taken: usize, left: usize },
    /// A message was handed out, and is freed next.
    Delivered,
    /// The client has closed. What follows is dropped (section 5.5.1).
    Closed,
    /// Nothing after an error has a meaning.
    Failed(ProtocolError),
}

impl Decoder {
    /// A decoder of a new connection, for messages of at most this many bytes, their fragments together.
    #[must_use]
    pub fn new(max_message_bytes: usize) -> Self {
        Self {
            max_message_bytes,
            state: State::Header,
            header: [0; MAX_HEADER_BYTES],
            header_length: 0,
            control: [0; MAX_CONTROL_BYTES],
            control_length: 0,
            message_opcode: None,
            message: Vec::new(),
            valid: 0,
        }
    }

    /// Takes bytes from the front of `input` up to the end of the next event. `None` when all input is used up; only then
    /// is the last message freed, so call it until then.
    ///
    /// # Errors
    ///
    /// If the client breaks the protocol; from then on always. The connection is to be closed with
    /// [`close_code`](ProtocolError::close_code).
    pub fn next<'d>(&'d mut self, input: &mut &[u8]) -> Result<Option<Event<'d>>, ProtocolError> {
        match self.advance(input) {
            Ok(None) => Ok(None),
            Ok(Some(Opcode::Text)) => Ok(Some(Event::Text(&self.message))),
            Ok(Some(Opcode::Binary | Opcode::Continuation)) => Ok(Some(Event::Binary(&self.message))),
            Ok(Some(Opcode::Ping)) => Ok(Some(Event::Ping(self.control()))),
            Ok(Some(Opcode::Pong)) => Ok(Some(Event::Pong(self.control()))),
            Ok(Some(Opcode::Close)) => closing(self.control()).map(Some),
            Err(error) => {
                self.message = Vec::new();
                self.state = State::Failed(error);
                Err(error)
            }
        }
    }

    /// The bytes of heap memory that it holds, none between messages; for tests and fuzzing.
    #[doc(hidden)]
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.message.capacity()
    }

    /// Whether a message has begun and not ended, with its first fragment or a part of it; for tests and fuzzing.
    #[doc(hidden)]
    #[must_use]
    pub fn is_in_message(&self) -> bool {
        self.message_opcode.is_some()
    }

    fn control(&self) -> &[u8] {
        &self.control[..usize::from(self.control_length)]
    }

    /// Reads up to the end of a message or control frame, and returns its kind.
    fn advance(&mut self, input: &mut &[u8]) -> Result<Option<Opcode>, ProtocolError> {
        loop {
            let (header, taken, left) = match self.state {
                State::Failed(error) => return Err(error),
                State::Closed => {
                    self.message = Vec::new();
                    *input = &[];
                    return Ok(None);
                }
                State::Delivered => {
                    (self.message, self.valid, self.state) = (Vec::new(), 0, State::Header);
                    continue;
                }
                State::Header => {
                    let Some(header) = self.read_header(input)? else { return Ok(None) };
                    (header, 0, self.begin(&header)?)
                }
                State::Payload { header, taken, left } => (header, taken, left),
            };
            let (piece, rest) = input.split_at(left.min(input.len()));
            *input = rest;
            self.take(&header, piece, taken, left)?;
            let (taken, left) = (taken + piece.len(), left - piece.len());
            if left > 0 {
                self.state = State::Payload { header, taken, left };
                return Ok(None);
            }
            self.state = State::Header;
            if header.opcode == Opcode::Close {
                closing(self.control())?;
                self.state = State::Closed;
            }
            if header.opcode.is_control() {
                return Ok(Some(header.opcode));
            }
            if header.is_final {
                return self.end_message().map(Some);
            }
        }
    }

    fn read_header(&mut self, input: &mut &[u8]) -> Result<Option<FrameHeader>, ProtocolError> {
        while let Some((byte, rest)) = input.split_first() {
            *input = rest;
            self.header[usize::from(self.header_length)] = *byte;
            self.header_length += 1;
            if let Some(header) = FrameHeader::parse(&self.header[..usize::from(self.header_length)])? {
                self.header_length = 0;
                return Ok(Some(header));
            }
        }
        Ok(None)
    }

    /// Checks a frame against those before it, and returns the length of its payload.
    fn begin(&mut self, header: &FrameHeader) -> Result<usize, ProtocolError> {
        if header.opcode.is_control() {
            self.control_length = 0;
            return Ok(header.length as usize);
        }
        match (header.opcode, self.message_opcode) {
            (Opcode::Continuation, None) => return Err(ProtocolError::NothingToContinue),
            (Opcode::Continuation, Some(_)) => {}
            (_, Some(_)) => return Err(ProtocolError::Unfinished),
            (opcode, None) => self.message_opcode = Some(opcode),
        }
        let free = self.max_message_bytes - self.message.len();
        let length = usize::try_from(header.length).ok().filter(|length| *length <= free);
        length.ok_or(ProtocolError::TooLong { limit: self.max_message_bytes })
    }

    /// Stores a piece of payload without its mask. `taken` bytes of the frame came before it, and `left` begin with it.
    fn take(&mut self, header: &FrameHeader, piece: &[u8], taken: usize, left: usize) -> Result<(), ProtocolError> {
        let mut mask = header.mask;
        mask.rotate_left(taken % 4);
        if header.opcode.is_control() {
            let start = usize::from(self.control_length);
            let place = &mut self.control[start..start + piece.len()];
            place.copy_from_slice(piece);
            unmask(place, mask);
            self.control_length += piece.len() as u8;
            return Ok(());
        }
        let start = self.message.len();
        self.reserve(piece.len(), if header.is_final { start + left } else { self.max_message_bytes });
        self.message.extend_from_slice(piece);
        unmask(&mut self.message[start..], mask);
        if self.message_opcode == Some(Opcode::Text) {
            self.check_text()?;
        }
        Ok(())
    }

    /// Makes room for more bytes, for twice as much as there was if that is not beyond `most`.
    fn reserve(&mut self, more: usize, most: usize) {
        let length = self.message.len() + more;
        if length > self.message.capacity() {
            let wanted = length.max((2 * self.message.capacity()).min(most));
            self.message.reserve_exact(wanted - self.message.len());
        }
    }

    /// Checks what is new in a text. A character may be incomplete: it is checked again with the next piece.
    fn check_text(&mut self) -> Result<(), ProtocolError> {
        match std::str::from_utf8(&self.message[self.valid..]) {
            Ok(_) => self.valid = self.message.len(),
            Err(error) if error.error_len().is_some() => return Err(ProtocolError::Text),
            Err(error) => self.valid += error.valid_up_to(),
        }
        Ok(())
    }

    fn end_message(&mut self) -> Result<Opcode, ProtocolError> {
        let opcode = self.message_opcode.take().expect("a message has begun");
        if opcode == Opcode::Text && self.valid < self.message.len() {
            return Err(ProtocolError::Text);
        }
        self.state = State::Delivered;
        Ok(opcode)
    }
}

/// Removes a mask that begins with the first byte (section 5.3).
fn unmask(bytes: &mut [u8], mask: [u8; 4]) {
    let [a, b, c, d] = mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
}

/// The event of a close frame with this payload.
fn closing(payload: &[u8]) -> Result<Event<'_>, ProtocolError> {
    match payload {
        [] => Ok(Event::Close { code: None, reason: "" }),
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            if !may_be_sent(code) {
                return Err(ProtocolError::CloseCode);
            }
            let reason = std::str::from_utf8(reason).map_err(|_| ProtocolError::Text)?;
            Ok(Event::Close { code: Some(code), reason })
        }
        [_] => Err(ProtocolError::CloseCode),
    }
}

/// Codes of section 7.4 and of IANA's registry that may stand in a frame: 1004 is reserved, 1005, 1006 and 1015 describe
/// connections that ended without one.
fn may_be_sent(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}
