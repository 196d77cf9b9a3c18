//! A profile: the sampled threads and their stacks.
//!
//! Frames and stacks are interned, so that the size of a profile grows with the number of distinct stacks and not
//! with its duration. Items are in the order of first occurrence; output code sorts as needed.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// The meaning of a sample's weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileKind {
    /// CPU time in nanoseconds.
    #[default]
    OnCpu,
    /// Time off the CPU in nanoseconds.
    OffCpu,
    /// Occurrences, if an imported profile does not state their meaning.
    Count,
}

/// The origin of a frame's code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The kernel.
    Kernel,
    /// Machine code of a program or a library.
    #[default]
    Native,
    /// A function that the compiler has inlined into its caller.
    Inlined,
    /// A Lua function, interpreted or compiled.
    Lua,
    /// A trace of LuaJIT's compiler: `trace 12 access.lua:42`.
    LuaTrace,
    /// A fast function of LuaJIT (`string.gsub`) or a C function called from Lua, as Lua sees it.
    LuaBuiltin,
    /// A placeholder for something unknown: `[unknown]`, `[truncated]`.
    Marker,
}

/// One function at one position in a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The display name: `ngx_http_run_posted_requests`, `access.lua:read_vars`.
    pub name: String,
    /// The origin of its code.
    pub origin: Origin,
    /// Path of the binary as the process sees it, `[kernel]`, or a Lua chunk's name; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub module: String,
    /// Build id of the binary in hexadecimal digits; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub build_id: String,
    /// Source file; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// Source line of the sample; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line: u32,
}

fn is_zero(line: &u32) -> bool {
    *line == 0
}

impl Frame {
    /// A frame of which only the name is known.
    #[must_use]
    pub fn named(name: impl Into<String>, origin: Origin) -> Self {
        Self { name: name.into(), origin, ..Self::default() }
    }
}

/// Index into [`Profile::frames`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FrameId(pub u32);

/// Index into [`Profile::stacks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StackId(pub u32);

/// Index into [`Profile::threads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ThreadIndex(pub u32);

/// A thread that was sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Thread {
    /// Process id in the sampler's pid namespace.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// The kernel's name of the thread (`comm`).
    pub name: String,
}

/// All samples of one thread in one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The sampled thread.
    pub thread: ThreadIndex,
    /// The sampled stack.
    pub stack: StackId,
    /// Number of samples.
    pub count: u64,
    /// Sum of the weights, in the unit of [`Profile::kind`].
    pub weight: u64,
}

/// A system call of a process, over the whole profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemCall {
    /// Process id.
    pub pid: u32,
    /// `connect`, `epoll_wait`, ...; `syscall_450` if the name is not known.
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// Number of failed calls (`EAGAIN` and `EINPROGRESS` included).
    pub errors: u64,
    /// Nanoseconds between entry and exit, blocked time included.
    pub total_ns: u64,
    /// The longest single call, in nanoseconds.
    pub max_ns: u64,
}

/// Completeness of a profile, shown with every profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    /// Samples taken.
    pub samples: u64,
    /// Samples that were taken but lost for lack of space.
    pub lost: u64,
    /// User stacks deeper than the captured bytes.
    pub truncated: u64,
    /// User stacks that could not be unwound to their root for another reason.
    pub failed: u64,
    /// Samples in user code whose stack was unwound to its root.
    pub complete: u64,
    /// Frames without a symbol.
    pub unknown_frames: u64,
    /// All frames.
    pub frames: u64,
    /// Samples taken while Lua code was running (interpreter, traces, or what they call).
    pub lua: u64,
    /// Of these, samples whose Lua stack was read and checked.
    pub lua_read: u64,
}

/// The target, method and time of sampling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// A readable description of the target: `nginx (pid 4711 and 2 workers)`.
    pub title: String,
    /// The source of the profile: `weir`, `perf script`, `folded`, `pprof`.
    pub source: String,
    /// The sampling method: `ebpf`, `perf_event`, empty for imported profiles.
    pub method: String,
    /// Start, in milliseconds since 1970; 0 if unknown.
    pub started_ms: u64,
    /// Length in nanoseconds; 0 if unknown.
    pub duration_ns: u64,
    /// Requested samples per second and CPU; 0 if unknown.
    pub frequency_hz: u32,
    /// Requests that the target answered meanwhile, if known: graphs are compared per request.
    pub requests: Option<u64>,
    /// Remarks for the reader, a sentence each: "BPF is refused here (EPERM); perf events were used".
    pub remarks: Vec<String>,
}

/// A complete profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// Target, method and time.
    pub meta: Meta,
    /// The meaning of weights.
    pub kind: ProfileKind,
    /// Its completeness.
    pub health: Health,
    /// Sampled threads.
    pub threads: Vec<Thread>,
    /// Distinct frames.
    pub frames: Vec<Frame>,
    /// Distinct stacks, each from its root to its leaf.
    pub stacks: Vec<Box<[FrameId]>>,
    /// Samples, at most one for each thread and stack.
    pub samples: Vec<Sample>,
    /// System calls, if they were counted.
    pub system_calls: Vec<SystemCall>,
}

impl Profile {
    /// Sum of all weights.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.samples.iter().fold(0, |sum, sample| sum.saturating_add(sample.weight))
    }

    /// A frame.
    ///
    /// # Panics
    /// If the id is of another profile.
    #[must_use]
    pub fn frame(&self, id: FrameId) -> &Frame {
        &self.frames[id.0 as usize]
    }

    /// A stack's frames from its root to its leaf.
    ///
    /// # Panics
    /// If the id is of another profile.
    #[must_use]
    pub fn stack(&self, id: StackId) -> &[FrameId] {
        &self.stacks[id.0 as usize]
    }
}

/// Builds a profile incrementally from stacks.
#[derive(Debug, Default)]
pub struct Builder {
    profile: Profile,
    frames: HashMap<Frame, FrameId>,
    stacks: HashMap<Box<[FrameId]>, StackId>,
    threads: HashMap<Thread, ThreadIndex>,
    samples: HashMap<(ThreadIndex, StackId), usize>,
}

impl Builder {
    /// Creates an empty builder.
    #[must_use]
    pub fn new(kind: ProfileKind) -> Self {
        Self { profile: Profile { kind, ..Profile::default() }, ..Self::default() }
    }

    /// Interns a frame.
    pub fn frame(&mut self, frame: Frame) -> FrameId {
        if let Some(&id) = self.frames.get(&frame) {
            return id;
        }
        let id = FrameId(index(self.profile.frames.len()));
        self.profile.frames.push(frame.clone());
        self.frames.insert(frame, id);
        id
    }

    /// Interns a stack, root first.
    pub fn stack(&mut self, frames: &[FrameId]) -> StackId {
        if let Some(&id) = self.stacks.get(frames) {
            return id;
        }
        let id = StackId(index(self.profile.stacks.len()));
        self.profile.stacks.push(frames.into());
        self.stacks.insert(frames.into(), id);
        id
    }

    /// Interns a thread.
    pub fn thread(&mut self, thread: Thread) -> ThreadIndex {
        if let Some(&known) = self.threads.get(&thread) {
            return known;
        }
        let new = ThreadIndex(index(self.profile.threads.len()));
        self.profile.threads.push(thread.clone());
        self.threads.insert(thread, new);
        new
    }

    /// Adds samples of a thread in a stack.
    pub fn add(&mut self, thread: ThreadIndex, stack: StackId, count: u64, weight: u64) {
        let next = self.profile.samples.len();
        let at = *self.samples.entry((thread, stack)).or_insert(next);
        if at == next {
            self.profile.samples.push(Sample { thread, stack, count: 0, weight: 0 });
        }
        let sample = &mut self.profile.samples[at];
        sample.count = sample.count.saturating_add(count);
        sample.weight = sample.weight.saturating_add(weight);
    }

    /// The profile so far, for its meta data, health and system calls.
    pub fn profile_mut(&mut self) -> &mut Profile {
        &mut self.profile
    }

    /// Returns the finished profile.
    #[must_use]
    pub fn finish(self) -> Profile {
        self.profile
    }
}

fn index(length: usize) -> u32 {
    u32::try_from(length).expect("fewer than 2^32 entries: each takes memory")
}
