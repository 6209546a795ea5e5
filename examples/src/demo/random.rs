//! [`Random`]: a small source of numbers that is the same for equal seeds (splitmix64).

/// Not for secrets.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn seeded(seed: u64) -> Self {
        Random(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.bits() % (high - low + 1)
    }

    /// True in `percent` of a hundred cases.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.between(1, 100) <= percent
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        match from.len() {
            0 => None,
            len => from.get(self.between(0, len as u64 - 1) as usize),
        }
    }

    /// The end of a name, in the letters that Kubernetes uses: none makes a word.
    pub(super) fn suffix(&mut self, length: usize) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        (0..length).filter_map(|_| self.pick(LETTERS).map(|letter| char::from(*letter))).collect()
    }
}
