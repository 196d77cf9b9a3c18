//! Slots of the control file that workers claim by name, for what they count of it.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::process::{identity, lives};

/// Bytes of a name that are kept: as many as an id has.
const NAME_BYTES: usize = 128;

/// Whose a slot is, and what it is about.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Owner {
    process: AtomicU64,
    name: [AtomicU64; NAME_BYTES / 8],
}

impl Owner {
    /// The name, if the process lives.
    pub(crate) fn living(&self) -> Option<String> {
        let process = self.process.load(Ordering::Acquire);
        (process != 0 && lives(process)).then(|| self.name())
    }

    fn name(&self) -> String {
        let bytes: Vec<u8> = self.name.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
        let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }

    pub(crate) fn set_name(&self, name: &str) {
        let mut bytes = [0; NAME_BYTES];
        let length = name.len().min(NAME_BYTES);
        bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
        for (word, eight) in self.name.iter().zip(bytes.as_chunks::<8>().0) {
            word.store(u64::from_ne_bytes(*eight), Ordering::Relaxed);
        }
    }
}

/// A slot of one name in one worker. Only the worker that claimed it writes.
pub(crate) trait Slot {
    fn owner(&self) -> &Owner;
    /// Sets all that is counted to zero.
    fn reset(&self);
}

/// The slot of this process for this name, from zero unless it has one already; `None` if all are taken by living
/// processes.
pub(crate) fn claim<'s, S: Slot>(slots: &'s [S], pid: u32, name: &str) -> Option<&'s S> {
    let me = identity(pid);
    let process = |slot: &S| slot.owner().process.load(Ordering::Relaxed);
    let known = slots.iter().find(|slot| process(slot) == me && slot.owner().name() == name);
    known.or_else(|| {
        slots.iter().find(|slot| {
            let owner = process(slot);
            let is_taken = (owner == 0 || !lives(owner))
                && slot.owner().process.compare_exchange(owner, me, Ordering::AcqRel, Ordering::Relaxed).is_ok();
            if is_taken {
                slot.reset();
                slot.owner().set_name(name);
            }
            is_taken
        })
    })
}
