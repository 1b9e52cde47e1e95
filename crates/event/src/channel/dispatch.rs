//! Dispatch of individual consumers: queue, lane and urgency.

use std::time::Duration;

use oxorb_delivery::Qos;

use crate::filter::Key;
use crate::rtec_event_channel_admin::ConsumerQos;

/// Dispatch of one consumer of a [`queued`](crate::EventChannel::queued) channel: its queue, its
/// lane, and the urgency of its events.
///
/// ```
/// use std::time::Duration;
/// use oxorb_event::ConsumerDispatch;
/// use oxorb_event::delivery::Qos;
///
/// let urgent = ConsumerDispatch {
///     queue: Qos { events: 16, lane: 1, ..Qos::default() },
///     deadline: Some(Duration::from_millis(50)),
///     ..ConsumerDispatch::default()
/// };
/// assert!(urgent.priorities.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerDispatch {
    /// Size and policy of the queue, its lane, and its order within the lane. The value of `batch` is ignored: it is
    /// always 1.
    pub queue: Qos,
    /// Deadline of an event, relative to its arrival at the channel. The deadline determines the order in queues
    /// ([`Order::Deadline`](crate::delivery::Order::Deadline)) and in lanes that are ordered by deadline or laxity.
    /// Late events are not dropped. Default: the deadline in the supplier's request (RIOP), if there is one. If both
    /// exist, the earlier one applies. A deadline costs one clock reading for each event.
    pub deadline: Option<Duration>,
    /// Priorities of events by type and source; 0 is a wildcard. The first entry that matches applies. Events that
    /// match no entry have the priority of the supplier's request, or 0. The priority determines the order in queues
    /// ([`Order::Priority`](crate::delivery::Order::Priority)) and which event a full queue drops. The priority of a
    /// request (RIOP) is four times its importance, plus one for ISOCHRONOUS, minus one for BURST. Default: empty. The
    /// table costs one comparison for each entry and event.
    pub priorities: Vec<(Key, i16)>,
}

/// Function that chooses the dispatch of a consumer when it connects.
pub(super) type Chooser =
    Box<dyn Fn(&ConsumerQos, ConsumerDispatch) -> ConsumerDispatch + Send + Sync>;
