//! What one worker process has for itself: its counters, its clock, its random numbers, its
//! arenas.
//!
//! nginx workers are single-threaded and this module never runs on nginx's thread pools, so the
//! state is a plain static with cells: a thread-local in a loaded library costs a call per access.

use std::cell::{Cell, RefCell};

use bumpalo::Bump;
use nginx_sys::ngx_cycle_t;
use weir_engine::Verdict;
use weir_ledger::{BANKS, Clock, Control, Ledger, Row, WorkerSlot};
use weir_log::Timestamps;

use crate::log::LogKind;
use crate::meter::Timing;
use crate::random::Random;

/// Arenas kept for the next requests: more than a worker has requests in evaluation at a time;
/// long-lived ones (WebSocket, downloads) get a fresh one.
const MAX_ARENAS: usize = 256;

/// An arena that grew beyond this is given back to the system: rare large bodies must not pin
/// memory for ever.
const MAX_ARENA_BYTES: usize = 256 * 1024;

/// The initial size of an arena: enough for the view of a usual request, in a page with what bumpalo and the heap add. One
/// that has grown keeps its size for the next requests. Subscribers keep theirs as long as they are connected: with 8 KiB,
/// for which bumpalo takes three pages, each took 3 KB more, and with 2 KiB, where a usual request needs a second piece,
/// 2 KB more (`make bench SCENARIO=messages`).
const ARENA_BYTES: usize = 4096 - 64;

struct Worker {
    cycle: Cell<*mut ngx_cycle_t>,
    pid: Cell<u64>,
    clock: Cell<Option<Clock>>,
    control: Cell<Option<&'static Control>>,
    slot: Cell<Option<&'static WorkerSlot>>,
    ledger: Cell<Option<&'static Ledger>>,
    row: Cell<Option<Row<'static>>>,
    banks: Cell<[Option<Row<'static>>; BANKS]>,
    random: Cell<Random>,
    timestamps: Timestamps,
    until_sample: Cell<u32>,
    #[expect(clippy::vec_box, reason = "transactions refer to their arena, which has to keep its address")]
    arenas: RefCell<Vec<Box<Bump>>>,
}

// SAFETY: one thread per process ever touches it, see above.
unsafe impl Sync for Worker {}

static WORKER: Worker = Worker {
    cycle: Cell::new(std::ptr::null_mut()),
    pid: Cell::new(0),
    clock: Cell::new(None),
    control: Cell::new(None),
    slot: Cell::new(None),
    ledger: Cell::new(None),
    row: Cell::new(None),
    banks: Cell::new([None; BANKS]),
    random: Cell::new(Random::unseeded()),
    timestamps: Timestamps::new(),
    until_sample: Cell::new(0),
    arenas: RefCell::new(Vec::new()),
};

/// Starts the worker's life in `cycle`.
pub fn start(
    cycle: *mut ngx_cycle_t,
    control: Option<&'static Control>,
    slot: Option<&'static WorkerSlot>,
    ledger: Option<(&'static Ledger, usize)>,
) {
    WORKER.cycle.set(cycle);
    WORKER.pid.set(std::process::id().into());
    weir_engine::lock::keep_process_id();
    WORKER.clock.set(Some(Clock::calibrate()));
    WORKER.control.set(control);
    WORKER.slot.set(slot);
    WORKER.ledger.set(ledger.map(|(ledger, _)| ledger));
    WORKER.row.set(ledger.map(|(ledger, number)| ledger.row(number)));
    WORKER.random.set(Random::seeded());
}

/// The cycle that the worker serves, or nginx's current one before.
pub fn cycle() -> *mut ngx_cycle_t {
    let cycle = WORKER.cycle.get();
    // SAFETY: nginx keeps ngx_cycle pointing to a cycle.
    if cycle.is_null() { unsafe { nginx_sys::ngx_cycle } } else { cycle }
}

/// The worker's process id.
pub fn pid() -> u64 {
    WORKER.pid.get()
}

/// The control file.
pub fn control() -> Option<&'static Control> {
    WORKER.control.get()
}

/// Whether everything is to pass untouched: the one load that silence costs.
#[inline]
pub fn silenced() -> bool {
    WORKER.control.get().is_some_and(Control::silenced)
}

/// The log level set at run time, or 0.
#[inline]
pub fn log_level() -> u32 {
    WORKER.control.get().map_or(0, Control::log_level)
}

/// The time in ticks; 0 before the worker has started.
#[inline]
pub fn ticks() -> u64 {
    WORKER.clock.get().map_or(0, |clock| clock.ticks())
}

/// Ticks in nanoseconds.
#[inline]
pub fn ns(ticks: u64) -> u64 {
    WORKER.clock.get().map_or(0, |clock| clock.ns(ticks))
}

/// The worker's cells of the ledger.
#[inline]
pub fn row() -> Option<Row<'static>> {
    WORKER.row.get()
}

/// The ledger.
pub fn ledger() -> Option<&'static Ledger> {
    WORKER.ledger.get()
}

/// The worker's cells in a bank of the ledger.
#[inline]
pub fn bank(bank: u8) -> Option<Row<'static>> {
    WORKER.banks.get()[usize::from(bank) % BANKS]
}

/// Takes a bank's cells, once policies count in them.
pub fn set_bank(bank: u8, row: Row<'static>) {
    let mut banks = WORKER.banks.get();
    banks[usize::from(bank) % BANKS] = Some(row);
    WORKER.banks.set(banks);
}

/// The worker's counters.
#[inline]
pub fn slot() -> Option<&'static WorkerSlot> {
    WORKER.slot.get()
}

/// 128 random bits.
#[inline]
pub fn random() -> [u64; 2] {
    let mut random = WORKER.random.get();
    let bits = [random.next(), random.next()];
    WORKER.random.set(random);
    bits
}

/// The writer of times in the worker's logs.
#[inline]
pub fn timestamps() -> &'static Timestamps {
    &WORKER.timestamps
}

/// How the next request is metered: one in `every` is timed.
#[inline]
pub fn next_timing(every: u32) -> Timing {
    let left = WORKER.until_sample.get();
    WORKER.until_sample.set(if left == 0 { every.max(1) - 1 } else { left - 1 });
    if left == 0 { Timing::Timed } else { Timing::Counted }
}

/// Books time spent in Weir.
#[inline]
pub fn spent(ticks: u64) {
    if let (Some(slot), Some(clock)) = (WORKER.slot.get(), WORKER.clock.get()) {
        slot.add_weir_time(&clock, ticks);
    }
}

/// Counts a client request.
#[inline]
pub fn count_request() {
    if let Some(slot) = slot() {
        slot.requests.add(1);
    }
    if let Some(row) = row() {
        row.request();
    }
}

/// Counts the final verdict of a request.
#[inline]
pub fn count_verdict(verdict: Verdict) {
    if let Some(slot) = slot() {
        slot.outcomes[verdict as usize].add(1);
    }
}

/// Counts a line written to a log.
#[inline]
pub fn count_line(kind: LogKind) {
    if let Some(slot) = slot() {
        match kind {
            LogKind::Access => slot.access_lines.add(1),
            LogKind::Attack => slot.attack_lines.add(1),
            LogKind::Heartbeat => {}
        }
    }
}

/// Counts log lines that could not be written.
pub fn count_dropped(lines: u64) {
    if let Some(slot) = slot() {
        slot.dropped_lines.add(lines);
    }
}

/// Counts a panic that was caught.
pub fn count_fault() {
    if let Some(slot) = slot() {
        slot.faults.add(1);
    }
}

/// An empty arena.
pub fn take_arena() -> Box<Bump> {
    let kept = WORKER.arenas.borrow_mut().pop();
    kept.unwrap_or_else(|| Box::new(Bump::with_capacity(ARENA_BYTES)))
}

/// Takes an arena back, or drops it. AddressSanitizer sees only what is given back to the system.
pub fn give_arena(mut arena: Box<Bump>) {
    if cfg!(weir_asan) {
        return;
    }
    let mut arenas = WORKER.arenas.borrow_mut();
    if arenas.len() < MAX_ARENAS && arena.allocated_bytes() <= MAX_ARENA_BYTES {
        arena.reset();
        arenas.push(arena);
    }
}
