//! [`Turns`]: whose turn it is, by number and by lot.

/// Which of the requests that a fault is for it may happen to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    /// So many are spared first.
    pub(super) skip: u64,
    /// The first after those, and no other.
    pub(super) only: bool,
    /// Every so many-th after those.
    pub(super) every: u64,
    /// One in so many of what is left, by lot.
    pub(super) one_in: u64,
    /// How often it may happen.
    pub(super) limit: Option<u64>,
}

impl Default for Turns {
    fn default() -> Self {
        Turns { skip: 0, only: false, every: 1, one_in: 1, limit: None }
    }
}

impl Turns {
    /// Whether the `index`-th request, counted from 0, may be struck; [`limit`](Turns::limit) is not looked at.
    pub(super) fn includes(&self, index: u64, seed: u64) -> bool {
        let Some(after) = index.checked_sub(self.skip) else {
            return false;
        };
        let in_row = !self.only || after == 0;
        // Neither divisor is 0: such a fault is refused.
        in_row && (after + 1).is_multiple_of(self.every) && draw(seed, index, 0).is_multiple_of(self.one_in)
    }
}

/// A number that depends on all three, evenly (splitmix64).
pub(super) fn draw(seed: u64, index: u64, salt: u64) -> u64 {
    mix(seed ^ mix(index.wrapping_mul(2).wrapping_add(salt)))
}

fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
