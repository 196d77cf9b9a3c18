//! From a change that somebody wants to one that every worker has.
//!
//! One task does it all, so that changes have an order without a lock. It takes all changes that are waiting at once and
//! makes them one group: one commit of SQLite, one append to the journal, one ring of the bells; each change is still a
//! revision of its own, and one that is not valid is answered by itself. It does not wait for the workers before it takes
//! the next group: their acknowledgements come in by the bell, and answer all changes up to the revision they have.
//!
//! What has to be compiled goes through the sandbox first, one change at a time, while the others go on; it is checked
//! against the state once more when its turn comes.

mod acknowledge;
mod bell;
pub(crate) mod captured;
mod certificates;
mod commit;
mod directory;
mod files;
mod heavy;
mod in_flight;
mod kept;
pub(crate) mod lines;
mod publisher;
mod queue;
mod repeated;
mod runtime;
mod scoped;
mod snapshots;
mod task;
mod undo;
mod verification;
mod waiting;

pub(crate) use publisher::Publisher;
pub use queue::{Answer, Operation, Queue, Refresh, Submission, Submitted, Wait, WorkerResult};
