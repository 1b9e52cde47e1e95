//! Memory that the requests and answers of all clients may occupy.

use std::sync::Arc;

use hyper::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::Problem;

/// Memory for one purpose.
pub(super) struct Memory {
    free: Arc<Semaphore>,
    /// Number of octets in all.
    most: usize,
}

/// Octets that are occupied until this is dropped.
pub(super) struct Occupied(OwnedSemaphorePermit);

impl Memory {
    /// Creates a number of free octets.
    pub(super) fn new(octets: u32) -> Memory {
        let most = octets as usize;
        Memory { free: Arc::new(Semaphore::new(most)), most }
    }

    /// Returns the number of octets in all.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Occupies octets. Never waits.
    ///
    /// # Errors
    /// Fewer octets are free.
    pub(super) fn occupy(&self, octets: usize) -> Result<Occupied, Problem> {
        let full = || {
            let why = "the requests and answers of all clients occupy too much memory";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, why)
        };
        let octets = u32::try_from(octets).map_err(|_| full())?;
        let permit = Arc::clone(&self.free).try_acquire_many_owned(octets).map_err(|_| full())?;
        Ok(Occupied(permit))
    }
}

impl Occupied {
    /// Adds octets of the same memory.
    pub(super) fn add(&mut self, other: Occupied) {
        self.0.merge(other.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_are_free_again_after_their_use() {
        let memory = Memory::new(10);
        let mut some = memory.occupy(4).unwrap();
        some.add(memory.occupy(6).unwrap());
        assert!(memory.occupy(1).is_err());
        assert!(memory.occupy(usize::MAX).is_err());
        drop(some);
        assert!(memory.occupy(10).is_ok());
        assert!(memory.occupy(11).is_err());
    }
}
