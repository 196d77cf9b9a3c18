//! Dropping unreferenced data, a little at a time.
//!
//! Dropping the last reference to a gateway of 10,000 routes frees some 100,000 pieces: 30 ms, in which a worker would
//! answer nobody. So a thread may *postpone*: the pieces whose last reference goes are kept, and [`take_down`] drops a
//! few of them with each call, which in turn lets go of the pieces below. What a living gateway shares is not touched,
//! as ever. All that can be large hangs on pointers of this kind: maps, lists of routes, trees of weights, circles.
//!
//! Each piece was made by an operation that took longer than taking it down does. Who takes down for as long as it
//! applies operations, whenever something is left, therefore needs no bound: memory does not grow meanwhile.
//! What lost: removing the ids that a revision touched one by one. It copies paths that are shared, has to know what
//! was touched, and does not help where a request was the last to hold a gateway.

use std::{
    cell::{Cell, RefCell},
    ptr,
};

use archery::{RcK, SharedPointer, SharedPointerKind};

/// A reference-counted pointer whose contents are taken down later where that is wanted.
pub(crate) type Shared<T> = SharedPointer<T, Lazily>;

/// The kind of such pointers.
#[derive(Debug)]
pub(crate) struct Lazily(RcK);

/// An unreferenced piece.
struct Piece {
    /// The last reference.
    last: RcK,
    /// Drops the piece, according to its type.
    drop: unsafe fn(&mut RcK),
}

thread_local! {
    static POSTPONES: Cell<bool> = const { Cell::new(false) };
    /// A stack: everything below a piece is dropped before the next piece, so that few wait at a time.
    static LEFT: RefCell<Vec<Piece>> = const { RefCell::new(Vec::new()) };
}

/// Makes this thread keep dropped pieces until [`take_down`] is called. Pieces left when the thread ends are leaked.
pub fn postpone() {
    POSTPONES.set(true);
}

/// Takes down at most `most` pieces; says whether any are left. A piece is up to 64 routes, or 16 members, 100 ns each,
/// a few times that if they are in no cache.
pub fn take_down(most: usize) -> bool {
    for _ in 0..most {
        // The list is not borrowed while a piece is dropped, since that adds to it.
        let Some(mut piece) = LEFT.with_borrow_mut(Vec::pop) else { return false };
        // SAFETY: `drop` is that of the pointer's type, and this is its last use.
        unsafe { (piece.drop)(&mut piece.last) };
    }
    !is_done()
}

/// Whether no piece is left.
#[must_use]
pub fn is_done() -> bool {
    LEFT.with_borrow(Vec::is_empty)
}

/// Keeps a piece for later; returns it if this thread does not postpone, or is about to end.
fn keep(piece: Piece) -> Result<(), Piece> {
    if !POSTPONES.try_with(Cell::get).unwrap_or(false) {
        return Err(piece);
    }
    let mut piece = Some(piece);
    let _ = LEFT.try_with(|left| left.borrow_mut().extend(piece.take()));
    piece.map_or(Ok(()), Err)
}

// SAFETY: everything is RcK's, but for the time at which contents are dropped. The crate keeps only types without
// borrowed parts behind these pointers, and neither they nor the list leave their thread.
unsafe impl SharedPointerKind for Lazily {
    fn new<T>(value: T) -> Self {
        Self(RcK::new(value))
    }

    fn from_box<T>(value: Box<T>) -> Self {
        Self(RcK::from_box(value))
    }

    unsafe fn as_ptr<T>(&self) -> *const T {
        // SAFETY: the caller's promise, as in all that follow.
        unsafe { self.0.as_ptr::<T>() }
    }

    #[inline]
    unsafe fn deref<T>(&self) -> &T {
        // SAFETY: as above.
        unsafe { self.0.deref::<T>() }
    }

    unsafe fn try_unwrap<T>(self) -> Result<T, Self> {
        // SAFETY: as above.
        unsafe { self.0.try_unwrap::<T>().map_err(Self) }
    }

    unsafe fn get_mut<T>(&mut self) -> Option<&mut T> {
        // SAFETY: as above.
        unsafe { self.0.get_mut::<T>() }
    }

    unsafe fn make_mut<T: Clone>(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { self.0.make_mut::<T>() }
    }

    unsafe fn strong_count<T>(&self) -> usize {
        // SAFETY: as above.
        unsafe { self.0.strong_count::<T>() }
    }

    #[inline]
    unsafe fn clone<T>(&self) -> Self {
        // SAFETY: as above.
        Self(unsafe { self.0.clone::<T>() })
    }

    #[inline]
    unsafe fn drop<T>(&mut self) {
        // SAFETY: as above. The copy of the pointer is the only one in use: nobody touches `self` after this call.
        unsafe {
            if self.0.strong_count::<T>() > 1 {
                return self.0.drop::<T>();
            }
            if let Err(mut piece) = keep(Piece { last: ptr::read(&raw const self.0), drop: RcK::drop::<T> }) {
                (piece.drop)(&mut piece.last);
            }
        }
    }
}

#[cfg(test)]
mod tests;
