//! A region: the shared memory of one nginx cycle, and the bells of its participants.
//!
//! nginx's master makes it before it forks, so workers inherit mapping and bells and need no right to the files; control
//! opens it by name. A reload makes the next region: old and new workers have different numbers of workers and different
//! lives, and control takes part in both until the old ones are gone. The file is complete before it has its name.
//!
//! No descriptor of the file stays open: a worker that was taken over could truncate the file with it, which kills every
//! process that touches the mapping. Without a descriptor, all blocks have to be reserved at the beginning. A memfd with
//! seals could keep its descriptor, but has no name by which control, which may start later, could open it.
//!
//! If there is no room for the file, the region lies in memory that only the master and its workers share (*private*).
//! The bells are there all the same: FIFOs take no blocks. So control can wake the workers, and they follow the journal.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use memmap2::{MmapOptions, MmapRaw};

use crate::address::Address;
use crate::bell::{Bell, ControlBell, Ringer};
use crate::endpoint::Endpoint;
use crate::error::BusError;
use crate::key;
use crate::layout::{Header, Indices, Layout, MAGIC};
use crate::limits::{OWNER_ENTRIES, RING_BYTES, WORKERS_MAX};
use crate::owner::{Entry, Owners};
use crate::ring::Ring;
use crate::slot::Slot;

/// Time that a region may wait for its first worker before it counts as dead.
const UNUSED: Duration = Duration::from_secs(60);

/// The shared memory of one nginx cycle. Dropping it closes the bells and unmaps the memory; the files stay.
pub struct Region {
    map: MmapRaw,
    layout: Layout,
    generation: u64,
    bells: Vec<Arc<Bell>>,
    private: Option<BusError>,
}

impl Region {
    /// Makes the region of this generation for 1 to [`WORKERS_MAX`] workers; one that has its name is replaced. For the
    /// master, before it forks.
    pub fn create(dir: &Path, generation: u64, workers: usize) -> Result<Region, BusError> {
        if !(1..=WORKERS_MAX).contains(&workers) {
            return Err(BusError::Workers(workers));
        }
        let layout = Layout::new(workers);
        let path = region_path(dir, generation);
        let unnamed = dir.join(format!("bus.{generation}.new.{}", std::process::id()));
        let bells = bells(dir, generation, workers, |path| {
            // A bell of another region that had this name: its workers would swallow rings that are not theirs.
            let _ = fs::remove_file(path);
            Bell::create(path)
        })?;
        let made = write_new(&unnamed, generation, &layout).and_then(|file| {
            let map = map(&file, &unnamed, layout.bytes)?;
            fs::rename(&unnamed, &path).map_err(BusError::io("name", &path))?;
            Ok(map)
        });
        let (map, private) = match made {
            Ok(map) => (map, None),
            Err(error) => {
                let _ = fs::remove_file(&unnamed);
                // The file of another region that had this name.
                let _ = fs::remove_file(&path);
                (private(generation, &layout, &path)?, Some(error))
            }
        };
        Ok(Region { map, layout, generation, bells, private })
    }

    /// Why the region has no file, so that control takes no part in it; `None` if it has one.
    pub fn fault(&self) -> Option<&BusError> {
        self.private.as_ref()
    }

    /// Opens a region that someone else has made.
    pub fn open(dir: &Path, generation: u64) -> Result<Region, BusError> {
        let path = region_path(dir, generation);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(&path)
            .map_err(BusError::io("open", &path))?;
        let foreign = |reason| BusError::Foreign { path: path.clone(), reason };
        let length = file.metadata().map_err(BusError::io("look at", &path))?.len();
        // A copy: workers can write to the header.
        let mut start = [0; 8 * HEADER_WORDS];
        if file.read_exact_at(&mut start, 0).is_err() {
            return Err(foreign("too short to be a region of the bus"));
        }
        let (words, _) = start.as_chunks::<8>();
        let word = |at: usize| words.get(at).map_or(0, |word| u64::from_ne_bytes(*word));
        let [magic, named, workers, ring_bytes, bytes] = [0, 1, 2, 3, 4].map(word);
        let workers = usize::try_from(workers).unwrap_or(0);
        if magic != MAGIC || ring_bytes != RING_BYTES as u64 || !(1..=WORKERS_MAX).contains(&workers) {
            return Err(foreign("not a region of this version of the bus"));
        }
        let layout = Layout::new(workers);
        if bytes != layout.bytes as u64 || length < layout.bytes as u64 || named != generation {
            return Err(foreign("its sizes contradict each other"));
        }
        let map = map(&file, &path, layout.bytes)?;
        let bells = bells(dir, generation, workers, Bell::open)?;
        Ok(Region { map, layout, generation, bells, private: None })
    }

    /// The generations of all regions in the directory, ascending.
    pub fn list(dir: &Path) -> io::Result<Vec<u64>> {
        let mut generations = Vec::new();
        for entry in fs::read_dir(dir)? {
            if let Some((generation, "")) = entry?.file_name().to_str().and_then(parse_name) {
                generations.push(generation);
            }
        }
        generations.sort_unstable();
        Ok(generations)
    }

    /// Removes the files of regions whose processes are all dead, but for the newest region, and what killed masters
    /// have left of unfinished ones. Returns the generations removed.
    pub fn remove_dead(dir: &Path) -> io::Result<Vec<u64>> {
        let mut kept = Region::list(dir)?;
        let Some(newest) = kept.pop() else { return Ok(Vec::new()) };
        let dead: Vec<u64> = kept
            .extract_if(.., |generation| Region::open(dir, *generation).is_ok_and(|region| region.is_dead()))
            .collect();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let Some((generation, _)) = entry.file_name().to_str().and_then(parse_name) else { continue };
            if generation < newest && !kept.contains(&generation) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(dead)
    }

    /// Number of the nginx cycle that the region belongs to.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Number of workers that the region has slots for.
    pub fn workers(&self) -> usize {
        self.layout.participants - 1
    }

    /// The slot of worker `n`, below [`Region::workers`].
    pub fn slot(&self, n: usize) -> &Slot {
        assert!(n < self.workers(), "worker {n} of {}", self.workers());
        self.participant(n)
    }

    /// The slots of all workers.
    pub fn slots(&self) -> impl Iterator<Item = &Slot> {
        (0..self.workers()).map(|n| self.participant(n))
    }

    /// The slot of control.
    pub fn control(&self) -> &Slot {
        self.participant(self.workers())
    }

    /// Declares dead participants gone, so that no participant waits for them and what they owned is free; returns how many. A successor
    /// that attaches meanwhile is not touched. Asks `/proc`, so once a second is enough.
    pub fn reap(&self) -> usize {
        self.slots().filter(|slot| slot.retire_if_dead()).count()
    }

    /// Attaches a participant. It takes over the messages of the process that had this address before, and frees its keys. All
    /// others are woken once, in case it died between sending something and waking them.
    ///
    /// The caller sees to it that there is one process for an address: nginx starts a worker's successor when it has
    /// reaped the worker, and control holds the journal's lock.
    pub fn attach(self: &Arc<Region>, me: Address) -> Result<Endpoint, BusError> {
        let workers = self.workers();
        let index = self.index(me).ok_or(BusError::NoSlot { address: me, workers })?;
        Ok(Endpoint::attach(Arc::clone(self), me, index))
    }

    fn is_dead(&self) -> bool {
        let age = Duration::from_millis(now_ms().saturating_sub(self.header().created_ms));
        let used = self.slots().any(|slot| slot.incarnation() > 0);
        (used || age > UNUSED) && !self.slots().any(Slot::lives)
    }

    pub(crate) fn index(&self, address: Address) -> Option<usize> {
        match address {
            Address::Worker(n) => Some(usize::from(n)).filter(|&n| n < self.workers()),
            Address::Control => Some(self.workers()),
        }
    }

    pub(crate) fn address(&self, index: usize) -> Address {
        if index == self.workers() { Address::Control } else { Address::Worker(index as u16) }
    }

    pub(crate) fn participants(&self) -> usize {
        self.layout.participants
    }

    pub(crate) fn bell(&self, index: usize) -> &Arc<Bell> {
        &self.bells[index]
    }

    /// The slot of the participant with this index: workers first, then control.
    pub(crate) fn participant(&self, index: usize) -> &Slot {
        assert!(index < self.layout.participants);
        // SAFETY: the layout has a slot for each participant, all of them atomics; the mapping lives as long as `self`.
        unsafe { &*self.at::<Slot>(self.layout.slots).add(index) }
    }

    /// The ring from one participant to another.
    pub(crate) fn ring(&self, from: usize, to: usize) -> Ring<'_> {
        assert!(from < self.layout.participants && to < self.layout.participants);
        let pair = self.layout.pair(from, to);
        let (at, bytes) = self.layout.ring(from, to);
        // SAFETY: the layout has indices for each pair, all of them atomics.
        let indices = unsafe { &*self.at::<Indices>(self.layout.indices).add(pair) };
        Ring { indices, bytes: self.at(at), words: (bytes / 8) as u64 }
    }

    /// Length in bytes of the ring from one participant to another.
    pub(crate) fn ring_bytes(&self, from: usize, to: usize) -> usize {
        self.layout.ring(from, to).1
    }

    /// Calls `f` with the owner table and the key's hash.
    pub(crate) fn owners<R>(&self, key: &[u8], f: impl FnOnce(Owners<'_>, u64) -> R) -> R {
        let header = self.header();
        // SAFETY: the layout has this many entries, all of them atomics.
        let entries = unsafe { std::slice::from_raw_parts(self.at::<Entry>(self.layout.owners), OWNER_ENTRIES) };
        let living = |worker: u16| {
            let life = (usize::from(worker) < self.workers()).then(|| self.slot(usize::from(worker)).life())?;
            life.receives().then(|| life.incarnation())
        };
        f(Owners { entries, claims: &header.claims, living: &living }, key::hash(header.seed, key))
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping begins with a header whose plain fields nobody changes who keeps to the rules; any are valid.
        unsafe { &*self.at::<Header>(0) }
    }

    fn at<T>(&self, offset: usize) -> *mut T {
        debug_assert!(offset < self.layout.bytes);
        // SAFETY: the layout's offsets lie within the mapping.
        unsafe { self.map.as_mut_ptr().add(offset).cast() }
    }
}

pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

fn region_path(dir: &Path, generation: u64) -> PathBuf {
    dir.join(format!("bus.{generation}"))
}

/// Generation and the rest of a file's name, "" for a region itself. None if it is not a file of the bus.
fn parse_name(name: &str) -> Option<(u64, &str)> {
    let name = name.strip_prefix("bus.")?;
    let (generation, rest) = name.split_once('.').unwrap_or((name, ""));
    // Only the way in which names are written: "+7" and "007" are someone else's.
    let generation = generation.parse::<u64>().ok().filter(|parsed| parsed.to_string() == generation)?;
    Some((generation, rest))
}

/// The bells of a region in the order of participants.
fn bells(
    dir: &Path,
    generation: u64,
    workers: usize,
    bell: impl Fn(&Path) -> Result<Bell, BusError>,
) -> Result<Vec<Arc<Bell>>, BusError> {
    let mut bells = (0..workers)
        .map(|n| bell(&dir.join(format!("bus.{generation}.bell-{n}"))).map(Arc::new))
        .collect::<Result<Vec<_>, _>>()?;
    bells.push(ControlBell::open(dir)?.0);
    Ok(bells)
}

/// The bells of workers whose region is private, see the top of this file.
pub fn ringers_without_region(dir: &Path) -> io::Result<Vec<Ringer>> {
    let mut bells = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some((generation, bell)) = name.to_str().and_then(parse_name) else { continue };
        if bell.starts_with("bell-") && !region_path(dir, generation).exists() {
            bells.extend(Bell::open(&entry.path()).map(|bell| Ringer(Arc::new(bell))));
        }
    }
    Ok(bells)
}

/// Words of the header's beginning, see [`Header`].
const HEADER_WORDS: usize = 8;

fn header_bytes(generation: u64, layout: &Layout) -> Vec<u8> {
    let mut seed = [0u64; 2];
    // SAFETY: the call fills the 16 bytes of `seed`; so few are never given in parts, and an early boot without
    // randomness leaves a seed that works as well.
    unsafe { libc::getrandom(seed.as_mut_ptr().cast(), size_of_val(&seed), libc::GRND_NONBLOCK) };
    let (workers, bytes) = (layout.participants - 1, layout.bytes);
    let words: [u64; HEADER_WORDS] =
        [MAGIC, generation, workers as u64, RING_BYTES as u64, bytes as u64, now_ms(), seed[0], seed[1]];
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Makes a region without a file.
fn private(generation: u64, layout: &Layout, path: &Path) -> Result<MmapRaw, BusError> {
    // SAFETY: the name is a C string; the result is checked.
    let fd = unsafe { libc::memfd_create(c"weir-bus".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(BusError::io("make memory for", path)(io::Error::last_os_error()));
    }
    // SAFETY: the descriptor is open, and nobody else's.
    let file = unsafe { File::from_raw_fd(fd) };
    file.set_len(layout.bytes as u64).map_err(BusError::io("size", path))?;
    file.write_all_at(&header_bytes(generation, layout), 0).map_err(BusError::io("write", path))?;
    map(&file, path, layout.bytes)
}

/// Makes the file with its header, and reserves all its blocks.
fn write_new(path: &Path, generation: u64, layout: &Layout) -> Result<File, BusError> {
    let _ = fs::remove_file(path);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(BusError::io("create", path))?;
    file.set_len(layout.bytes as u64).map_err(BusError::io("size", path))?;
    reserve(&file, 0, layout.bytes).map_err(BusError::io("reserve memory for", path))?;
    file.write_all_at(&header_bytes(generation, layout), 0).map_err(BusError::io("write", path))?;
    Ok(file)
}

fn map(file: &File, path: &Path, bytes: usize) -> Result<MmapRaw, BusError> {
    MmapOptions::new().len(bytes).map_raw(file).map_err(BusError::io("map", path))
}

/// Gives a part of the file its blocks, so that touching it cannot fail. A file system that cannot do it is taken as is.
pub(crate) fn reserve(file: &File, offset: usize, bytes: usize) -> io::Result<()> {
    // SAFETY: the call reads no memory.
    let result = unsafe {
        libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, offset as libc::off_t, bytes as libc::off_t)
    };
    match io::Error::last_os_error() {
        _ if result == 0 => Ok(()),
        error if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(()),
        error => Err(error),
    }
}

#[cfg(test)]
mod tests;
