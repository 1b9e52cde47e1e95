//! Priorities of threads, for applications and for the ORB's own work in their threads (RTCORBA::Current).

use oxorb_object::SystemException;
use oxorb_rt::Priority;

use crate::error::raise;
use crate::threads::rt;
use crate::{Orb, RaisedPriority};

impl Orb {
    /// Returns the CORBA priority of the calling thread, if it was given one (`RTCORBA::Current::the_priority`, which
    /// raises INITIALIZE where this is `None`). Reads a thread-local.
    #[inline]
    pub fn thread_priority(&self) -> Option<Priority> {
        rt::thread_priority()
    }

    /// Returns the priority of the calling thread; if it was given none, the one that its native priority stands for
    /// (RT-CORBA 1.2, 5.10.1), which costs two system calls.
    ///
    /// # Errors
    /// DATA_CONVERSION, OMG minor 2, if the mapping has no CORBA priority for the native one.
    pub fn effective_priority(&self) -> Result<Priority, SystemException> {
        self.shared().priorities().effective()
    }

    /// Returns the priority that a request of the calling thread carries: its own or, within an upcall, the result of
    /// the application's transform of it.
    ///
    /// # Errors
    /// Those of [`effective_priority`](Self::effective_priority); DATA_CONVERSION, OMG minor 2, if the transform
    /// refuses.
    pub(crate) fn outgoing_priority(&self) -> Result<Priority, SystemException> {
        let priority = self.effective_priority()?;
        match &self.options().realtime.transform {
            None => Ok(priority),
            Some(transform) => {
                let mut transformed = Some(priority);
                if let Some(adapter) = self.adapter() {
                    adapter.look_at_running(&mut |id| {
                        transformed = transform.outbound(priority, id);
                    });
                }
                transformed.ok_or(raise::NO_NATIVE_PRIORITY)
            }
        }
    }

    /// Sets the CORBA priority of the calling thread, and the native one to which it is mapped (`the_priority` of
    /// `RTCORBA::Current`). Costs a system call if the native priority changes; without the privilege for that, the
    /// thread keeps its native priority, which is reported once
    /// ([`Incident::NoRealTimePriority`](crate::Incident::NoRealTimePriority)).
    ///
    /// ```
    /// use oxorb_core::{Options, Orb};
    /// use oxorb_rt::Priority;
    ///
    /// let orb = Orb::new(Options::default());
    /// orb.set_thread_priority(Priority::new(100)?)?;
    /// {
    ///     let _urgent = orb.raise_thread(Priority::MAX)?;
    ///     assert_eq!(orb.thread_priority(), Some(Priority::MAX));
    /// }
    /// assert_eq!(orb.thread_priority(), Some(Priority::new(100)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// DATA_CONVERSION, OMG minor 2, if the mapping has no native priority for the CORBA priority, or one outside the
    /// range of the scheduling class.
    pub fn set_thread_priority(&self, priority: Priority) -> Result<(), SystemException> {
        self.shared().priorities().set(priority)
    }

    /// Sets the CORBA priority of the calling thread until the guard is dropped, even by a panic. Costs one comparison
    /// if the thread has that priority already.
    ///
    /// # Errors
    /// Those of [`set_thread_priority`](Self::set_thread_priority).
    #[inline]
    pub fn raise_thread(&self, priority: Priority) -> Result<RaisedPriority, SystemException> {
        self.raise_thread_as(priority, None)
    }

    /// Raises the calling thread to a CORBA priority, as [`raise_thread`](Self::raise_thread) does, but schedules it as
    /// threads of priority `scheduled_as`: for a request that is more, or less, important than others of its priority.
    /// If `scheduled_as` has no native priority, the thread is scheduled by `priority`.
    ///
    /// # Errors
    /// Those of [`set_thread_priority`](Self::set_thread_priority).
    #[inline]
    pub fn raise_thread_as(
        &self,
        priority: Priority,
        scheduled_as: Option<Priority>,
    ) -> Result<RaisedPriority, SystemException> {
        self.shared().priorities().raise(priority, scheduled_as)
    }
}
