//! Futures that complete at a set time.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use oxorb_rt::Priority;

use super::alarm::Alarm;
use crate::Orb;
use crate::threads::clock;
use crate::threads::rt::thread_priority;

/// Future that completes at a set time, for any executor, as returned by [`Orb::sleep_until`].
#[must_use = "nothing waits unless it is polled"]
pub struct Sleep {
    orb: Orb,
    until: Instant,
    priority: Option<Priority>,
    alarm: Option<Alarm>,
}

impl Orb {
    /// Returns a future that completes at `until`, or when the ORB ends.
    ///
    /// The ORB's alarm thread of the caller's CORBA priority wakes the task that awaits the future. Where that task
    /// runs is up to its executor: with [`spawn_here`](Orb::spawn_here), in the lane's thread.
    ///
    /// ```
    /// use std::task::Poll;
    /// use std::time::{Duration, Instant};
    ///
    /// use oxorb_core::{Options, Orb, wait_until};
    ///
    /// let orb = Orb::new(Options::default());
    /// let until = Instant::now() + Duration::from_millis(5);
    /// let mut sleep = std::pin::pin!(orb.sleep_until(until));
    /// wait_until(|context| sleep.as_mut().poll(context));
    /// assert!(Instant::now() >= until);
    /// # use std::future::Future as _;
    /// ```
    pub fn sleep_until(&self, until: Instant) -> Sleep {
        Sleep { orb: self.clone(), until, priority: thread_priority(), alarm: None }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.until <= clock::now() {
            return Poll::Ready(());
        }
        let alarms = self.orb.alarms(self.priority);
        let alarm = alarms.set(self.until, context.waker());
        let over = alarm.is_none();
        self.alarm = alarm;
        match over {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").field("until", &self.until).finish()
    }
}
