//! Tables of patches.
