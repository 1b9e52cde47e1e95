//! Common replies, for which a client knows the positions of the varying fields.

use super::{Announced, Inbox};
use crate::Form;

impl Inbox {
    /// Drops the message announced before, and returns whether nothing arrived after it.
    #[inline(always)]
    pub fn is_clear(&mut self) -> bool {
        self.release();
        self.buffer.len() == self.front
    }

    /// Announces what was just read into a [clear](Self::is_clear) inbox if it is exactly one
    /// common reply to request `id`. Otherwise [`poll`](Self::poll) must process it.
    #[inline(always)]
    pub fn announce_reply(&mut self, form: &Form, id: u32) -> bool {
        debug_assert!(matches!(self.announced, Announced::Nothing) && self.start == self.front);
        let message = &self.buffer[self.front..];
        match form.read_reply(message, id) {
            Some(header) if message.len() <= self.limits.max_message => {
                self.announced = Announced::InBuffer(header);
                true
            }
            _ => false,
        }
    }
}
