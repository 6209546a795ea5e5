//! The library's log lines, for what a test can see nowhere else.

use std::sync::Once;

use informer_core::sync::Mutex;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Keeper;

impl log::Log for Keeper {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target() == "informer::factory" || metadata.level() <= log::Level::Warn
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            LINES.lock().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Keeps what the factory logs, and what is logged as a warning or worse, from now on.
pub(crate) fn keep() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&Keeper).unwrap();
        log::set_max_level(log::LevelFilter::Debug);
    });
}

/// What was logged since.
pub(crate) fn lines() -> Vec<String> {
    LINES.lock().clone()
}
