//! What the master opens before it forks: the journal and the bus. Workers have no right to open
//! anything in the runtime directory; they inherit.

use std::fs::{DirBuilder, OpenOptions};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use weir_bus::{Address, BusError, Endpoint, JournalError, Reader, Region};

/// The journal and the bus of one cycle; closed when the cycle's last process is done with it.
pub struct Link {
    journal: OwnedFd,
    /// The directory with the contents of files. Workers may search it, not list it.
    objects: Option<OwnedFd>,
    region: Result<Arc<Region>, String>,
}

/// Why workers of this build could not read the journal that is there; `None` if they could, or if there is none.
pub fn other_format(dir: &Path) -> Option<JournalError> {
    let mut reader = Reader::open(dir).ok()?;
    let read = reader.next(&mut Vec::new()).map(|_| ());
    read.err().filter(|error| matches!(error, JournalError::OtherFormat { .. }))
}

impl Link {
    /// Opens the journal, or makes an empty one, and makes the region of this cycle. Without the bus workers look at the
    /// journal once a second; with a bus that control cannot see, they are woken, and acknowledge in the control file.
    pub fn open(dir: &Path, generation: u64, workers: usize) -> Result<Self, JournalError> {
        let reader = Reader::create_or_open(dir)?;
        let journal = reader.as_fd().try_clone_to_owned().map_err(|source| JournalError::Io {
            what: "share",
            path: dir.to_owned(),
            source,
        })?;
        // Failing to is no harm: it is tried again with the next cycle.
        let _ = Region::remove_dead(dir);
        let region = Region::create(dir, generation, workers);
        let region = region.map(Arc::new).map_err(|error| error.to_string());
        Ok(Self { journal, objects: open_objects(&dir.join("objects")), region })
    }

    /// The directory with the contents of files, if it is there.
    pub fn objects(&self) -> Option<BorrowedFd<'_>> {
        self.objects.as_ref().map(AsFd::as_fd)
    }

    /// Why there is no bus, or none that control sees.
    pub fn fault(&self) -> Option<String> {
        match &self.region {
            Ok(region) => region.fault().map(ToString::to_string),
            Err(error) => Some(error.clone()),
        }
    }

    /// Takes part in the bus as the worker with this number.
    pub fn attach(&self, worker: usize) -> Result<Endpoint, String> {
        let region = self.region.as_ref().map_err(Clone::clone)?;
        let number = u16::try_from(worker).unwrap_or(u16::MAX);
        region.attach(Address::Worker(number)).map_err(|error: BusError| error.to_string())
    }

    /// A reader of the journal from its beginning, for this process alone.
    pub fn reader(&self) -> Result<Reader, String> {
        let own = self.journal.try_clone().map_err(|error| format!("cannot share the journal: {error}"))?;
        Reader::from_fd(own).map_err(|error| error.to_string())
    }
}

/// Opens the directory to be searched only, and makes it if control has not been there yet.
fn open_objects(dir: &Path) -> Option<OwnedFd> {
    let _ = DirBuilder::new().mode(0o711).create(dir);
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    OpenOptions::new().read(true).custom_flags(flags).open(dir).ok().map(OwnedFd::from)
}
