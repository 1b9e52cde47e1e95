//! Lanes that have a CORBA priority.

use oxorb::{Orb, Priority, SystemException};
use oxorb_delivery::{AtStart, LanePlan};

/// Returns the plan of a lane whose threads have a CORBA priority, as the ORB's mapping schedules it.
///
/// What such a lane delivers to consumers elsewhere carries that priority, where their objects take that of their clients
/// (CLIENT_PROPAGATED), and goes over the connection of its band, where they have bands: as a call of a thread with that
/// priority does. Without the privilege for real-time scheduling the threads keep the schedule that they have, which the ORB
/// tells once, and the events carry the priority all the same. The ORB is that of the consumers' references; once it is gone,
/// threads that start keep what they have.
///
/// ```
/// use oxorb::{Orb, Priority};
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
/// DATA_CONVERSION, OMG minor 2: the mapping has no native priority for it.
pub fn lane_at(
    orb: &Orb,
    name: impl Into<String>,
    priority: Priority,
) -> Result<LanePlan, SystemException> {
    // Found out by the caller, not by each thread.
    drop(orb.raise_thread(priority)?);
    let orb = orb.downgrade();
    let at_start = AtStart::new(move || {
        if let Some(orb) = orb.upgrade() {
            // The mapping has one, as above.
            let _ = orb.set_thread_priority(priority);
        }
    });
    Ok(LanePlan { at_start: Some(at_start), ..LanePlan::new(name) })
}
