//! The file: made by the first master that wants it, mapped by all that follow. It outlives workers, reloads and nginx
//! itself, so that a client that comes back finds the messages that it has missed. After a new start of the machine, or
//! when its size changes, it begins anew under another *epoch*.
//!
//! As of a [`Region`](crate::Region), workers inherit the mapping and the bells and have no descriptor of the file.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::os::fd::RawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use memmap2::{MmapOptions, MmapRaw};

use super::layout::{self, FOLLOWERS_MAX, GROUPS, MAGIC, STREAMS, STREAMS_BYTES_MAX, STREAMS_BYTES_MIN, header, slot};
use super::stream::Stream;
use crate::bell::Bell;
use crate::error::{BusError, OwnerError};
use crate::journal::checksum::checksum;
use crate::key;
use crate::owner::{Claimant, Entry, Owners};
use crate::process;
use crate::region::{now_ms, reserve};

/// The file's name in the runtime directory; the bells are `messages.bell-N`.
const NAME: &str = "messages";

/// The mapped file, with its bells.
pub struct Streams {
    map: MmapRaw,
    bytes: usize,
    bells: Vec<Bell>,
}

impl Streams {
    /// Maps the file of the runtime directory, for `workers` workers of a cycle and `bytes` of messages, from
    /// [`STREAMS_BYTES_MIN`] to [`STREAMS_BYTES_MAX`]; they are divided among [`STREAMS`] streams. If there is no such
    /// file, or one of another size or an earlier start of the machine, a new one takes its place.
    pub fn open_or_create(dir: &Path, bytes: usize, workers: usize) -> Result<Self, BusError> {
        let path = dir.join(NAME);
        let bytes = bytes.clamp(STREAMS_BYTES_MIN, STREAMS_BYTES_MAX);
        let map = match map(&path) {
            Ok(Some(map)) if Self::bytes_in(&map) == Some(bytes) => map,
            _ => create(&path, bytes)?,
        };
        Self::with_bells(dir, map, bytes, Bell::create, layout::followers_for(workers))
    }

    /// Maps the file that a master has made.
    pub fn open(dir: &Path) -> Result<Self, BusError> {
        let path = dir.join(NAME);
        let foreign = || BusError::Foreign { path: path.clone(), reason: "not the messages of this version" };
        let map = map(&path)?.ok_or_else(foreign)?;
        let bytes = Self::bytes_in(&map).ok_or_else(foreign)?;
        Self::with_bells(dir, map, bytes, Bell::open, 0)
    }

    fn with_bells(
        dir: &Path,
        map: MmapRaw,
        bytes: usize,
        bell: impl Fn(&Path) -> Result<Bell, BusError>,
        wanted: usize,
    ) -> Result<Self, BusError> {
        let mut streams = Self { map, bytes, bells: Vec::new() };
        let count = &streams.words()[header::FOLLOWERS];
        count.fetch_max(wanted as u64, AcqRel);
        let count = (count.load(Acquire) as usize).min(FOLLOWERS_MAX);
        let bells = (0..count).map(|n| bell(&dir.join(format!("{NAME}.bell-{n}"))));
        streams.bells = bells.collect::<Result<_, _>>()?;
        Ok(streams)
    }

    /// Bytes of messages that a file says to have, if it is one of ours and long enough.
    fn bytes_in(map: &MmapRaw) -> Option<usize> {
        let words = words(map);
        let [format, bytes, boot] = [header::FORMAT, header::BYTES, header::BOOT].map(|n| words[n].load(Acquire));
        let bytes = usize::try_from(bytes).ok()?;
        let is_ours = format == MAGIC
            && boot == boot_hash()
            && (STREAMS_BYTES_MIN..=STREAMS_BYTES_MAX).contains(&bytes)
            && layout::file_bytes(bytes) == map.len();
        is_ours.then_some(bytes)
    }

    /// A random number that changes when the messages of the file are lost.
    pub fn epoch(&self) -> u64 {
        self.words()[header::EPOCH].load(Relaxed)
    }

    /// Stream `n`, below [`STREAMS`], or [`BUS`](super::BUS).
    pub fn stream(&self, n: usize) -> Stream<'_> {
        let granules = layout::stream_granules(self.bytes);
        let words = self.words();
        Stream { head: layout::head_of(words, n), data: layout::data_of(words, n, granules), epoch: self.epoch() }
    }

    /// The number of the stream of this name, which is given one if it has none; none if all have other names. Names that
    /// are not among `kept` are given up only where there is no other room: another process may use them by now.
    pub fn claim(&self, name: &str, kept: &[&str]) -> Option<usize> {
        let hash = hash_of(name);
        let kept: Vec<u64> = kept.iter().map(|name| hash_of(name)).collect();
        let claimed = self.claim_first(hash, |seen| seen == 0);
        claimed.or_else(|| self.claim_first(hash, |seen| !kept.contains(&seen)))
    }

    /// The first stream that has this name, or that is free, which gets it. All processes look in the same order, once:
    /// had they looked for the name first and for room then, two could take a stream each for the same name.
    fn claim_first(&self, hash: u64, is_free: impl Fn(u64) -> bool) -> Option<usize> {
        (0..STREAMS).find(|n| {
            let cell = &self.words()[header::NAMES + n];
            let mut seen = cell.load(Acquire);
            while seen != hash && is_free(seen) {
                // Before it has the name: whoever finds that must not read messages of an earlier name.
                self.words()[header::BEGINS + n].fetch_max(self.stream(*n).end(), AcqRel);
                match cell.compare_exchange(seen, hash, AcqRel, Acquire) {
                    Ok(_) => return true,
                    Err(now) => seen = now,
                }
            }
            seen == hash
        })
    }

    /// The number of the group of this name, below [`GROUPS`], which is given one if it has none; none if all have other
    /// names. Groups are never given up: their names are written in plugins.
    pub fn group(&self, name: &[u8]) -> Option<usize> {
        let hash = checksum(0, 0, 1, name).max(1);
        let groups = &self.words()[header::GROUPS..][..GROUPS];
        groups.iter().position(|cell| {
            let seen = cell.load(Acquire);
            seen == hash
                || seen == 0 && cell.compare_exchange(0, hash, AcqRel, Acquire).map_or_else(|now| now == hash, |_| true)
        })
    }

    /// The oldest message of stream `n` since it has its name, or the end.
    pub fn oldest(&self, n: usize) -> u64 {
        let begin = if n < STREAMS { self.words()[header::BEGINS + n].load(Acquire) } else { 0 };
        self.stream(n).oldest().max(begin)
    }

    /// Wakes all followers but one.
    pub fn wake(&self, except: Option<usize>) {
        for (word, active) in self.words()[header::ACTIVE..][..FOLLOWERS_MAX / 64].iter().enumerate() {
            let mut active = active.load(Acquire);
            while active != 0 {
                let n = word * 64 + active.trailing_zeros() as usize;
                active &= active - 1;
                if Some(n) != except {
                    self.wake_one(n);
                }
            }
        }
    }

    /// Wakes the follower in a slot.
    pub fn wake_one(&self, n: usize) {
        // A bell that this process does not have is of a later cycle; its follower looks once a second.
        let Some(bell) = self.bells.get(n) else { return };
        // AcqRel: whoever clears it sees what was published before.
        if self.slot(n)[slot::PENDING].swap(1, AcqRel) == 0 {
            bell.ring();
        }
    }

    /// Becomes a follower, which is woken when something is published; as the worker of this number, if it is one.
    pub fn follow(self: &Arc<Self>, worker: Option<u16>) -> Result<Follower, BusError> {
        let me = process::identity(std::process::id());
        for n in 0..self.bells.len() {
            let cell = &self.slot(n)[slot::PROCESS];
            let seen = cell.load(Acquire);
            let is_free = seen == 0 || !process::lives(seen);
            if is_free && cell.compare_exchange(seen, me, AcqRel, Relaxed).is_ok() {
                // As if it had been rung: the predecessor may have died with something unread.
                self.slot(n)[slot::PENDING].store(1, Release);
                // Only the process in the slot writes these.
                let incarnation = self.slot(n)[slot::INCARNATION].fetch_add(1, AcqRel) + 1;
                let number = worker.map_or(0, |worker| now_ms() << 16 | (u64::from(worker) + 1));
                self.slot(n)[slot::WORKER].store(number, Release);
                // A number of an incarnation comes round again.
                self.owners(&[], |owners, _| owners.forget(n as u16));
                self.active(n).fetch_or(1 << (n % 64), AcqRel);
                self.bells[n].ring();
                return Ok(Follower { streams: Arc::clone(self), n, incarnation: incarnation as u32 });
            }
        }
        Err(BusError::NoFollower { max: self.bells.len() })
    }

    /// The follower that is the worker of this number, of the newest cycle if several have it.
    pub fn worker(&self, number: u16) -> Option<usize> {
        let all = (0..self.bells.len()).map(|n| (self.slot(n)[slot::WORKER].load(Acquire), n));
        let of_number = |(word, n): &(u64, usize)| {
            word & 0xffff == u64::from(number) + 1 && self.slot(*n)[slot::PROCESS].load(Acquire) != 0
        };
        all.filter(of_number).max().map(|(_, n)| n)
    }

    /// The follower that has claimed a key.
    pub fn owner(&self, key: &[u8]) -> Option<usize> {
        self.owners(key, |owners, hash| owners.owner(hash).map(usize::from))
    }

    fn owners<R>(&self, key: &[u8], f: impl FnOnce(Owners<'_>, u64) -> R) -> R {
        let words = self.words();
        let entries = layout::owners_of(words, self.bytes);
        // SAFETY: an entry is two atomic words, and the table has a whole number of them.
        let entries = unsafe {
            std::slice::from_raw_parts(entries.as_ptr().cast::<Entry>(), entries.len() * 8 / size_of::<Entry>())
        };
        let living = |n: u16| self.incarnation(usize::from(n));
        let seed = [0, 1].map(|n| words[header::SEED + n].load(Relaxed));
        f(Owners { entries, claims: &words[header::CLAIMS], living: &living }, key::hash(seed, key))
    }

    /// The incarnation of the follower in a slot; none if it is free.
    pub fn incarnation(&self, n: usize) -> Option<u32> {
        let slot = (n < self.bells.len()).then(|| self.slot(n))?;
        (slot[slot::PROCESS].load(Acquire) != 0).then(|| slot[slot::INCARNATION].load(Acquire) as u32)
    }

    /// Frees the slots of followers that are dead, so that nobody wakes them. Asks `/proc`.
    pub fn reap(&self) {
        for n in 0..self.bells.len() {
            let cell = &self.slot(n)[slot::PROCESS];
            let seen = cell.load(Acquire);
            // The bit stays: a successor may have set it since. It costs whoever publishes one load.
            if seen != 0 && !process::lives(seen) {
                let _ = cell.compare_exchange(seen, 0, AcqRel, Relaxed);
            }
        }
    }

    fn active(&self, n: usize) -> &AtomicU64 {
        &self.words()[header::ACTIVE + n / 64]
    }

    fn slot(&self, n: usize) -> &[AtomicU64] {
        layout::slot_of(self.words(), n)
    }

    fn words(&self) -> &[AtomicU64] {
        words(&self.map)
    }
}

/// One process's place among those that are woken. Dropping it gives the place back.
pub struct Follower {
    streams: Arc<Streams>,
    n: usize,
    incarnation: u32,
}

impl Follower {
    /// For epoll: readable when something was published.
    pub fn bell(&self) -> RawFd {
        self.streams.bells[self.n].fd()
    }

    /// Makes the bell silent until the next message: to be called *before* the streams are read.
    pub fn clear(&self) {
        self.streams.bells[self.n].clear();
        self.streams.slot(self.n)[slot::PENDING].swap(0, AcqRel);
    }

    /// Number of its slot, as in the target of a message.
    pub fn slot(&self) -> usize {
        self.n
    }

    /// How many processes have had its slot, this one included.
    pub fn incarnation(&self) -> u32 {
        self.incarnation
    }

    /// Claims a key, until it is released or this process ends. A key that it has already stays its own.
    ///
    /// # Errors
    /// If another living follower has it, or if there is no room.
    pub fn claim(&self, key: &[u8]) -> Result<(), OwnerError> {
        self.streams.owners(key, |owners, hash| owners.claim(self.claimant(), hash)).map(|_| ())
    }

    /// Gives a key back; false if it was not this follower's.
    pub fn release(&self, key: &[u8]) -> bool {
        self.streams.owners(key, |owners, hash| owners.release(self.claimant(), hash))
    }

    fn claimant(&self) -> Claimant {
        Claimant { worker: self.n as u16, incarnation: self.incarnation }
    }

    /// Wakes the others, after something was published.
    pub fn wake_others(&self) {
        self.streams.wake(Some(self.n));
    }

    /// Wakes itself.
    pub fn wake_self(&self) {
        self.streams.wake_one(self.n);
    }

    /// The file.
    pub fn streams(&self) -> &Arc<Streams> {
        &self.streams
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let me = process::identity(std::process::id());
        self.streams.active(self.n).fetch_and(!(1 << (self.n % 64)), AcqRel);
        let _ = self.streams.slot(self.n)[slot::PROCESS].compare_exchange(me, 0, AcqRel, Relaxed);
    }
}

fn hash_of(name: &str) -> u64 {
    checksum(0, 0, 0, name.as_bytes()).max(1)
}

fn words(map: &MmapRaw) -> &[AtomicU64] {
    // SAFETY: a mapping is page-aligned, this long, and lives as long as `map`; its words are only accessed as atomics.
    unsafe { std::slice::from_raw_parts(map.as_mut_ptr().cast(), map.len() / 8) }
}

/// Maps the file; none if it is too short to be one.
fn map(path: &Path) -> Result<Option<MmapRaw>, BusError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .map_err(BusError::io("open", path))?;
    let length = file.metadata().map_err(BusError::io("look at", path))?.len();
    let (least, most) = (layout::file_bytes(STREAMS_BYTES_MIN), layout::file_bytes(STREAMS_BYTES_MAX));
    let Some(length) = usize::try_from(length).ok().filter(|length| (least..=most).contains(length)) else {
        return Ok(None);
    };
    MmapOptions::new().len(length).map_raw(&file).map(Some).map_err(BusError::io("map", path))
}

fn create(path: &PathBuf, bytes: usize) -> Result<MmapRaw, BusError> {
    let unnamed = path.with_extension(format!("new.{}", std::process::id()));
    let _ = fs::remove_file(&unnamed);
    let made = write_new(&unnamed, bytes).and_then(|file| {
        let map = MmapOptions::new().len(layout::file_bytes(bytes)).map_raw(&file);
        let map = map.map_err(BusError::io("map", path))?;
        // Processes that have mapped another file under this name go on with it.
        fs::rename(&unnamed, path).map_err(BusError::io("name", path))?;
        Ok(map)
    });
    if made.is_err() {
        let _ = fs::remove_file(&unnamed);
    }
    made
}

fn write_new(path: &Path, bytes: usize) -> Result<File, BusError> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).mode(0o600).open(path);
    let file = file.map_err(BusError::io("create", path))?;
    let length = layout::file_bytes(bytes);
    file.set_len(length as u64).map_err(BusError::io("size", path))?;
    reserve(&file, 0, length).map_err(BusError::io("reserve memory for", path))?;
    let mut header = [0u64; header::SEED + 2];
    header[header::FORMAT] = MAGIC;
    header[header::EPOCH] = RandomState::new().hash_one(now_ms());
    header[header::BYTES] = bytes as u64;
    header[header::BOOT] = boot_hash();
    header[header::SEED] = RandomState::new().hash_one(1);
    header[header::SEED + 1] = RandomState::new().hash_one(2);
    let header: Vec<u8> = header.iter().flat_map(|word| word.to_ne_bytes()).collect();
    file.write_all_at(&header, 0).map_err(BusError::io("write", path))?;
    Ok(file)
}

/// A hash of what names the running of the machine: messages on a disk may have been torn by its end.
fn boot_hash() -> u64 {
    let id = fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    checksum(0, 0, 0, &id)
}
