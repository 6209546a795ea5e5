//! Dropping user data: outside every lock, and with a net under it.
//!
//! A destructor of a handler, an object or an index value is user code. Where one panics it is logged, and nobody
//! else is harmed (D3).

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Drops `value`; a panic in its destructor ends here.
pub(crate) fn discard<V>(value: V) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        log::error!(target: "informer::handler", "a destructor of user data panicked");
        std::mem::forget(payload); // its destructor may well do the same
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
