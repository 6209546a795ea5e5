//! [`Backoff`]: the delays between attempts (R-2, D6). Pure and seeded.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// The delays of one informer: exponential from a start to a cap, each with jitter of up to 100 %.
///
/// The defaults are client-go's: a delay is uniform in `[d, 2d)` with d = 0.8, 1.6, 3.2 … 30 s. It goes back to the
/// start by [`reset`](Backoff::reset), which the reflector calls after a stream that has been alive for 30 s, not
/// by the wall clock.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    start: Duration,
    cap: Duration,
    next: Duration,
    random: Random,
}

impl Backoff {
    /// Delays from `start`, doubling, to `cap`.
    #[must_use]
    pub(crate) fn new(start: Duration, cap: Duration, random: Random) -> Self {
        Backoff { start, cap, next: start.min(cap), random }
    }

    /// The next delay.
    pub(crate) fn delay(&mut self) -> Duration {
        let base = self.next;
        self.next = base.saturating_mul(2).min(self.cap);
        base + base.mul_f64(self.random.fraction())
    }

    /// Starts again from the shortest delay.
    pub(crate) fn reset(&mut self) {
        self.next = self.start.min(self.cap);
    }
}

/// A small random source for jitter; not for secrets.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The same numbers for the same seed.
    #[must_use]
    pub(crate) fn seeded(seed: u64) -> Self {
        Random(seed)
    }

    /// Other numbers in every process and for every informer.
    #[must_use]
    pub(crate) fn from_process() -> Self {
        // The standard library's hasher is seeded by the operating system.
        Random(RandomState::new().hash_one(0))
    }

    /// The next 64 bits (splitmix64).
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in `[0, 1)`.
    pub(crate) fn fraction(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
        let bits = (self.bits() >> 11) as f64;
        bits / (1u64 << 53) as f64
    }

    /// A number in `[low, high]`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.bits() % (high.saturating_sub(low) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_2_delays_double_to_the_cap_with_jitter() {
        for seed in 0..200 {
            let mut backoff =
                Backoff::new(Duration::from_millis(800), Duration::from_secs(30), Random::seeded(seed));
            for base in [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0] {
                let delay = backoff.delay().as_secs_f64();
                assert!((base..2.0 * base).contains(&delay), "{delay} of {base}");
            }
            backoff.reset();
            assert!(backoff.delay() < Duration::from_millis(1600));
        }
    }

    #[test]
    fn seeds_decide_and_processes_differ() {
        assert_eq!(Random::seeded(7).bits(), Random::seeded(7).bits());
        let mut random = Random::from_process();
        let drawn: std::collections::HashSet<u64> = (0..64).map(|_| random.between(300, 600)).collect();
        assert!(drawn.len() > 8 && drawn.iter().all(|n| (300..=600).contains(n)));
    }
}
