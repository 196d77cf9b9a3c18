//! What exact tests work with.

use bumpalo::Bump;
use weir_http::Work;

/// Memory for what tests make, and the work that they may do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scratch<'a> {
    pub(crate) arena: &'a Bump,
    pub(crate) work: &'a Work,
}

/// With memory of its own and any amount of work, for what is tested when rules are loaded.
pub(crate) fn at_load<R>(test: impl FnOnce(Scratch<'_>) -> R) -> R {
    test(Scratch { arena: &Bump::new(), work: &Work::unbounded() })
}
