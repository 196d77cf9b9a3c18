//! Messages between control and workers and from worker to worker, and the journal that carries the policy.
//!
//! Two mapped files, both made before the workers are forked and both readable without another process. Workers write to
//! the region, but have no descriptor of it, and have the journal for reading only: nothing in the region is trusted, see
//! `docs/adr/015-workers-are-not-trusted.md`.
//!
//! - A [`Region`] holds a ring for each ordered pair of participants, a slot for each, and the owner table. An
//!   [`Endpoint`] is one participant's view of it.
//! - The [journal](Writer) holds the policy: a base and the changes since, in order. A worker that starts, or starts
//!   again, reads it from the base on; control need not be there.
//!
//! No participant ever waits for another: a message, an acknowledgement and a commit become visible with one atomic store, so a
//! process that is killed in the middle of a write leaves nothing that others could see, and no lock. A *bell* wakes the
//! receiver's event loop. The measurements and what lost are in `docs/adr/008-bus.md`.

mod address;
mod bell;
mod broadcast;
mod endpoint;
mod error;
mod journal;
mod key;
mod layout;
mod limits;
mod owner;
mod process;
mod region;
mod ring;
mod slot;
pub mod streams;

pub use address::{Address, MessageKind, Received, Recipient, RequestId, Ticket, Topic};
pub use bell::{ControlBell, Ringer};
pub use broadcast::Broadcast;
pub use endpoint::Endpoint;
pub use error::{BusError, OwnerError, SendError};
pub use journal::{Frame, JournalError, Place, Read, Reader, Writer, journal_format};
pub use limits::{BATCH, DELIVERIES_MAX, FRAME_MAX, MESSAGE_MAX, OWNERS_MAX, PEERS_BYTES, RING_BYTES, WORKERS_MAX};
pub use region::{Region, ringers_without_region};
pub use slot::{Counts, Slot, State};
