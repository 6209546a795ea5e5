//! The outermost link of the chain: notes whether a connection was reused and whether an answer came.
//!
//! Invariant: what is noted is plaintext; a TLS alert on a connection that the server closed is no answer.

use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};

use super::scope;

#[derive(Debug)]
pub(super) struct ObserveConnector;

impl<In: Transport> Connector<In> for ObserveConnector {
    type Out = Observed<In>;

    fn connect(
        &self,
        _: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        Ok(chained.map(|inner| Observed { inner, opened_in: scope::current_id() }))
    }
}

/// A connection that remembers which request opened it.
#[derive(Debug)]
pub(super) struct Observed<T> {
    inner: T,
    opened_in: u64,
}

impl<T: Transport> Transport for Observed<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        if let Some(scope) = scope::current().filter(|scope| scope.id() != self.opened_in) {
            scope.note_reused();
        }
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        let more = self.inner.await_input(timeout)?;
        if more && let Some(scope) = scope::current() {
            scope.note_answered();
        }
        Ok(more)
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}
