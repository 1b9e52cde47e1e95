//! Scheduling of threads by an ORB's mapping of CORBA priorities.

use std::io;
use std::sync::Arc;

use oxorb_object::SystemException;
use oxorb_rt::{NativePriority, NativeRange, Priority, PriorityMapping};
use oxorb_sys::schedule::{self, SchedulingClass, ThreadPriority};

use super::RealTime;
use crate::error::raise;
use crate::threads::sync::atomic::{AtomicI32, Ordering};
use crate::threads::sync::uncontrolled::atomic::AtomicU32;

/// Scheduling of an ORB, fixed when the ORB is created.
pub(crate) struct Scheduling {
    /// Number of the ORB, unique in the process.
    pub(super) number: u32,
    class: SchedulingClass,
    range: NativeRange,
    mapping: Arc<dyn PriorityMapping>,
    /// Lowest native priority that the kernel has refused; it is not requested again, nor a higher one.
    refused_from: AtomicI32,
}

/// Result of a request to change the thread's class and priority.
pub(super) enum Applied {
    /// The thread has this class and priority now.
    Yes(ThreadPriority),
    /// The thread's class and priority must not be changed.
    Untouched,
    /// First refusal by the kernel because of a missing privilege.
    RefusedNow(NativePriority),
}

impl Scheduling {
    pub(crate) fn new(options: &RealTime) -> Self {
        static NUMBERS: AtomicU32 = AtomicU32::new(1);
        Scheduling {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            class: options.class,
            range: options.range(),
            mapping: options.mapping(),
            refused_from: AtomicI32::new(i32::MAX),
        }
    }

    /// Returns the native priority of a CORBA priority.
    ///
    /// # Errors
    /// DATA_CONVERSION, OMG minor 2, if the mapping has none, or one that is invalid in the scheduling class.
    pub(crate) fn native(&self, priority: Priority) -> Result<NativePriority, SystemException> {
        let native = self.mapping.to_native(priority);
        let has = |native: &NativePriority| {
            self.class == SchedulingClass::Other || self.range.contains(*native)
        };
        native.filter(has).ok_or(raise::NO_NATIVE_PRIORITY)
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Returns the class and native priority of an ORB's thread at `priority`. Without a priority, or without a native
    /// one for it, the native priority is the lowest of the class.
    pub(crate) fn declared(&self, priority: Option<Priority>) -> ThreadPriority {
        let native = self.native(priority.unwrap_or(Priority::MIN));
        in_class(self.class, native.unwrap_or(self.range.min))
    }

    /// Returns the class and native priority of a thread in another class than the ORB's.
    pub(crate) fn declared_in(&self, class: SchedulingClass, priority: Priority) -> ThreadPriority {
        let native = self.native(priority).unwrap_or(self.range.min);
        in_class(class, native)
    }

    /// Reports whether threads are scheduled by priority.
    pub(crate) fn is_real_time(&self) -> bool {
        self.class != SchedulingClass::Other
    }

    /// Returns the CORBA priority of a native one, if there is one.
    pub(crate) fn corba(&self, native: NativePriority) -> Option<Priority> {
        self.mapping.to_corba(native)
    }

    /// Returns the CORBA priority of the calling thread, from its current native priority. One or two system calls.
    ///
    /// # Errors
    /// DATA_CONVERSION, OMG minor 2, if the mapping has no CORBA priority for it.
    pub(crate) fn infer(&self) -> Result<Priority, SystemException> {
        let now = schedule::current().map_err(|_| raise::NO_NATIVE_PRIORITY)?;
        // A thread of another scheduling class counts as the least urgent thread of the ORB's class.
        let native = match now.class == self.class {
            true => NativePriority(now.priority as i16),
            false => self.range.min,
        };
        self.corba(native).ok_or(raise::NO_NATIVE_PRIORITY)
    }

    /// Changes the calling thread's priority in the kernel, unless the thread has it already (`now`) or the kernel
    /// refused it before.
    pub(super) fn apply(
        &self,
        native: NativePriority,
        now: Option<ThreadPriority>,
    ) -> Result<Applied, SystemException> {
        match self.class {
            SchedulingClass::Other => Ok(Applied::Untouched),
            class => self.apply_class(class, native, now),
        }
    }

    /// Changes the calling thread's class and priority to those given.
    pub(super) fn apply_class(
        &self,
        class: SchedulingClass,
        native: NativePriority,
        now: Option<ThreadPriority>,
    ) -> Result<Applied, SystemException> {
        let wanted = in_class(class, native);
        if now == Some(wanted) {
            return Ok(Applied::Yes(wanted));
        }
        if wanted.priority >= self.refused_from.load(Ordering::Relaxed) {
            return Ok(Applied::Untouched);
        }
        match schedule::set_current(wanted) {
            Ok(()) => Ok(Applied::Yes(wanted)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let before = self.refused_from.fetch_min(wanted.priority, Ordering::Relaxed);
                match before {
                    i32::MAX => Ok(Applied::RefusedNow(native)),
                    _ => Ok(Applied::Untouched),
                }
            }
            Err(_) => Err(raise::NO_NATIVE_PRIORITY),
        }
    }
}

fn in_class(class: SchedulingClass, native: NativePriority) -> ThreadPriority {
    let priority = match class {
        SchedulingClass::Other | SchedulingClass::Idle => 0,
        SchedulingClass::Fifo | SchedulingClass::RoundRobin => native.0.into(),
    };
    ThreadPriority { class, priority }
}
