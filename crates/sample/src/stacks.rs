//! Compact storage of stacks; names are resolved at the end.
//!
//! A stack is a list of *slots*: an address in a process, an address in the kernel, or a frame that already has its
//! name (Lua's, whose functions may be collected). Each slot is resolved once, after the last sample or when its
//! process is gone, so that symbol look-up does not compete with the sampled processes.

use std::collections::HashMap;

use weir_profile::{Builder, Frame, FrameId, Origin, Profile, ProfileKind, Thread, ThreadIndex};
use weir_unwind::Symbols;

use crate::image::Image;

/// Maximum number of distinct stacks, at some 200 bytes each; samples in further ones are counted together.
const MOST_STACKS: usize = 200_000;
/// Maximum number of distinct slots.
const MOST_SLOTS: usize = 1 << 20;
/// Maximum number of distinct threads; samples of further ones are attributed to their process.
const MOST_THREADS: usize = 65_536;

/// An element of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
    /// Code of an image, by its number.
    Code(u32, u64),
    /// Code of the kernel.
    Kernel(u64),
    /// Index into the named frames.
    Named(u32),
}

/// The index of a slot.
pub(crate) type SlotId = u32;

/// Frames of a slot, innermost first.
#[derive(Clone, Debug)]
struct SlotFrames {
    frames: Box<[u32]>,
    known: bool,
}

/// Samples by `(thread, stack)`: count and weight.
type Tally = HashMap<(u32, u32), (u64, u64)>;

/// All stacks of a session.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    slots: Vec<Slot>,
    slot_ids: HashMap<Slot, SlotId>,
    names: HashMap<SlotId, SlotFrames>,
    frames: Vec<Frame>,
    frame_ids: HashMap<Frame, u32>,
    stacks: Vec<Box<[SlotId]>>,
    stack_ids: HashMap<Box<[SlotId]>, u32>,
    threads: Vec<Thread>,
    thread_ids: HashMap<(u32, u32), u32>,
    on_cpu: Tally,
    off_cpu: Tally,
}

impl Stacks {
    pub(crate) fn slot(&mut self, slot: Slot) -> SlotId {
        if let Some(&id) = self.slot_ids.get(&slot) {
            return id;
        }
        if self.slots.len() >= MOST_SLOTS && !matches!(slot, Slot::Named(_)) {
            return self.marker("[too many different addresses]");
        }
        let id = index(self.slots.len());
        self.slots.push(slot);
        self.slot_ids.insert(slot, id);
        id
    }

    /// A frame that already has its name.
    pub(crate) fn named(&mut self, frame: Frame) -> SlotId {
        if self.frames.len() >= MOST_SLOTS && frame.origin != Origin::Marker && !self.frame_ids.contains_key(&frame) {
            return self.marker("[too many different functions]");
        }
        let id = self.frame(frame);
        self.slot(Slot::Named(id))
    }

    pub(crate) fn marker(&mut self, name: &str) -> SlotId {
        self.named(Frame::named(name, Origin::Marker))
    }

    fn frame(&mut self, frame: Frame) -> u32 {
        if let Some(&id) = self.frame_ids.get(&frame) {
            return id;
        }
        let id = index(self.frames.len());
        self.frames.push(frame.clone());
        self.frame_ids.insert(frame, id);
        id
    }

    /// A thread; its latest name is kept.
    pub(crate) fn thread(&mut self, pid: u32, tid: u32, comm: &[u8]) -> u32 {
        let tid = if self.threads.len() >= MOST_THREADS { pid } else { tid };
        let next = index(self.threads.len());
        let id = *self.thread_ids.entry((pid, tid)).or_insert(next);
        if id == next {
            self.threads.push(Thread { pid, tid, name: String::new() });
        }
        let thread = &mut self.threads[id as usize];
        if thread.name.as_bytes() != comm && !comm.is_empty() {
            thread.name = String::from_utf8_lossy(comm).into_owned();
        }
        id
    }

    /// Adds samples of a thread in a stack (root first).
    pub(crate) fn add(&mut self, kind: ProfileKind, thread: u32, stack: &[SlotId], count: u64, weight: u64) {
        let stack = self.stack(stack);
        let tally = if kind == ProfileKind::OffCpu { &mut self.off_cpu } else { &mut self.on_cpu };
        let sum = tally.entry((thread, stack)).or_default();
        sum.0 += count;
        sum.1 += weight;
    }

    fn stack(&mut self, stack: &[SlotId]) -> u32 {
        if let Some(&id) = self.stack_ids.get(stack) {
            return id;
        }
        if self.stacks.len() >= MOST_STACKS {
            let other = [self.marker("[too many different stacks]")];
            return self.stack_ids.get(&other[..]).copied().unwrap_or_else(|| self.insert(&other));
        }
        self.insert(stack)
    }

    fn insert(&mut self, stack: &[SlotId]) -> u32 {
        let id = index(self.stacks.len());
        self.stacks.push(stack.into());
        self.stack_ids.insert(stack.into(), id);
        id
    }

    /// Resolves the unresolved slots of an image, which may be dropped afterwards.
    pub(crate) fn name_image(&mut self, number: u32, image: &Image, symbols: &mut Symbols) {
        let of_image = |id: &SlotId| matches!(self.slots[*id as usize], Slot::Code(image, _) if image == number);
        let ids: Vec<SlotId> = (0..index(self.slots.len())).filter(of_image).collect();
        let mut frames = Vec::new();
        for id in ids {
            let Slot::Code(_, lookup) = self.slots[id as usize] else { continue };
            let known = symbols.resolve(&image.process, lookup, &mut frames);
            self.name(id, &mut frames, known);
        }
    }

    /// Resolves the kernel's addresses.
    pub(crate) fn name_kernel(&mut self, symbols: &mut Symbols) {
        for id in 0..index(self.slots.len()) {
            if let Slot::Kernel(address) = self.slots[id as usize] {
                let frame = symbols.kernel(address);
                let known = frame.origin == Origin::Kernel;
                self.name(id, &mut vec![frame], known);
            }
        }
    }

    fn name(&mut self, id: SlotId, frames: &mut Vec<Frame>, known: bool) {
        let frames = frames.drain(..).map(|frame| self.frame(frame)).collect();
        self.names.insert(id, SlotFrames { frames, known });
    }

    /// The profile of one kind. All names must have been resolved.
    pub(crate) fn profile(&self, kind: ProfileKind) -> Profile {
        let mut builder = Builder::new(kind);
        let tally = if kind == ProfileKind::OffCpu { &self.off_cpu } else { &self.on_cpu };
        let mut sums: Vec<_> = tally.iter().map(|(&key, &sum)| (key, sum)).collect();
        // Ordered by thread and first occurrence, so that the same samples give the same profile.
        sums.sort_unstable();
        let (mut unknown, mut all) = (0, 0);
        for ((thread, stack), (count, weight)) in sums {
            let frames = self.frames_of(&mut builder, stack, count, &mut unknown);
            all += frames.len() as u64 * count;
            let stack = builder.stack(&frames);
            let thread: ThreadIndex = builder.thread(self.threads[thread as usize].clone());
            builder.add(thread, stack, count, weight);
        }
        let mut profile = builder.finish();
        profile.health.frames = all;
        profile.health.unknown_frames = unknown;
        profile
    }

    /// A stack's frames, root first; adds the number of its frames without a symbol to `unknown`.
    fn frames_of(&self, builder: &mut Builder, stack: u32, count: u64, unknown: &mut u64) -> Vec<FrameId> {
        let mut frames = Vec::new();
        for id in &self.stacks[stack as usize] {
            match (self.slots[*id as usize], self.names.get(id)) {
                (Slot::Named(frame), _) => frames.push(builder.frame(self.frames[frame as usize].clone())),
                (_, Some(names)) => {
                    *unknown += if names.known { 0 } else { count };
                    frames.extend(names.frames.iter().rev().map(|id| builder.frame(self.frames[*id as usize].clone())));
                }
                (_, None) => {
                    *unknown += count;
                    frames.push(builder.frame(Frame::named("[unknown]", Origin::Marker)));
                }
            }
        }
        frames
    }
}

fn index(length: usize) -> u32 {
    u32::try_from(length).expect("bounded far below 2^32")
}

#[cfg(test)]
mod tests;
