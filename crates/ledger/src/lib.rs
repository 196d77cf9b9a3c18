//! The ledger: always-on cost counters and the run-time switches, in files that every nginx
//! worker maps and that `weir cost`, `weir status` and `weir silence` read and write from
//! outside at any time.
//!
//! # Why mapped files
//!
//! nginx's shared memory has no name outside nginx, dies with the master and needs nginx's slab
//! allocator to be read. A mapped file costs the same per access (it is the page cache), can be
//! read by any process of the same user while nginx runs, hangs or lies dead after `kill -9`,
//! and needs no protocol. See `docs/adr/004-ledger-in-mapped-files.md`.
//!
//! # What keeps readers safe
//!
//! - A file gets its full length, with its blocks reserved, before it gets its name; it never
//!   shrinks. A new generation is a new file. So a mapping whose length was checked cannot fault.
//! - Magic, version and every size are checked on opening; a mismatch is an error with a remedy.
//! - Each cell has one writer, which adds by a relaxed load and a relaxed store: no locked
//!   instruction, no cache line shared between workers. Readers see each counter whole; two
//!   counters may come from slightly different moments.
//!
//! # Who may read and write
//!
//! The directory is 0700 and the files 0600, owned by the user who starts nginx's master (usually
//! root). Workers inherit the mappings over `fork` and never open a file, so they need no permissions.
//!
//! # How a writer uses it
//!
//! ```
//! # let dir = tempfile::tempdir().unwrap();
//! use weir_ledger::{Clock, Control, Entry, EntryKind, Ledger, Reserve};
//! // The master, once per accepted configuration (not for `nginx -t`):
//! let control = Control::open_or_create(dir.path())?;
//! let entry = Entry { kind: EntryKind::Rule, policy: "p".into(), id: "sqli".into(), plugin: "block".into(), rules: vec![] };
//! let generation = control.generation() + 1;
//! let ledger = Ledger::create(dir.path(), generation, "r1", &[entry], 1, 64, Reserve::Nothing)?;
//! control.set_generation(generation);
//! // Each worker, once:
//! let slot = control.claim_worker(std::process::id())?;
//! slot.set_revision("r1");
//! let (row, clock) = (ledger.row(0), Clock::calibrate());
//! row.attach();
//! // Each request; the times in every 64th only:
//! slot.requests.add(1);
//! row.request();
//! let start = clock.ticks();
//! let hit = true; // evaluate
//! row.add(0, hit);
//! row.time(0, clock.ticks() - start);
//! // The heartbeat:
//! slot.beat();
//! row.beat();
//! # Ok::<(), weir_ledger::LedgerError>(())
//! ```

mod bank;
mod clock;
mod control;
mod counter;
mod entry;
mod error;
mod file;
mod inspector;
mod ledger;
mod process;
mod report;
mod row;
mod share;
mod slot;
mod topics;
mod worker;

pub use bank::{BANK_ENTRIES, BANKS, NAMES_BYTES};
pub use clock::Clock;
pub use control::{Control, Follower};
pub use counter::Counter;
pub use entry::{Entry, EntryKind};
pub use error::LedgerError;
pub use inspector::{FAILURES, InspectorReport, InspectorSlot, MAX_INSPECTOR_SLOTS};
pub use ledger::{Ledger, MAX_ENTRIES, MAX_LEDGER_BYTES, Reserve};
pub use process::{cpu_ns, is_running};
pub use report::{EntryReport, Report};
pub use row::Row;
pub use topics::{MAX_TOPICS_SLOTS, TopicsCount, TopicsCounts, TopicsSlot};
pub use worker::{MAX_WORKERS, OUTCOMES, WorkerReport, WorkerSlot};
