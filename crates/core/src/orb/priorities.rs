//! Priorities of threads, for applications and for what the ORB does in their threads (RTCORBA::Current).

use oxorb_object::SystemException;
use oxorb_rt::Priority;

use crate::rt;
use crate::{Orb, Raised, raise};

impl Orb {
    /// The CORBA priority of the calling thread, if it was given one (`RTCORBA::Current::the_priority`, which raises
    /// INITIALIZE where this is `None`). A look at a thread-local.
    #[inline]
    pub fn thread_priority(&self) -> Option<Priority> {
        rt::thread_priority()
    }

    /// Returns the priority of the calling thread, and if it was given none, the one that its
    /// native priority stands for (RT-CORBA 1.2, 5.10.1); that costs two system calls.
    ///
    /// # Errors
    /// DATA_CONVERSION, OMG minor 2: the mapping has none for it.
    pub fn effective_priority(&self) -> Result<Priority, SystemException> {
        self.shared().priorities().effective()
    }

    /// The priority that a request of the calling thread carries: its own, as the application's transform has it where
    /// a servant calls.
    ///
    /// # Errors
    /// As [`effective_priority`](Self::effective_priority); DATA_CONVERSION, OMG minor 2, where the transform refuses.
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

    /// Gives the calling thread a CORBA priority, and the native one that stands for it (`the_priority` of
    /// `RTCORBA::Current`). Costs a system call where the thread's schedule changes; without the privilege for that it
    /// keeps its schedule, which is told once ([`Incident::NoRealTimePriority`](crate::Incident::NoRealTimePriority)).
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
    /// DATA_CONVERSION, OMG minor 2: the mapping has no native priority for it, or one that the class does not have.
    pub fn set_thread_priority(&self, priority: Priority) -> Result<(), SystemException> {
        self.shared().priorities().set(priority)
    }

    /// Gives the calling thread a CORBA priority until the guard goes, be it by a panic. Costs nothing but a look when
    /// it has that one.
    ///
    /// # Errors
    /// As [`set_thread_priority`](Self::set_thread_priority).
    #[inline]
    pub fn raise_thread(&self, priority: Priority) -> Result<Raised, SystemException> {
        self.raise_thread_as(priority, None)
    }

    /// Raises the calling thread to a CORBA priority, as [`raise_thread`](Self::raise_thread) does, but has it scheduled
    /// as threads of `scheduled_as`: for a request that matters more, or less, than others of its priority. Where that
    /// priority has no native one, the thread is scheduled by its own.
    ///
    /// # Errors
    /// Those of [`set_thread_priority`](Self::set_thread_priority).
    #[inline]
    pub fn raise_thread_as(
        &self,
        priority: Priority,
        scheduled_as: Option<Priority>,
    ) -> Result<Raised, SystemException> {
        self.shared().priorities().raise(priority, scheduled_as)
    }
}
