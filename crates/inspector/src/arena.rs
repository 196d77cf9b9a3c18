//! Memory for one evaluation, kept for the next one of the thread: an arena of its own would cost a question some calls
//! of the allocator, more than a small policy costs altogether.

use std::cell::Cell;

use bumpalo::Bump;

/// An arena that has grown beyond this is given back.
const KEPT_BYTES: usize = 4 << 20;

thread_local! {
    static KEPT: Cell<Option<Bump>> = const { Cell::new(None) };
}

/// Lends an arena to `work`.
pub(crate) fn with<T>(work: impl FnOnce(&Bump) -> T) -> T {
    let mut arena = KEPT.take().unwrap_or_default();
    let result = work(&arena);
    if arena.allocated_bytes() <= KEPT_BYTES {
        arena.reset();
        KEPT.set(Some(arena));
    }
    result
}
