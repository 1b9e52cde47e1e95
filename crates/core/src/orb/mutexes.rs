//! Mutexes of an ORB that have names (RTCORBA::RTORB).

use std::sync::Arc;

use crate::{MutexNotFound, Orb, RtMutex};

impl Orb {
    /// The mutex of that name, and whether it was made for this (`create_named_mutex`). It lives until it is
    /// [destroyed](Self::destroy_named_mutex), or the ORB is gone. Takes a lock; allocates.
    pub fn create_named_mutex(&self, name: &str) -> (Arc<RtMutex>, bool) {
        self.named_mutexes().create(name)
    }

    /// The mutex of that name (`open_named_mutex`). Takes a lock.
    ///
    /// # Errors
    /// [`MutexNotFound`].
    pub fn open_named_mutex(&self, name: &str) -> Result<Arc<RtMutex>, MutexNotFound> {
        self.named_mutexes().open(name)
    }

    /// Forgets the mutex of that name (`destroy_mutex`); who has it may go on using it.
    ///
    /// # Errors
    /// [`MutexNotFound`].
    pub fn destroy_named_mutex(&self, name: &str) -> Result<(), MutexNotFound> {
        self.named_mutexes().destroy(name)
    }
}
