//! Which informer the current thread belongs to, so that no call waits for its own thread (D12).

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sync::thread_local;

/// No informer.
const NONE: u64 = 0;

thread_local!(static INFORMER: Cell<u64> = const { Cell::new(NONE) });

/// A number no other informer of the process has.
pub(super) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(NONE + 1);
    NEXT.fetch_add(1, Ordering::Relaxed) // only uniqueness counts
}

/// Says that the current thread is one of informer `id`'s, for the rest of its life.
pub(super) fn enter(id: u64) {
    INFORMER.with(|mine| mine.set(id));
}

/// Whether the current thread is one of informer `id`'s: the reader, the pop thread, or a handler's own. The answer
/// never depends on whether a handler has been promoted.
pub(crate) fn runs_on_thread_of(id: u64) -> bool {
    // A destructor of another thread-local may run after ours is gone; that thread is ending and waits for nobody.
    INFORMER.try_with(Cell::get).is_ok_and(|mine| mine == id && id != NONE)
}

/// While this lives, the current thread counts as one of informer `id`'s.
pub(super) struct Visit {
    before: u64,
}

/// Makes the current thread count as one of informer `id`'s for a while.
pub(super) fn visit(id: u64) -> Visit {
    Visit { before: INFORMER.try_with(|mine| mine.replace(id)).unwrap_or(NONE) }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let _ = INFORMER.try_with(|mine| mine.set(self.before));
    }
}
