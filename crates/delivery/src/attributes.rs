//! Attributes of one event.

/// Attributes of an event, which determine its position in a queue, its size and its expiry. Times are in nanoseconds
/// of the dispatcher's [clock](crate::Clock).
///
/// ```
/// use oxorb_delivery::Attributes;
///
/// let urgent = Attributes { priority: 100, octets: 64, ..Attributes::default() };
/// assert_eq!(urgent.deadline, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Attributes {
    /// Urgency, -32767 to 32767; higher is more urgent (CosNotification `Priority`).
    pub priority: i16,
    /// Time by which the event should be delivered. Determines the order in queues; a late event is not dropped.
    pub deadline: Option<u64>,
    /// Time before which the event is not delivered (CosNotification `StartTime`).
    pub start: Option<u64>,
    /// Time from which the event is no longer delivered (`StopTime`, `Timeout`).
    pub expiry: Option<u64>,
    /// Key of the source, for [`WhenFull::KeepLatest`](crate::WhenFull::KeepLatest).
    pub source: u64,
    /// Size of the event, counted against [`Qos::octets`](crate::Qos::octets).
    pub octets: u32,
}

impl Attributes {
    /// Returns the deadline, or `u64::MAX` if there is none.
    pub(crate) fn deadline_or_never(&self) -> u64 {
        self.deadline.unwrap_or(u64::MAX)
    }
}
