//! Integration tests.
mod guarantees;
