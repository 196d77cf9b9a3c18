//! Who takes part, and what a message is to its receiver.

/// A participant of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// The worker with this number (`ngx_worker`), from 0.
    Worker(u16),
    /// The control daemon.
    Control,
}

/// What a message is about. The bus itself reserves the topics below [`Topic::FIRST_FREE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Topic(pub u16);

impl Topic {
    /// A worker refuses a revision: 8 bytes of revision (little endian), then the reason in UTF-8.
    pub const REFUSED: Topic = Topic(1);
    /// What a worker found out about the health of a member, to the other workers.
    pub const EJECT: Topic = Topic(2);
    /// Is there anyone? Measurements use it, too.
    pub const PING: Topic = Topic(3);
    /// Totals of the ledger.
    pub const LEDGER: Topic = Topic(4);
    /// The first topic that is free for plugins.
    pub const FIRST_FREE: Topic = Topic(16);
}

/// To whom a request goes.
#[derive(Clone, Copy, Debug)]
pub enum To<'a> {
    /// To this participant.
    One(Address),
    /// To the worker that has claimed this key.
    Owner(&'a [u8]),
}

/// Names a request until its reply: the incarnation of who asks (16 bits) and a serial number (48 bits), so that a
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

/// What a message wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No answer.
    Oneway,
    /// An answer, through [`reply`](crate::Endpoint::reply).
    Request(RequestId),
    /// It is the answer to this request.
    Reply(RequestId),
}

/// A message in the receiver's hands; its bytes lie in the ring until the handler returns.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Who sent it.
    pub from: Address,
    /// What it wants.
    pub kind: Kind,
    /// What it is about.
    pub topic: Topic,
    /// The key whose owner it was sent to; empty if it was sent to an address. The owner table compares hashes of
    /// 64 bits, so a receiver that must be certain compares this.
    pub key: &'a [u8],
    /// Its bytes.
    pub payload: &'a [u8],
}

impl Received<'_> {
    /// What is needed to reply later, when the message itself is gone. None if it is no request.
    pub fn ticket(&self) -> Option<Ticket> {
        match self.kind {
            Kind::Request(id) => Some(Ticket { to: self.from, id, topic: self.topic }),
            Kind::Oneway | Kind::Reply(_) => None,
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
