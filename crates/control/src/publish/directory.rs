//! The runtime directory when it is not what it was: replaced while control runs, or files in it damaged.
//!
//! Whoever deletes or renames the directory leaves workers with the files of the old one. nginx's next reload makes a
//! new directory with an empty journal, and its workers answer nothing. So control looks once a second, and whenever a
//! file comes or goes, whether the journal's name still leads to the file that it writes. If not, it takes the lock of
//! the new one and begins it with the whole state. The old one is written as well, as long as a worker follows it.
//!
//! Starting the daemon anew was the alternative; it would close connections in which changes wait for their answer.

use std::os::unix::fs::{DirBuilderExt, MetadataExt};

use weir_bus::{ControlBell, Frame, JournalError, Place, Writer};

use super::bell::{Bell, NewFiles};
use super::captured::captured;
use super::publisher::Publisher;
use crate::error::ControlError;
use crate::log;
use crate::lost_pages;

/// Journals of earlier directories that are written at most.
const FORMER: usize = 4;

/// Looks in a row that find no journal before control makes a new one: whoever deletes the directory shall be done.
const MISSING: u32 = 2;

/// Looks in a row that find neither the journal nor a place for one before control ends.
const STRANDED: u32 = 5;

impl Publisher {
    /// Follows the runtime directory if it was replaced. `is_tick` is false when a file has come or gone.
    pub(super) fn follow_directory(&mut self, is_tick: bool) {
        let is_due = match self.writer.place() {
            Place::Kept => {
                self.missing = 0;
                false
            }
            Place::Taken => true,
            Place::Gone => {
                self.missing += u32::from(is_tick);
                self.missing >= MISSING
            }
        };
        if !is_due {
            return;
        }
        match self.move_in() {
            Ok(()) => {
                self.missing = 0;
                self.said_not_moved = false;
                log::warning!("{} was replaced: going on in the new one", self.runtime.display());
            }
            Err(error) => {
                if !std::mem::replace(&mut self.said_not_moved, true) {
                    log::failure!("{} was replaced, and cannot be used: {error}", self.runtime.display());
                }
            }
        }
    }

    fn move_in(&mut self) -> Result<(), ControlError> {
        let at = |what| ControlError::io(what, &self.runtime);
        // Its parent is not made: it may be gone because everything is to go.
        match std::fs::DirBuilder::new().mode(0o700).create(&self.runtime) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(at("make")(error)),
            _ => {}
        }
        let writer = Writer::open(&self.runtime)?;
        let bell = Bell::new(ControlBell::open(&self.runtime)?).map_err(at("watch the bell in"))?;
        let files = NewFiles::of(&self.runtime).map_err(at("watch"))?;
        let parts = self.parts.clone();
        let state = parts.state();
        for error in captured(&state).filter_map(|file| parts.objects.publish([&file]).err()) {
            log::failure!("the content of a file cannot be published: {error}");
        }
        let former = std::mem::replace(&mut self.writer, writer);
        if let Err(error) = self.rotate(&state) {
            self.writer = former;
            return Err(error.into());
        }
        (self.bell, self.files) = (bell, files);
        self.former.push(former);
        self.former.drain(..self.former.len().saturating_sub(FORMER));
        self.roster.move_in();
        self.roster.discover();
        self.roster.wake();
        Ok(())
    }

    /// Appends to the journal, and to those of earlier directories that workers still follow.
    pub(super) fn append_to_all(&mut self, frames: &[Frame<'_>]) -> Result<(), JournalError> {
        self.writer.append(frames)?;
        self.former.retain_mut(|former| {
            let appended = former.append(frames);
            appended.inspect_err(|error| log::warning!("no longer written, reload nginx: {error}")).is_ok()
        });
        Ok(())
    }

    /// Whether the path leads to a directory that was deleted, in which nothing can be made: in a mount namespace of the
    /// service manager. Whoever started the daemon starts it again, in a new one.
    pub(super) fn is_stranded(&self) -> bool {
        self.missing > STRANDED && std::fs::metadata(&self.runtime).is_ok_and(|about| about.nlink() == 0)
    }

    /// Lets go of journals that nobody follows any more, and of memory that has lost pages.
    pub(super) fn look_after_files(&mut self) {
        self.follow_directory(true);
        if !self.former.is_empty() && !self.roster.has_former() {
            self.former.clear();
        }
        let lost = lost_pages::take();
        if lost == 0 {
            return;
        }
        log::failure!(
            "{lost} pages of files in {} are gone: a file was truncated, or a worker gave its memory back while the file \
             system was full; reload nginx, and look whether its workers are what they should be",
            self.runtime.display()
        );
        self.roster.leave_all();
        if let Err(error) = self.writer.map_again() {
            log::failure!("{error}");
        }
        self.roster.discover();
    }
}
