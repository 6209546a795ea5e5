//! User code with a net under it: calling it, and dropping what belongs to it. Outside every lock.
//!
//! A destructor of a handler, an object or an index value is user code, and so is that of a panic's payload. Where one
//! panics it is logged, and nobody else is harmed (D3).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Calls user code; none if it panicked.
pub(crate) fn contain<R>(call: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(call)).map_err(discard).ok()
}

/// Drops `value`; a panic in its destructor ends here.
pub(crate) fn discard<V>(value: V) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        log::error!(target: "informer::handler", "a destructor of user data panicked");
        std::mem::forget(payload); // its destructor may well do the same
    }
}

/// Lets go of a shared value; the last one to do so drops it as [`discard`] does.
pub(crate) fn let_go<V>(shared: Arc<V>) {
    if let Some(value) = Arc::into_inner(shared) {
        discard(value);
    }
}

/// As [`discard`], for each of many: one that panics does not take the others with it.
pub(crate) fn discard_all<V>(values: impl IntoIterator<Item = V>) {
    for value in values {
        discard(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d3_a_payload_that_panics_in_its_turn_is_contained_too() {
        struct Payload;
        impl Drop for Payload {
            fn drop(&mut self) {
                panic!("told to");
            }
        }
        assert_eq!(contain(|| std::panic::panic_any(Payload)), None::<()>);
        assert_eq!(contain(|| 1), Some(1));
    }

    #[test]
    fn the_last_one_to_let_go_is_contained() {
        struct Loud;
        impl Drop for Loud {
            fn drop(&mut self) {
                panic!("told to");
            }
        }
        let shared = Arc::new(Loud);
        let weak = Arc::downgrade(&shared);
        let_go(Arc::clone(&shared));
        assert_eq!(weak.strong_count(), 1);
        let_go(shared);
        assert_eq!(weak.strong_count(), 0);
    }

    #[test]
    fn one_that_panics_does_not_take_the_others_with_it() {
        struct Loud<'a>(&'a mut u32);
        impl Drop for Loud<'_> {
            fn drop(&mut self) {
                *self.0 += 1;
                panic!("told to");
            }
        }
        let (mut a, mut b) = (0, 0);
        discard_all([Loud(&mut a), Loud(&mut b)]);
        assert_eq!((a, b), (1, 1));
    }
}
