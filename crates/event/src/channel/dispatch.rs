//! Dispatch of individual consumers: queue, lane and urgency.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use oxorb::policy::{CommunicationClass, Qos as RequestQos};
use oxorb_delivery::{
    Attributes, Clock, Counts, Dispatcher, Outlet, OutletConnectError as DeliveryError, Qos, Sink,
};

use super::sets::{Set, held_octets};
use crate::filter::Key;
use crate::rtec_event_channel_admin::ConsumerQos;
use crate::rtec_event_comm::Event;

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

/// Queue of a connected consumer.
pub(super) struct ConsumerQueue {
    outlet: Outlet<Arc<Set>>,
    clock: Arc<dyn Clock>,
    /// Deadline relative to the arrival of an event, in nanoseconds, or [`NO_DEADLINE`].
    deadline: AtomicU64,
    priorities: Vec<(Key, i16)>,
    /// Whether the channel chose the dispatch, and not the consumer.
    follows: bool,
}

/// Value of `deadline` if there is no deadline.
const NO_DEADLINE: u64 = u64::MAX;

impl ConsumerQueue {
    /// Connects a consumer with a dispatch. If `follows` is set, the dispatch changes with the schedule.
    pub(super) fn connect(
        dispatcher: &Dispatcher<Arc<Set>>,
        sink: Arc<dyn Sink<Arc<Set>>>,
        dispatch: ConsumerDispatch,
        follows: bool,
    ) -> Result<ConsumerQueue, DeliveryError> {
        Ok(ConsumerQueue {
            outlet: dispatcher.connect(sink, one_by_one(dispatch.queue))?,
            clock: Arc::clone(&dispatcher.plan().clock),
            deadline: AtomicU64::new(nanoseconds(dispatch.deadline)),
            priorities: dispatch.priorities,
            follows,
        })
    }

    /// Reports whether the schedule determines the dispatch.
    pub(super) fn follows(&self) -> bool {
        self.follows
    }

    /// Replaces queue settings, lane and deadline, but not the priorities. Waiting events keep their order.
    pub(super) fn take_on(&self, dispatch: ConsumerDispatch) {
        self.deadline.store(nanoseconds(dispatch.deadline), Relaxed);
        self.outlet.set_qos(one_by_one(dispatch.queue));
    }

    pub(super) fn counts(&self) -> Counts {
        self.outlet.counts()
    }

    pub(super) fn detach(&self) {
        self.outlet.detach();
    }

    /// Offers a set to the queue. The queue counts the result.
    pub(super) fn offer(&self, set: &Arc<Set>) {
        let attributes = self.attributes(&set.events, set.qos.qos());
        let _ = self.outlet.offer(set, &attributes);
    }

    /// Returns the attributes that order a set. Those that the consumer has set take precedence over those of the
    /// supplier's request.
    fn attributes(&self, events: &[Event], said: Option<RequestQos>) -> Attributes {
        let octets = events.iter().map(|one| held_octets(one) + OVERHEAD);
        let octets: usize = octets.sum();
        let header = events.first().map(|event| event.header).unwrap_or_default();
        let (event_type, source) = (header.r#type, header.source);
        Attributes {
            priority: match self.priority(event_type, source) {
                Some(priority) => priority,
                None => said.map_or(0, |said| worth(&said)),
            },
            deadline: match (self.deadline.load(Relaxed), said.and_then(|said| said.deadline)) {
                (NO_DEADLINE, None) => None,
                (NO_DEADLINE, said) => Some(self.clock.now().saturating_add(nanoseconds(said))),
                (after, said) => {
                    let after = after.min(nanoseconds(said));
                    Some(self.clock.now().saturating_add(after))
                }
            },
            source: u64::from(event_type.cast_unsigned()) << 32 | u64::from(source.cast_unsigned()),
            octets: u32::try_from(octets).unwrap_or(u32::MAX),
            ..Attributes::default()
        }
    }

    /// Returns the priority that the consumer has assigned to events of a type and source.
    fn priority(&self, event_type: i32, source: i32) -> Option<i16> {
        let meets = |asked: i32, has: i32| asked == 0 || asked == has;
        let entry = self.priorities.iter().find(|((of_type, of_source), _)| {
            meets(*of_type, event_type) && meets(*of_source, source)
        });
        entry.map(|(_, priority)| *priority)
    }
}

/// Returns the priority that follows from the quality of service of the supplier's request: four times the importance,
/// modified by the class. At equal importance, samples precede bulk data, which a full queue drops first.
fn worth(said: &RequestQos) -> i16 {
    let class = match said.class {
        CommunicationClass::Isochronous => 1,
        CommunicationClass::Message | CommunicationClass::MessageStream => 0,
        CommunicationClass::Burst => -1,
    };
    let worth = said.importance.saturating_mul(4).saturating_add(class);
    worth.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

/// Returns settings for a queue that delivers one set at a time.
fn one_by_one(queue: Qos) -> Qos {
    Qos { batch: 1, ..queue }
}

fn nanoseconds(deadline: Option<Duration>) -> u64 {
    deadline.map_or(NO_DEADLINE, |after| u64::try_from(after.as_nanos()).unwrap_or(NO_DEADLINE))
}

/// Size in octets of an event in a queue, not including its payload.
const OVERHEAD: usize = std::mem::size_of::<Event>();
