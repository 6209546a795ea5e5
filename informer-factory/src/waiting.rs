//! Waiting for several informers at once, and for none from a thread of one of them.

use std::time::Duration;

use informer_core::{AnyInformer, Clock, Error, ErrorKind, Result, Stage};

/// An informer, and what an error calls it: `pods`, `pods in shop`.
pub(crate) type Named = (String, Box<dyn AnyInformer>);

/// What an error calls an informer that is restricted to `namespace`, unless that is empty.
pub(crate) fn called(informer: &dyn AnyInformer, namespace: &str) -> String {
    match namespace {
        "" => informer.name().to_owned(),
        _ => format!("{} in {namespace}", informer.name()),
    }
}

/// Waits until each holds its first complete list, for at most `timeout` for all of them together.
pub(crate) fn wait_for_all(clock: &dyn Clock, timeout: Duration, informers: Vec<Named>) -> Result<()> {
    let until = clock.now().checked_add(timeout);
    let mut late: Vec<(String, Error)> = Vec::new();
    for (name, informer) in informers {
        let left = until.map_or(timeout, |until| until.saturating_duration_since(clock.now()));
        match informer.wait_synced(left) {
            Ok(()) => {}
            Err(error) if error.is_would_block() => return Err(error),
            Err(error) => late.push((name, error)),
        }
    }
    late.sort_by(|(one, _), (other, _)| one.cmp(other));
    if late.is_empty() {
        return Ok(());
    }
    let stopped = late.iter().all(|(_, error)| error.is_stopped());
    let names: Vec<String> = late.iter().map(|(name, error)| why_late(name, error)).collect();
    let names = names.join("; ");
    let error = if stopped {
        Error::new(ErrorKind::Stopped, format!("not every cache was synced: {names}"))
    } else {
        Error::new(ErrorKind::TimedOut, format!("not every cache was synced within {timeout:?}: {names}"))
    };
    Err(match late.iter().find_map(|(_, error)| last_error(error)) {
        Some(last) => error.with_source(last.clone()).at(Stage::Wait),
        None => error.at(Stage::Wait),
    })
}

/// Looks whether this is a thread of one of these informers, before any is waited for: the handlers of two of them
/// that both shut the factory down would otherwise wait for each other.
pub(crate) fn would_wait_for_itself<'a>(
    informers: impl IntoIterator<Item = &'a (dyn AnyInformer + 'a)>,
) -> Result<()> {
    for informer in informers {
        match informer.join_timeout(Duration::ZERO) {
            Err(error) if error.is_would_block() => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The last error of an informer, which is the cause of a wait's.
fn last_error(wait: &Error) -> Option<&Error> {
    std::error::Error::source(wait)?.downcast_ref()
}

/// Why `name` is not synced.
fn why_late(name: &str, error: &Error) -> String {
    match last_error(error) {
        Some(last) => format!("{name}: {}", last.chain()),
        None if error.is_stopped() => format!("{name} was stopped"),
        None => format!("{name} has had no complete list and no error"),
    }
}
