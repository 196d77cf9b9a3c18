//! The heartbeat log: a line per worker and interval that says what it has done so far.

use std::cell::Cell;

use weir_engine::Verdict;
use weir_ledger::WorkerSlot;
use weir_log::json;

use super::writer::LogFile;
use crate::configuration::Main;
use crate::policy::{Policies, PolicySource};
use crate::{ffi, worker};

/// Every verdict, in the order of the worker's counters.
const VERDICTS: [Verdict; weir_ledger::OUTCOMES] = Verdict::ALL;

/// The log and how often it is written.
pub struct Heartbeat {
    file: *mut LogFile,
    interval_ms: u64,
    last_ms: Cell<u64>,
}

impl Heartbeat {
    /// A log that is written every `interval_ms`.
    pub fn new(file: *mut LogFile, interval_ms: u64) -> Self {
        Self { file, interval_ms, last_ms: Cell::new(0) }
    }
}

/// Writes a line if it is time to.
pub fn beat(main: &'static Main) {
    let (Some(Some(heartbeat)), Some(slot)) = (&main.heartbeat, worker::slot()) else { return };
    let now = ffi::now_ms();
    if now.saturating_sub(heartbeat.last_ms.get()) < heartbeat.interval_ms {
        return;
    }
    heartbeat.last_ms.set(now);
    // SAFETY: in a worker's timer; the file has its final address.
    unsafe { LogFile::line(heartbeat.file, |out| write(out, now, main, slot)) };
}

/// Calls and hits of everything that is metered now.
fn totals(source: &PolicySource) -> (u64, u64) {
    let configured = worker::row().map(|row| row.totals(usize::MAX)).unwrap_or_default();
    let in_bank = |policies: &Policies| Some(worker::bank(policies.bank()?)?.totals(policies.entry_count()));
    let live = source.policies().and_then(in_bank).unwrap_or_default();
    (configured.0 + live.0, configured.1 + live.1)
}

fn write(out: &mut Vec<u8>, now_ms: u64, main: &'static Main, slot: &WorkerSlot) {
    let source = PolicySource::new(main.gateway, main);
    out.extend_from_slice(b"{\"time\":");
    worker::timestamps().write(out, now_ms);
    out.extend_from_slice(b",\"pid\":");
    json::number(out, worker::pid());
    out.extend_from_slice(b",\"revision\":");
    json::string(out, source.revision().as_bytes());
    out.extend_from_slice(b",\"requests\":");
    json::number(out, slot.requests.get());
    out.extend_from_slice(b",\"verdicts\":");
    for (place, (verdict, count)) in VERDICTS.iter().zip(&slot.outcomes).enumerate() {
        out.push(if place == 0 { b'{' } else { b',' });
        json::plain(out, verdict.as_str().as_bytes());
        out.push(b':');
        json::number(out, count.get());
    }
    out.push(b'}');
    let totals = totals(&source);
    for (name, number) in [
        (&b",\"ledger\":{\"calls\":"[..], totals.0),
        (b",\"hits\":", totals.1),
        (b",\"weir_ns\":", slot.weir_ns.get()),
        (b"},\"rss_bytes\":", slot.rss_bytes.get()),
        (b",\"access_lines\":", slot.access_lines.get()),
        (b",\"attack_lines\":", slot.attack_lines.get()),
        (b",\"dropped_lines\":", slot.dropped_lines.get()),
        (b",\"faults\":", slot.faults.get()),
    ] {
        out.extend_from_slice(name);
        json::number(out, number);
    }
    out.push(b'}');
}
