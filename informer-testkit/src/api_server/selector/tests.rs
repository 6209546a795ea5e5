//! Tables of selectors.
