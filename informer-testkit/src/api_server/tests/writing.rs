//! writing
