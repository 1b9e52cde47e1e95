//! Queue of a connection for the oneways of a [batch](super::batch), which one write sends.

use std::io::IoSlice;

use oxorb_transport::{Link, WriteError};

/// Maximum number of oneways that wait for one write, which is limited because the first of them waits until the last
/// is encoded.
const MOST: usize = 32;

/// Total size in octets of waiting oneways at which they are sent.
pub(super) const MOST_OCTETS: usize = 16 << 10;

/// Queue of encoded oneways.
#[derive(Default)]
pub(super) struct WaitingOneways {
    pub(super) octets: Vec<u8>,
    /// Tag and end of each oneway.
    pub(super) each: Vec<(u64, usize)>,
}

impl WaitingOneways {
    pub(super) fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// Reports whether the waiting oneways are to be sent without waiting for more.
    pub(super) fn is_enough(&self) -> bool {
        self.each.len() >= MOST || self.octets.len() >= MOST_OCTETS
    }

    pub(super) fn add(&mut self, mark: u64, message: &[u8]) {
        self.octets.extend_from_slice(message);
        self.each.push((mark, self.octets.len()));
    }

    /// Sends the waiting oneways by one write, and empties the queue.
    pub(super) fn send(&mut self, link: &dyn Link) -> Result<(), WriteError> {
        if !self.is_empty() {
            link.write(&mut [IoSlice::new(&self.octets)])?;
            self.octets.clear();
            self.each.clear();
        }
        Ok(())
    }
}
