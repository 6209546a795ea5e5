//! [`Buffer`]: bytes that were received and not yet used.
//!
//! It grows with what must be held at once and shrinks again afterwards (F-17): when nothing large is pending,
//! at most [`KEPT`] bytes stay.

/// What an idle stream holds.
const FIRST: usize = 16 << 10;
/// What a busy one reads at a time.
const BUSY: usize = 64 << 10;
/// What stays after a large frame.
pub(crate) const KEPT: usize = 256 << 10;
/// Less room than this is not worth a read.
const ROOM: usize = 8 << 10;
/// Up to here the buffer doubles; then it grows by half, because what it holds will soon exist a second time.
const DOUBLING: usize = 1 << 20;

/// A window over received bytes: written at its end, used up from its start.
#[derive(Debug)]
pub(crate) struct Buffer {
    /// All of it initialised; `start..end` is pending.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// The last read filled all the room it got.
    busy: bool,
}

impl Buffer {
    pub(crate) fn new() -> Self {
        Buffer { bytes: vec![0; FIRST], start: 0, end: 0, busy: false }
    }

    /// What was received and not yet used.
    pub(crate) fn pending(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Uses up the first `n` pending bytes.
    pub(crate) fn consume(&mut self, n: usize) {
        debug_assert!(n <= self.end - self.start, "only pending bytes are used up");
        self.start = (self.start + n).min(self.end);
    }

    /// Where the next bytes go; never empty. [`filled`](Buffer::filled) says how many came.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if KEPT < self.bytes.len() && self.end - self.start <= KEPT / 4 {
            self.compact();
            self.bytes.truncate(KEPT);
            self.bytes.shrink_to_fit();
        }
        if self.busy && self.bytes.len() < BUSY {
            self.bytes.resize(BUSY, 0);
        }
        if self.bytes.len() - self.end < ROOM {
            self.compact();
        }
        if self.bytes.len() - self.end < ROOM {
            let len = self.bytes.len();
            let more = if len < DOUBLING { len } else { len / 2 };
            self.bytes.reserve_exact(more);
            self.bytes.resize(len + more, 0);
        }
        &mut self.bytes[self.end..]
    }

    /// `n` bytes were written to the front of [`space`](Buffer::space).
    pub(crate) fn filled(&mut self, n: usize) {
        let room = self.bytes.len() - self.end;
        debug_assert!(n <= room, "a read stays within the room it got");
        self.busy = n == room;
        self.end += n.min(room);
    }

    fn compact(&mut self) {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
    }

    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(buffer: &mut Buffer, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = buffer.space();
            let n = bytes.len().min(space.len());
            space[..n].copy_from_slice(&bytes[..n]);
            buffer.filled(n);
            bytes = &bytes[n..];
        }
    }

    #[test]
    fn what_goes_in_comes_out_in_order() {
        let mut buffer = Buffer::new();
        let mut expected = Vec::new();
        for n in 0..2_000_usize {
            let bytes = vec![(n % 251) as u8; n % 700];
            push(&mut buffer, &bytes);
            expected.extend_from_slice(&bytes);
            let used = (n * 7) % (expected.len() + 1);
            buffer.consume(used);
            expected.drain(..used);
            assert_eq!(buffer.pending(), expected);
        }
    }

    #[test]
    fn f_17_the_buffer_shrinks_after_a_large_frame() {
        let mut buffer = Buffer::new();
        push(&mut buffer, &vec![7; 5 << 20]);
        assert!(buffer.held() <= 8 << 20, "{} for 5 MiB", buffer.held());
        buffer.consume((5 << 20) - 100);
        buffer.space();
        assert!(buffer.held() <= KEPT, "{}", buffer.held());
        assert_eq!(buffer.pending(), [7; 100]);
    }

    #[test]
    fn an_idle_stream_holds_little() {
        let mut buffer = Buffer::new();
        for _ in 0..1_000 {
            push(&mut buffer, &[1; 900]);
            buffer.consume(900);
        }
        assert_eq!(buffer.held(), FIRST);
    }
}
