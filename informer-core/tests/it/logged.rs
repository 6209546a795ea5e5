//! The library's log lines, for what a test can see nowhere else.

use std::sync::Once;

use informer_core::sync::Mutex;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Keeper;

impl log::Log for Keeper {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn && metadata.target().starts_with("informer")
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            LINES.lock().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Keeps what is logged as a warning or worse from now on.
pub(crate) fn keep() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&Keeper).unwrap();
        log::set_max_level(log::LevelFilter::Warn);
    });
}

/// What was logged about `name`, an informer that no other test has.
pub(crate) fn about(name: &str) -> Vec<String> {
    let start = format!("{name}: ");
    LINES.lock().iter().filter(|line| line.starts_with(&start)).cloned().collect()
}
