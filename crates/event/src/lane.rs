//! Lanes that have a CORBA priority.

use oxorb::rt::Priority;
use oxorb::{Orb, SystemException};
use oxorb_delivery::{AtStart, LanePlan};

/// Returns the plan of a lane whose threads have a CORBA priority. The ORB's priority mapping determines their native
/// priority.
///
/// If the objects of remote consumers are `CLIENT_PROPAGATED`, deliveries to them carry this priority. If there are
/// priority bands, deliveries use the connection of the band that contains the priority. This is the same as for other
/// calls of a thread with this priority. Without the privilege for real-time scheduling, the threads keep their
/// scheduling, which the ORB reports once; deliveries carry the priority nevertheless. `orb` must be the ORB of the
/// consumers' references. Threads that start after the end of this ORB keep their scheduling.
///
/// ```
/// use oxorb::Orb;
/// use oxorb::rt::Priority;
/// use oxorb_event::delivery::{Plan, Qos};
/// use oxorb_event::{ChannelOptions, EventChannel, lane_at};
///
/// let orb = Orb::builder().build()?;
/// let lanes = [("routine", 100), ("alarms", 20_000)];
/// let lanes = lanes.map(|(name, priority)| lane_at(&orb, name, Priority::new(priority).expect("0 to 32,767")));
/// let lanes: Result<Vec<_>, _> = lanes.into_iter().collect();
/// let channel = EventChannel::queued(ChannelOptions::default(), Plan::lanes(lanes?), Qos::default())?;
/// # drop(channel);
/// # orb.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// DATA_CONVERSION, OMG minor 2, if the mapping has no native priority for this priority.
pub fn lane_at(
    orb: &Orb,
    name: impl Into<String>,
    priority: Priority,
) -> Result<LanePlan, SystemException> {
    // Check the mapping here, where an error can be returned, and not in each thread.
    drop(orb.raise_thread(priority)?);
    let orb = orb.downgrade();
    let at_start = AtStart::new(move || {
        if let Some(orb) = orb.upgrade() {
            // Ignore the error: the check above has shown that the mapping has a native priority.
            let _ = orb.set_thread_priority(priority);
        }
    });
    Ok(LanePlan { at_start: Some(at_start), ..LanePlan::new(name) })
}
