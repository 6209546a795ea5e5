//! The rules of the store.
