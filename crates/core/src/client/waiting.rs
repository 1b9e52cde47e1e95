//! Queue of a connection for the oneways of a [batch](super::batch), which leave by one write.

use std::io::IoSlice;

use oxorb_transport::{Link, WriteError};

/// Most oneways that wait for one write: the first of them waits until the last is encoded.
const MOST: usize = 32;

/// Octets of waiting oneways from which on they are written at once.
pub(super) const MOST_OCTETS: usize = 16 << 10;

/// Queue of encoded oneways.
#[derive(Default)]
pub(super) struct Waiting {
    pub(super) octets: Vec<u8>,
    /// Mark and end of each.
    pub(super) each: Vec<(u64, usize)>,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// Whether one write is to take what waits without more.
    pub(super) fn is_enough(&self) -> bool {
        self.each.len() >= MOST || self.octets.len() >= MOST_OCTETS
    }

    pub(super) fn add(&mut self, mark: u64, message: &[u8]) {
        self.octets.extend_from_slice(message);
        self.each.push((mark, self.octets.len()));
    }

    /// Sends what waits by one write, after which nothing does.
    pub(super) fn send(&mut self, link: &dyn Link) -> Result<(), WriteError> {
        if !self.is_empty() {
            link.write(&mut [IoSlice::new(&self.octets)])?;
            self.octets.clear();
            self.each.clear();
        }
        Ok(())
    }
}
