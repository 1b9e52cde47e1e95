//! The CORBA priority of each thread.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use oxorb_object::SystemException;
use oxorb_rt::Priority;
use oxorb_sys::schedule::{self, Class, Schedule};

use super::scheduling::Applied;
use crate::{Incident, LaneScheduling, Orb, raise};

/// What is known of a thread.
#[derive(Clone, Copy, Default)]
struct Now {
    /// Its CORBA priority, once it was given one.
    priority: Option<Priority>,
    /// The priority by which it is scheduled, where that is another one.
    scheduled_as: Option<Priority>,
    /// Of the ORB that gave it: another one may schedule differently.
    by: u32,
    /// How the kernel schedules it, once that was asked or changed. Whoever changes it past us is not seen.
    schedule: Option<Schedule>,
    /// Who decides that.
    decided: Decided,
}

/// Who decides how the kernel schedules a thread.
#[derive(Clone, Copy, Default)]
enum Decided {
    /// The ORB that gives it priorities.
    #[default]
    Orb,
    /// Its lane, which has a scheduling class of its own.
    Lane(Class),
    /// Its reservation, which a priority would end.
    Reservation,
}

impl Now {
    #[inline]
    fn is_at(&self, priority: Priority, scheduled_as: Option<Priority>, orb: u32) -> bool {
        self.priority == Some(priority) && self.scheduled_as == scheduled_as && self.by == orb
    }
}

thread_local! {
    static NOW: Cell<Now> = const {
        Cell::new(Now { priority: None, scheduled_as: None, by: 0, schedule: None, decided: Decided::Orb })
    };
}

/// The CORBA priority of the calling thread, if it was given one.
#[inline]
pub(crate) fn thread_priority() -> Option<Priority> {
    NOW.get().priority
}

/// The calling thread has a CORBA priority from now on; it is scheduled accordingly already.
pub(crate) fn declare(number: u32, priority: Priority) {
    NOW.set(Now {
        priority: Some(priority),
        scheduled_as: None,
        by: number,
        schedule: schedule::current().ok(),
        decided: Decided::Orb,
    });
}

impl Orb {
    /// The CORBA priority of the calling thread, if it was given one (`RTCORBA::Current::the_priority`, which raises
    /// INITIALIZE where this is `None`). A look at a thread-local.
    #[inline]
    pub fn thread_priority(&self) -> Option<Priority> {
        thread_priority()
    }

    /// The same, and if it was given none, the one that its native priority stands for
    /// (RT-CORBA 1.2, 5.10.1); that costs two system calls.
    ///
    /// # Errors
    /// DATA_CONVERSION, OMG minor 2: the mapping has none for it.
    pub fn effective_priority(&self) -> Result<Priority, SystemException> {
        match NOW.get().priority {
            Some(priority) => Ok(priority),
            None => self.scheduling().infer(),
        }
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
    /// keeps its schedule, which is told once ([`Incident::NoRealTimePriority`]).
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
        let now = NOW.get();
        if now.is_at(priority, None, self.scheduling().number) {
            return Ok(());
        }
        self.change(now, priority, None)
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
        let now = NOW.get();
        let scheduled_as = scheduled_as.filter(|other| *other != priority);
        if now.is_at(priority, scheduled_as, self.scheduling().number) {
            return Ok(Raised(None, PhantomData));
        }
        self.raise_from(now, priority, scheduled_as)
    }

    #[inline(never)]
    fn raise_from(
        &self,
        mut now: Now,
        priority: Priority,
        scheduled_as: Option<Priority>,
    ) -> Result<Raised, SystemException> {
        if now.schedule.is_none() {
            // To be restored later; once for each thread.
            now.schedule = schedule::current().ok();
        }
        self.change(now, priority, scheduled_as)?;
        Ok(Raised(Some(now), PhantomData))
    }

    /// The calling thread serves a lane from now on: at its priority, and scheduled as the lane says.
    pub(crate) fn enter_lane(&self, priority: Priority, scheduling: LaneScheduling) {
        let mut now = NOW.get();
        now.decided = match scheduling {
            LaneScheduling::AsOrb => Decided::Orb,
            LaneScheduling::Class(class) => Decided::Lane(class),
            LaneScheduling::Reserved(_) if schedule::is_reserved() => Decided::Reservation,
            LaneScheduling::Reserved(asked) => {
                let which = || format!("{:?} of each {:?}", asked.runtime, asked.period);
                self.note(Incident::NoRealTimePriority, which, String::new);
                Decided::Orb
            }
        };
        // Whether there is a native one was found out when the lane was made.
        let _ = self.change(now, priority, None);
    }

    fn change(
        &self,
        now: Now,
        priority: Priority,
        scheduled_as: Option<Priority>,
    ) -> Result<(), SystemException> {
        let scheduling = self.scheduling();
        let other = scheduled_as.and_then(|other| scheduling.native(other).ok());
        let native = match other {
            Some(native) => native,
            None => scheduling.native(priority)?,
        };
        let applied = match now.decided {
            Decided::Orb => scheduling.apply(native, now.schedule)?,
            Decided::Lane(class) => scheduling.apply_class(class, native, now.schedule)?,
            Decided::Reservation => Applied::Untouched,
        };
        let schedule = match applied {
            Applied::Yes(schedule) => Some(schedule),
            Applied::Untouched => now.schedule,
            Applied::RefusedNow(native) => {
                let which = || format!("native priority {native}");
                self.note(Incident::NoRealTimePriority, which, String::new);
                now.schedule
            }
        };
        NOW.set(Now {
            priority: Some(priority),
            scheduled_as,
            by: scheduling.number,
            schedule,
            ..now
        });
        Ok(())
    }
}

/// A thread has another priority while this lives: from [`Orb::raise_thread`]. For that thread alone.
#[must_use = "the priority goes with it"]
pub struct Raised(Option<Now>, PhantomData<*const ()>);

impl fmt::Debug for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Raised").finish_non_exhaustive()
    }
}

impl Drop for Raised {
    #[inline]
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            restore(before);
        }
    }
}

#[inline(never)]
fn restore(before: Now) {
    let mut restored = before;
    if let Some(schedule) = before.schedule
        && NOW.get().schedule != before.schedule
        && schedule::set_current(schedule).is_err()
    {
        // It was more urgent than this process may make it: the kernel's word is what counts.
        restored.schedule = schedule::current().ok();
    }
    NOW.set(restored);
}
