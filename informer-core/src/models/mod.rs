//! Models: the production code of this crate under a model checker, which chooses who runs next at every lock.
//!
//! Invariant: a model holds no copy of what it is about, waits for states alone, and has failed on the edit that it
//! names, which `.ci/models` applies to a copy of the tree each time. `docs/design/models.md` has the table.

#[cfg(informer_shuttle)]
mod dispatch;
#[cfg(informer_shuttle)]
mod fifo;
#[cfg(informer_loom)]
mod kernels;
#[cfg(informer_shuttle)]
mod membership;
#[cfg(informer_shuttle)]
mod stage;
#[cfg(informer_shuttle)]
mod stop;
#[cfg(informer_shuttle)]
mod store;

/// A number from the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Runs `model` under random schedules, and under as many that preempt seldom but anywhere (PCT): together they find
/// what needs many switches and what needs few at the wrong moments. A thread that never ends is a deadlock.
///
/// The seed is fixed, so that a run can be repeated; `INFORMER_SCHEDULES` and `INFORMER_SEED` choose others.
#[cfg(informer_shuttle)]
fn check(model: impl Fn() + Send + Sync + 'static) {
    check_more(1, model);
}

/// As [`check`], with `times` as many schedules: for what few of them find.
#[cfg(informer_shuttle)]
fn check_more(times: usize, model: impl Fn() + Send + Sync + 'static) {
    use std::sync::Arc;

    use shuttle::scheduler::{PctScheduler, RandomScheduler};
    use shuttle::{Config, Runner};

    use crate::time::{Clock, SystemClock};

    let schedules = times * usize::try_from(number("INFORMER_SCHEDULES", 1_000)).unwrap();
    let seed = number("INFORMER_SEED", 1);
    let mut config = Config::new();
    config.stack_size = 1 << 18;
    config.silence_warnings = true; // about the orderings of atomics: there, the flags are under locks or alone
    let model = Arc::new(model);
    let began = SystemClock.now();
    let random = Arc::clone(&model);
    Runner::new(RandomScheduler::new_from_seed(seed, schedules), config.clone()).run(move || random());
    Runner::new(PctScheduler::new_from_seed(seed, 3, schedules), config).run(move || model());
    println!("2 x {schedules} schedules in {:.1} s", (SystemClock.now() - began).as_secs_f64());
}
