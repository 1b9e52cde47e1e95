//! Lanes with a CORBA priority.

use oxorb::rt::Priority;
use oxorb::{Orb, SystemException};
use oxorb_delivery::{AtStart, LanePlan};

/// Returns the plan of a lane whose threads have a CORBA priority, scheduled by the ORB's priority mapping.
///
/// Deliveries to remote consumers carry that priority if their objects use the client's (CLIENT_PROPAGATED), and use
/// the connection of its band if there are bands, like a call of a thread with that priority. Without the privilege for
/// real-time scheduling the threads keep their schedule, which the ORB reports once, and deliveries carry the priority
/// all the same. `orb` is that of the consumers' references; threads that start after its end keep their schedule.
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
/// DATA_CONVERSION, OMG minor 2: the mapping has no native priority for this priority.
pub fn lane_at(
    orb: &Orb,
    name: impl Into<String>,
    priority: Priority,
) -> Result<LanePlan, SystemException> {
    // Checked here once, rather than by each thread.
    drop(orb.raise_thread(priority)?);
    let orb = orb.downgrade();
    let at_start = AtStart::new(move || {
        if let Some(orb) = orb.upgrade() {
            // The mapping has a native priority, as checked above.
            let _ = orb.set_thread_priority(priority);
        }
    });
    Ok(LanePlan { at_start: Some(at_start), ..LanePlan::new(name) })
}
