//! CORBA priorities of threads.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use oxorb_object::SystemException;
use oxorb_rt::Priority;
use oxorb_sys::schedule::{self, SchedulingClass, ThreadPriority};

use super::options::LaneScheduling;
use super::scheduling::{Applied, Scheduling};
use crate::Incident;
use crate::monitoring::Watch;

/// Known priorities of a thread, and its scheduling in the kernel.
#[derive(Clone, Copy, Default)]
struct Now {
    /// CORBA priority of the thread, once one was set.
    priority: Option<Priority>,
    /// Priority by which the thread is scheduled, if it is another one.
    scheduled_as: Option<Priority>,
    /// Number of the ORB that set the priority: another ORB may map it differently.
    by: u32,
    /// Class and priority of the thread in the kernel, once read or set. Changes made without the ORB are not detected.
    schedule: Option<ThreadPriority>,
    /// Authority over the thread's class and priority.
    decided: Decided,
}

/// Authority that decides on the scheduling class and priority of a thread.
#[derive(Clone, Copy, Default)]
enum Decided {
    /// ORB that sets its priorities.
    #[default]
    Orb,
    /// Lane of the thread, which has its own scheduling class.
    Lane(SchedulingClass),
    /// Reservation of the thread, which a priority would end.
    Reservation,
    /// Budget that the thread's request exceeds, until the request ends.
    Lowered,
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

/// Returns the CORBA priority of the calling thread, if one was set.
#[inline]
pub(crate) fn thread_priority() -> Option<Priority> {
    NOW.get().priority
}

/// Records the CORBA priority of the calling thread, whose native priority is already set accordingly.
pub(crate) fn declare(number: u32, priority: Priority) {
    NOW.set(Now {
        priority: Some(priority),
        scheduled_as: None,
        by: number,
        schedule: schedule::current().ok(),
        decided: Decided::Orb,
    });
}

/// Reads the class and priority of the calling thread from the kernel, if they are unknown: for [`restore_demoted`].
pub(crate) fn know_schedule() {
    let mut now = NOW.get();
    if now.schedule.is_none() {
        now.schedule = schedule::current().ok();
        NOW.set(now);
    }
}

/// Restores the class and priority of the calling thread, which another thread has demoted. Returns false if the kernel
/// refuses.
pub(crate) fn restore_demoted() -> bool {
    let now = NOW.get();
    now.schedule.is_none_or(|schedule| schedule::set_current(schedule).is_ok())
}

/// Changes the class and priority of the calling thread by `change` until the guard is dropped, regardless of CORBA
/// priorities set meanwhile. Returns `None` if they were not changed, because the thread is lowered already or has a
/// reservation.
pub(crate) fn lower<E>(change: impl FnOnce() -> Result<(), E>) -> Result<Option<Lowered>, E> {
    know_schedule();
    let before = NOW.get();
    if matches!(before.decided, Decided::Reservation | Decided::Lowered) {
        return Ok(None);
    }
    change()?;
    NOW.set(Now { decided: Decided::Lowered, ..before });
    Ok(Some(Lowered(before, PhantomData)))
}

/// Guard of a thread with a lowered class or priority, as returned by [`lower`]. Not `Send`.
#[must_use = "it ends with it"]
pub(crate) struct Lowered(Now, PhantomData<*const ()>);

impl fmt::Debug for Lowered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lowered").finish_non_exhaustive()
    }
}

impl Drop for Lowered {
    fn drop(&mut self) {
        let mut restored = self.0;
        if let Some(schedule) = restored.schedule
            && schedule::set_current(schedule).is_err()
        {
            restored.schedule = schedule::current().ok();
        }
        NOW.set(restored);
    }
}

/// Priority settings of one ORB, and the log for refusals of the kernel.
pub(crate) struct Priorities<'o> {
    pub(crate) scheduling: &'o Scheduling,
    pub(crate) watch: &'o Watch,
}

impl Priorities<'_> {
    /// Returns the priority of the calling thread, or the one that its native priority maps to.
    pub(crate) fn effective(&self) -> Result<Priority, SystemException> {
        match NOW.get().priority {
            Some(priority) => Ok(priority),
            None => self.scheduling.infer(),
        }
    }

    /// Sets the priority of the calling thread.
    pub(crate) fn set(&self, priority: Priority) -> Result<(), SystemException> {
        let now = NOW.get();
        if now.is_at(priority, None, self.scheduling.number) {
            return Ok(());
        }
        self.change(now, priority, None)
    }

    /// Sets the priority of the calling thread until the guard is dropped; the kernel schedules the thread by
    /// `scheduled_as`.
    #[inline]
    pub(crate) fn raise(
        &self,
        priority: Priority,
        scheduled_as: Option<Priority>,
    ) -> Result<RaisedPriority, SystemException> {
        let now = NOW.get();
        let scheduled_as = scheduled_as.filter(|other| *other != priority);
        if now.is_at(priority, scheduled_as, self.scheduling.number) {
            return Ok(RaisedPriority(None, PhantomData));
        }
        self.raise_from(now, priority, scheduled_as)
    }

    #[inline(never)]
    fn raise_from(
        &self,
        mut now: Now,
        priority: Priority,
        scheduled_as: Option<Priority>,
    ) -> Result<RaisedPriority, SystemException> {
        if now.schedule.is_none() {
            // The class and priority are read once for each thread, because they are needed to restore them later.
            now.schedule = schedule::current().ok();
        }
        self.change(now, priority, scheduled_as)?;
        Ok(RaisedPriority(Some(now), PhantomData))
    }

    /// Records that the calling thread serves a lane: sets the lane's priority and scheduling.
    pub(crate) fn enter_lane(&self, priority: Priority, scheduling: LaneScheduling) {
        let mut now = NOW.get();
        now.decided = match scheduling {
            LaneScheduling::AsOrb => Decided::Orb,
            LaneScheduling::Class(class) => Decided::Lane(class),
            LaneScheduling::Reserved(_) if schedule::is_reserved() => Decided::Reservation,
            LaneScheduling::Reserved(asked) => {
                let which = || format!("{:?} of each {:?}", asked.runtime, asked.period);
                self.watch.note(Incident::NoRealTimePriority, which, String::new);
                Decided::Orb
            }
        };
        // A missing native priority was reported when the lane was created, so the error is ignored here.
        let _ = self.change(now, priority, None);
    }

    fn change(
        &self,
        now: Now,
        priority: Priority,
        scheduled_as: Option<Priority>,
    ) -> Result<(), SystemException> {
        let scheduling = self.scheduling;
        let other = scheduled_as.and_then(|other| scheduling.native(other).ok());
        let native = match other {
            Some(native) => native,
            None => scheduling.native(priority)?,
        };
        let applied = match now.decided {
            Decided::Orb => scheduling.apply(native, now.schedule)?,
            Decided::Lane(class) => scheduling.apply_class(class, native, now.schedule)?,
            Decided::Reservation | Decided::Lowered => Applied::Untouched,
        };
        let schedule = match applied {
            Applied::Yes(schedule) => Some(schedule),
            Applied::Untouched => now.schedule,
            Applied::RefusedNow(native) => {
                let which = || format!("native priority {native}");
                self.watch.note(Incident::NoRealTimePriority, which, String::new);
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

/// Guard of a thread with a changed priority, as returned by [`Orb::raise_thread`](crate::Orb::raise_thread). Not
/// `Send`.
#[must_use = "the priority goes with it"]
pub struct RaisedPriority(Option<Now>, PhantomData<*const ()>);

impl fmt::Debug for RaisedPriority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RaisedPriority").finish_non_exhaustive()
    }
}

impl Drop for RaisedPriority {
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
        // This process lacks the privilege to set the former priority, so the one that the kernel uses is recorded.
        restored.schedule = schedule::current().ok();
    }
    NOW.set(restored);
}
