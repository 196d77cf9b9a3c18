//! Participants of a region, and messages as receivers see them.

/// A participant of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// The worker with this number (`ngx_worker`), from 0.
    Worker(u16),
    /// The control daemon.
    Control,
}

/// The subject of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Topic(pub u16);

impl Topic {
    /// A worker refuses a revision: 8 bytes of revision (little endian), then the reason in UTF-8.
    pub const REFUSED: Topic = Topic(1);
    /// A worker has taken a member out; for the other workers.
    pub const EJECT: Topic = Topic(2);
    /// A request for a reply, also used by measurements.
    pub const PING: Topic = Topic(3);
    /// What a worker has left out of its state, in UTF-8, a line for each resource; empty if nothing.
    pub const LEFT_OUT: Topic = Topic(5);
}

/// The recipient of a request.
#[derive(Clone, Copy, Debug)]
pub enum Recipient<'a> {
    /// This participant.
    One(Address),
    /// The worker that has claimed this key.
    Owner(&'a [u8]),
}

/// Names a request until its reply: the incarnation of the sender (16 bits) and a serial number (48 bits), so that a
/// worker does not take the answer to a question of its dead predecessor for one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub u64);

impl RequestId {
    const SERIAL_BITS: u32 = 48;

    pub(crate) fn new(incarnation: u32, serial: u64) -> Self {
        Self(u64::from(incarnation) << Self::SERIAL_BITS | serial & ((1 << Self::SERIAL_BITS) - 1))
    }

    /// Whether this is a request of the given incarnation.
    pub(crate) fn is_of(self, incarnation: u32) -> bool {
        self.0 >> Self::SERIAL_BITS == u64::from(incarnation & 0xffff)
    }
}

/// Whether a message is a request, a reply or neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// No reply is expected.
    Oneway,
    /// A reply is expected, through [`reply`](crate::Endpoint::reply).
    Request(RequestId),
    /// The reply to this request.
    Reply(RequestId),
}

/// A message during its delivery; its bytes lie in the ring until the handler returns.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The sender.
    pub from: Address,
    /// Request, reply or neither.
    pub kind: MessageKind,
    /// The subject.
    pub topic: Topic,
    /// The key whose owner it was sent to; empty if it was sent to an address. The owner table compares hashes of
    /// 64 bits, so a receiver that must be certain compares this.
    pub key: &'a [u8],
    /// The message itself.
    pub payload: &'a [u8],
}

impl Received<'_> {
    /// A ticket to reply with later, when the message itself is gone. None if it is not a request.
    pub fn ticket(&self) -> Option<Ticket> {
        match self.kind {
            MessageKind::Request(id) => Some(Ticket { to: self.from, id, topic: self.topic }),
            MessageKind::Oneway | MessageKind::Reply(_) => None,
        }
    }
}

/// A request that awaits its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub(crate) to: Address,
    pub(crate) id: RequestId,
    pub(crate) topic: Topic,
}
