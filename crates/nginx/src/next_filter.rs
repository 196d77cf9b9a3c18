//! The filter behind one of ours.
//!
//! nginx links filters through a global per kind, the first to be called: each module keeps what was first before, and puts
//! its own in that place.

use std::cell::Cell;

/// The filter that is called after ours, of one of nginx's types for optional filters.
pub struct NextFilter<F>(Cell<F>);

// SAFETY: written while the configuration is read, in the only thread.
unsafe impl<F> Sync for NextFilter<F> {}

impl<F: Copy> NextFilter<F> {
    /// For a filter that is not installed yet: `none`.
    pub const fn new(none: F) -> Self {
        Self(Cell::new(none))
    }

    /// Puts `ours` before those that are there.
    ///
    /// # Safety
    /// Called while the configuration is read; `first` is nginx's global for this kind of filter.
    pub unsafe fn install(&self, first: *mut F, ours: F) {
        // SAFETY: as the caller promises.
        self.0.set(unsafe { first.replace(ours) });
    }

    /// The next filter.
    #[inline]
    pub fn get(&self) -> F {
        self.0.get()
    }
}
