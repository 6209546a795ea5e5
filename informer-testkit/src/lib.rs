//! Test tools.
