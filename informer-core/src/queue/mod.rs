//! Queues that are bounded without losing anything: above a limit, entries of one object fold into fewer (D2).
//!
//! The same container ([`FoldQueue`]) stands behind the [`DeltaFifo`], which holds wire facts,
//! and behind each slow handler's backlog, which holds decided differences; they differ in their tables.

mod delta;
mod fifo;
mod fold;
#[cfg(test)]
mod tests;

pub(crate) use delta::{Deletion, Delta, Replace};
pub(crate) use fifo::{DeltaFifo, Taken};
pub(crate) use fold::{Fold, FoldQueue, Folded};
