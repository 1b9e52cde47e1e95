//! Named mutexes of an ORB (RTCORBA::RTORB).

use std::sync::Arc;

use crate::{MutexNotFound, Orb, RtMutex};

impl Orb {
    /// Returns the mutex of a name, and whether this call made it (`create_named_mutex`). The name is kept until it is
    /// [destroyed](Self::destroy_named_mutex), or the ORB is gone. Takes a lock; allocates.
    pub fn create_named_mutex(&self, name: &str) -> (Arc<RtMutex>, bool) {
        self.named_mutexes().create(name)
    }

    /// Returns the mutex of a name (`open_named_mutex`). Takes a lock.
    ///
    /// # Errors
    /// [`MutexNotFound`].
    pub fn open_named_mutex(&self, name: &str) -> Result<Arc<RtMutex>, MutexNotFound> {
        self.named_mutexes().open(name)
    }

    /// Removes the name of a mutex (`destroy_mutex`); holders of the mutex may continue to use it.
    ///
    /// # Errors
    /// [`MutexNotFound`].
    pub fn destroy_named_mutex(&self, name: &str) -> Result<(), MutexNotFound> {
        self.named_mutexes().destroy(name)
    }
}
