//! Turns records into stacks: finds their process, unwinds them, and inserts Lua frames.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use weir_luajit::JoinedFrame;
use weir_profile::{Health, Profile, ProfileKind};
use weir_unwind::{FrameHook, Modules, NativeFrame, Symbols, UnwindEnd, UnwindError, Unwinder};

use crate::image::Image;
use crate::record::{Record, RecordKind};
use crate::stacks::{Slot, SlotId, Stacks};

/// Maximum number of processes whose maps are kept; the least recently used one is dropped.
const MOST_IMAGES: usize = 1024;
/// Maximum number of waits whose user stack is still to come.
const MOST_PENDING: usize = 65_536;
/// Delay before trying again to open a process.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// Maximum number of remarks.
const MOST_REMARKS: usize = 20;

/// An update for the kernel side: the Lua offsets of a process; `None` if it is gone.
pub(crate) type LuaUpdate = (u32, Option<Vec<u8>>);

/// A wait whose kernel stack is known.
#[derive(Debug)]
struct PendingWait {
    time_ns: u64,
    weight_ns: u64,
    thread: u32,
    kernel: Vec<SlotId>,
}

/// Everything gathered so far.
#[derive(Debug)]
pub(crate) struct Gather {
    with_lua: bool,
    modules: Modules,
    unwinder: Unwinder,
    symbols: Symbols,
    images: HashMap<u32, (u32, Image)>,
    next_image: u32,
    /// Processes that could not be opened, with the time of the attempt.
    unreadable: HashMap<u32, Instant>,
    pub stacks: Stacks,
    pending: HashMap<u32, PendingWait>,
    native: Vec<NativeFrame>,
    mixed: Vec<JoinedFrame>,
    on_cpu: Health,
    off_cpu: Health,
    pub lua_updates: Vec<LuaUpdate>,
    remarks: BTreeSet<String>,
    /// Duration of sampling, set at the end.
    pub sampled_ns: u64,
}

impl Gather {
    pub(crate) fn new(with_lua: bool) -> Self {
        Self {
            with_lua,
            modules: Modules::new(),
            unwinder: Unwinder::new(),
            symbols: Symbols::new(),
            images: HashMap::new(),
            next_image: 0,
            unreadable: HashMap::new(),
            stacks: Stacks::default(),
            pending: HashMap::new(),
            native: Vec::new(),
            mixed: Vec::new(),
            on_cpu: Health::default(),
            off_cpu: Health::default(),
            lua_updates: Vec::new(),
            remarks: BTreeSet::new(),
            sampled_ns: 0,
        }
    }

    /// Samples so far.
    pub(crate) fn samples(&self) -> u64 {
        self.on_cpu.samples + self.off_cpu.samples
    }

    /// Takes one record.
    pub(crate) fn take(&mut self, record: &Record<'_>) {
        match record.kind {
            RecordKind::OnCpu => self.running(record),
            RecordKind::Waited => self.waited(record),
            RecordKind::WaitedFrom => self.waited_from(record),
            RecordKind::StillWaiting => self.still_waiting(record),
            RecordKind::Executed | RecordKind::Exited => {
                self.retire(record.pid);
                self.lua_updates.push((record.pid, None));
            }
        }
    }

    fn running(&mut self, record: &Record<'_>) {
        let mut stack = Vec::new();
        let mut health = self.on_cpu;
        health.samples += 1;
        self.user(record, &mut health, &mut stack);
        self.on_cpu = health;
        self.kernel(record.kernel, &mut stack);
        let thread = self.stacks.thread(record.pid, record.tid, record.comm);
        self.stacks.add(ProfileKind::OnCpu, thread, &stack, 1, record.weight_ns);
    }

    /// A wait has ended; its user stack comes next, or never.
    fn waited(&mut self, record: &Record<'_>) {
        self.off_cpu.samples += 1;
        let thread = self.stacks.thread(record.pid, record.tid, record.comm);
        let mut kernel = Vec::new();
        self.kernel(record.kernel, &mut kernel);
        let pending = PendingWait { time_ns: record.time_ns, weight_ns: record.weight_ns, thread, kernel };
        if record.preempted {
            return self.without_user_stack(&pending, QUEUED);
        }
        if !record.stack_follows || self.pending.len() >= MOST_PENDING {
            return self.without_user_stack(&pending, NOT_TAKEN);
        }
        if let Some(before) = self.pending.insert(record.tid, pending) {
            self.without_user_stack(&before, NOT_TAKEN);
        }
    }

    fn waited_from(&mut self, record: &Record<'_>) {
        let Some(pending) = self.pending.remove(&record.tid) else { return };
        if pending.time_ns != record.time_ns {
            return self.without_user_stack(&pending, NOT_TAKEN);
        }
        let mut stack = Vec::new();
        let mut health = self.off_cpu;
        self.user(record, &mut health, &mut stack);
        self.off_cpu = health;
        stack.extend_from_slice(&pending.kernel);
        self.stacks.add(ProfileKind::OffCpu, pending.thread, &stack, 1, pending.weight_ns);
    }

    /// An unfinished wait, with both stacks.
    fn still_waiting(&mut self, record: &Record<'_>) {
        let mut stack = Vec::new();
        let mut health = self.off_cpu;
        health.samples += 1;
        if record.stack.is_empty() {
            stack.push(self.stacks.marker(if record.preempted { QUEUED } else { NOT_TAKEN }));
        } else {
            self.user(record, &mut health, &mut stack);
        }
        self.off_cpu = health;
        self.kernel(record.kernel, &mut stack);
        let thread = self.stacks.thread(record.pid, record.tid, record.comm);
        // It is read some time after the end, when all programs have been detached.
        let weight_ns = if record.weight_ns == 0 { self.sampled_ns } else { record.weight_ns.min(self.sampled_ns) };
        self.stacks.add(ProfileKind::OffCpu, thread, &stack, 1, weight_ns);
    }

    fn without_user_stack(&mut self, pending: &PendingWait, why: &str) {
        let mut stack = vec![self.stacks.marker(why)];
        stack.extend_from_slice(&pending.kernel);
        self.stacks.add(ProfileKind::OffCpu, pending.thread, &stack, 1, pending.weight_ns);
    }

    /// Adds the kernel's frames, outermost first.
    fn kernel(&mut self, addresses: &[u64], stack: &mut Vec<SlotId>) {
        stack.extend(addresses.iter().rev().map(|address| self.stacks.slot(Slot::Kernel(*address))));
    }

    /// Adds the frames of user space, outermost first.
    fn user(&mut self, record: &Record<'_>, health: &mut Health, stack: &mut Vec<SlotId>) {
        let Some(registers) = &record.registers else { return };
        self.open(record.pid);
        let Some((number, image)) = self.images.get_mut(&record.pid) else {
            health.failed += 1;
            stack.push(self.stacks.marker("[process not readable]"));
            return;
        };
        image.used = Instant::now();
        if image.learn(registers, record.lua.as_ref()) {
            self.lua_updates.extend(image.vm.as_ref().map(|vm| (record.pid, Some(vm.offsets().bytes()))));
        }
        let lua = record.lua.as_ref();
        let mut hook = image.vm.as_mut().map(|vm| vm.hook(lua));
        let hook = hook.as_mut().map(|hook| hook as &mut dyn FrameHook);
        self.native.clear();
        let end = self.unwinder.unwind(&mut image.process, registers, record.stack, hook, &mut self.native);
        self.mixed.clear();
        join(image, record, &self.native, &mut self.mixed, health);
        if let Some(marker) = count_end(end, record.stack_cut, health) {
            stack.push(self.stacks.marker(marker));
        }
        let number = *number;
        for frame in self.mixed.drain(..).rev() {
            stack.push(match frame {
                JoinedFrame::Native(index) => self.stacks.slot(Slot::Code(number, self.native[index].lookup)),
                JoinedFrame::Lua(frame) => self.stacks.named(frame),
            });
        }
    }

    /// Opens a process if necessary, and looks for Lua in it.
    pub(crate) fn open(&mut self, pid: u32) {
        if !self.images.contains_key(&pid) {
            if self.unreadable.get(&pid).is_some_and(|tried| tried.elapsed() < TRY_AGAIN) {
                return;
            }
            let image = match Image::open(pid, &self.modules) {
                Ok(image) => image,
                Err(error) => return self.not_readable(pid, &error),
            };
            if self.images.len() >= MOST_IMAGES {
                let oldest = self.images.iter().min_by_key(|(_, (_, image))| image.used).map(|(pid, _)| *pid);
                oldest.into_iter().for_each(|pid| self.retire(pid));
            }
            self.images.insert(pid, (self.next_image, image));
            self.next_image += 1;
        }
        let Some((_, image)) = self.images.get_mut(&pid).filter(|_| self.with_lua) else { return };
        match image.look_for_lua() {
            Ok(true) => self.lua_updates.extend(image.vm.as_ref().map(|vm| (pid, Some(vm.offsets().bytes())))),
            Ok(false) => {}
            Err(reason) => self.remark(format!("Lua frames of process {pid} are not shown: {reason}")),
        }
    }

    /// Records that a process could not be opened, so that not every sample of it tries again.
    /// Processes that have ended are not remarked on, because there are many.
    fn not_readable(&mut self, pid: u32, error: &UnwindError) {
        if self.unreadable.len() >= MOST_IMAGES {
            self.unreadable.clear();
        }
        self.unreadable.insert(pid, Instant::now());
        if !matches!(error, UnwindError::NoProcess { .. }) {
            self.remark(format!("not unwound: {error}"));
        }
    }

    /// Resolves the names in a process that has ended, and drops it.
    fn retire(&mut self, pid: u32) {
        self.unreadable.remove(&pid);
        if let Some((number, image)) = self.images.remove(&pid) {
            self.add_names_of_lua(&image);
            self.stacks.name_image(number, &image, &mut self.symbols);
        }
    }

    /// Distributions strip LuaJIT of the symbols that matter in a profile of Lua.
    fn add_names_of_lua(&mut self, image: &Image) {
        if image.vm.is_none() {
            return;
        }
        let libraries = image.process.modules().filter(|loaded| loaded.module.symbol("lua_pushlstring").is_some());
        for loaded in libraries {
            let names =
                weir_luajit::internal_names(&loaded.module).into_iter().map(|name| (name.start..name.end, name.name));
            self.symbols.add_names(&loaded.module, names);
        }
    }

    pub(crate) fn remark(&mut self, remark: String) {
        if self.remarks.len() < MOST_REMARKS {
            self.remarks.insert(remark);
        }
    }

    /// Resolves all names; no further samples may follow.
    pub(crate) fn finish(&mut self) {
        for (_, pending) in std::mem::take(&mut self.pending) {
            self.without_user_stack(&pending, NOT_TAKEN);
        }
        for pid in self.images.keys().copied().collect::<Vec<_>>() {
            self.retire(pid);
        }
        self.stacks.name_kernel(&mut self.symbols);
        self.symbols.remarks().into_iter().for_each(|remark| self.remark(remark));
    }

    /// The profile of one kind, with its health.
    pub(crate) fn profile(&self, kind: ProfileKind) -> Profile {
        let mut profile = self.stacks.profile(kind);
        let (frames, unknown_frames) = (profile.health.frames, profile.health.unknown_frames);
        let health = if kind == ProfileKind::OffCpu { self.off_cpu } else { self.on_cpu };
        profile.health = Health { frames, unknown_frames, ..health };
        profile.meta.remarks = self.remarks.iter().cloned().collect();
        profile
    }
}

const NOT_TAKEN: &str = "[user stack not taken]";
const QUEUED: &str = "[waiting for a CPU]";

/// Inserts Lua's frames between the native ones, and counts them.
fn join(
    image: &mut Image,
    record: &Record<'_>,
    native: &[NativeFrame],
    mixed: &mut Vec<JoinedFrame>,
    health: &mut Health,
) {
    let in_lua = |vm: &weir_luajit::Vm| native.iter().any(|frame| vm.is_interpreter(frame.ip));
    match (&mut image.vm, &record.lua) {
        (Some(vm), Some(lua)) => {
            health.lua += 1;
            health.lua_read += u64::from(vm.join(native, lua, mixed));
        }
        (vm, _) => {
            health.lua += u64::from(vm.as_ref().is_some_and(in_lua));
            mixed.extend((0..native.len()).map(JoinedFrame::Native));
        }
    }
}

/// Counts how unwinding ended; returns the placeholder for the root if the root was not reached.
fn count_end(end: UnwindEnd, stack_cut: bool, health: &mut Health) -> Option<&'static str> {
    match end {
        UnwindEnd::Root => {
            health.complete += 1;
            None
        }
        UnwindEnd::TooDeep => {
            health.truncated += 1;
            Some("[truncated]")
        }
        UnwindEnd::Cut if stack_cut => {
            health.truncated += 1;
            Some("[truncated]")
        }
        UnwindEnd::Cut | UnwindEnd::Failed(_) => {
            health.failed += 1;
            Some("[not unwound]")
        }
    }
}
