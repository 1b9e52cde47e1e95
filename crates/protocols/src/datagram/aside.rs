//! Octets that a link has received and not yet returned.

/// Octets of complete messages, of which a part at the beginning was already returned.
#[derive(Default)]
pub(crate) struct Aside {
    pub(crate) octets: Vec<u8>,
    given: usize,
}

impl Aside {
    /// Reports whether all of them were returned, and clears them then.
    pub(crate) fn is_empty(&mut self) -> bool {
        let is_empty = self.given == self.octets.len();
        if is_empty {
            self.octets.clear();
            self.given = 0;
        }
        is_empty
    }

    /// Appends the next octets to `buffer`, at most `max`, and returns their number.
    pub(crate) fn give(&mut self, buffer: &mut Vec<u8>, max: usize) -> usize {
        let count = max.min(self.octets.len() - self.given);
        buffer.extend_from_slice(&self.octets[self.given..self.given + count]);
        self.given += count;
        count
    }
}
