//! RIOP: the urgency and period of a request, in a separate service context ("ORB endsystems",
//! 3.2.1).
//!
//! An encapsulation, 28 octets:
//!
//! | offset | octets | content |
//! |---|---|---|
//! | 0 | 1 | byte order of the rest |
//! | 1 | 1 | version of this layout: 1. Later versions append fields |
//! | 2 | 2 | `short` priority, as RTCORBA::Priority; negative: unspecified |
//! | 4 | 4 | `long` importance; higher is more important |
//! | 8 | 8 | `TimeT` period of the call, in 100 ns; 0: not periodic |
//! | 16 | 8 | `TimeT` until the reply is due, from when the request was sent, in 100 ns; 0: unspecified |
//! | 24 | 4 | communication class: 0 ISOCHRONOUS, 1 BURST, 2 MESSAGE, 3 MESSAGE_STREAM |

use core::cmp::Reverse;
use core::time::Duration;

use oxorb_cdr::{Decoder, Dialect};

use crate::{Malformed, ServiceContext, ServiceContexts, context_id};

/// Quality of service that the caller of an operation requests.
///
/// ```
/// use std::time::Duration;
///
/// use oxorb_object::{CommunicationClass, Qos};
///
/// let sampling = Qos {
///     importance: 3,
///     period: Some(Duration::from_millis(50)),
///     deadline: Some(Duration::from_millis(20)),
///     class: CommunicationClass::Isochronous,
///     ..Qos::default()
/// };
/// assert_eq!(Qos::parse(&sampling.encode())?, sampling);
/// # Ok::<(), oxorb_object::Malformed>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Qos {
    /// Priority of the request, 0 to 32,767; `None` if unspecified.
    pub priority: Option<i16>,
    /// Importance among requests of the same priority; higher is more important.
    pub importance: i32,
    /// Period of the request; `None` if not periodic. Sent in units of 100 ns.
    pub period: Option<Duration>,
    /// Time from sending the request until its reply is due; `None` if unspecified. Sent in units
    /// of 100 ns.
    pub deadline: Option<Duration>,
    /// Communication class of the request.
    pub class: CommunicationClass,
}

/// Communication classes of RIOP. Each has separate connections, except `Message`, which shares
/// those of calls without quality of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum CommunicationClass {
    /// Continuous, periodic traffic with little jitter: samples, frames (ISOCHRONOUS). A request
    /// without a deadline is due after its period, and precedes equally urgent ones of other
    /// classes.
    Isochronous,
    /// Occasional bulk traffic: images, logs (BURST). A request follows equally urgent ones of
    /// other classes.
    Burst,
    /// Single, aperiodic requests (MESSAGE).
    #[default]
    Message,
    /// Sequence of related requests (MESSAGE_STREAM), served in the order in which they were sent.
    MessageStream,
}

impl CommunicationClass {
    /// Returns the differentiated services code point of the class (RFC 4594): expedited forwarding
    /// for `Isochronous`, high-throughput data for `Burst`, low-latency data for `MessageStream`;
    /// `None` for standard service.
    pub const fn dscp(self) -> Option<u8> {
        match self {
            CommunicationClass::Isochronous => Some(46),
            CommunicationClass::Burst => Some(10),
            CommunicationClass::Message => None,
            CommunicationClass::MessageStream => Some(18),
        }
    }

    /// Returns the rank of the class among equally urgent requests; the highest is served first.
    const fn rank(self) -> u8 {
        match self {
            CommunicationClass::Isochronous => 2,
            CommunicationClass::Message | CommunicationClass::MessageStream => 1,
            CommunicationClass::Burst => 0,
        }
    }
}

/// Order in which waiting requests should be served: the greater one first. Compares priority, then importance, then
/// the nearer deadline, then communication class; unspecified values come last. An urgency created by [`Qos::rate`]
/// compares the shorter period before the importance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Urgency(Option<i16>, Reverse<Duration>, i32, Reverse<Duration>, u8);

const VERSION: u8 = 1;

/// Unit of a `TimeT`, in nanoseconds.
const UNIT: u64 = 100;

impl Qos {
    /// Size of the context, in octets.
    pub const OCTETS: usize = 28;

    /// Returns the octets of the service context [`context_id::RIOP`]. Allocates nothing.
    pub fn encode(&self) -> [u8; Self::OCTETS] {
        let mut octets = [0; Self::OCTETS];
        octets[1] = VERSION;
        octets[2..4].copy_from_slice(&self.priority.unwrap_or(-1).to_be_bytes());
        octets[4..8].copy_from_slice(&self.importance.to_be_bytes());
        octets[8..16].copy_from_slice(&units(self.period).to_be_bytes());
        octets[16..24].copy_from_slice(&units(self.deadline).to_be_bytes());
        octets[24..].copy_from_slice(&(self.class as u32).to_be_bytes());
        octets
    }

    /// Parses the octets of the service context. Allocates nothing.
    ///
    /// # Errors
    /// Octets that are not an encapsulation, or that are truncated.
    pub fn parse(data: &[u8]) -> Result<Qos, Malformed> {
        let mut d = Decoder::encapsulated(data, Dialect::GIOP_1_2)?;
        d.octet()?; // a later version says the same at the same places
        let priority = d.short()?;
        Ok(Qos {
            priority: (priority >= 0).then_some(priority),
            importance: d.long()?,
            period: duration(d.ulonglong()?),
            deadline: duration(d.ulonglong()?),
            class: match d.ulong()? {
                0 => CommunicationClass::Isochronous,
                1 => CommunicationClass::Burst,
                3 => CommunicationClass::MessageStream,
                _ => CommunicationClass::Message,
            },
        })
    }

    /// Returns the service context with these octets.
    pub const fn context(octets: &[u8; Self::OCTETS]) -> ServiceContext<'_> {
        ServiceContext { id: context_id::RIOP, data: octets }
    }

    /// Returns the quality of service in the contexts of a request; `None` if there is none, or
    /// none that is readable.
    #[inline]
    pub fn of(contexts: &ServiceContexts<'_>) -> Option<Qos> {
        if contexts.is_empty() {
            return None;
        }
        Qos::parse(contexts.find(context_id::RIOP)?.data).ok()
    }

    /// Returns the time from sending until the reply is due: the deadline, or else the period of
    /// isochronous traffic.
    pub fn due(&self) -> Option<Duration> {
        let periodic = self.class == CommunicationClass::Isochronous;
        self.deadline.or(self.period.filter(|_| periodic))
    }

    /// Returns the urgency of the request among others that wait.
    pub fn urgency(&self) -> Urgency {
        self.place(Duration::ZERO)
    }

    /// Returns the urgency where the shorter period precedes among requests of one priority
    /// (rate-monotonic), and the usual order applies to requests of the same period; requests
    /// without a period come last.
    pub fn rate(&self) -> Urgency {
        self.place(self.period.unwrap_or(Duration::MAX))
    }

    fn place(&self, period: Duration) -> Urgency {
        let due = self.due().unwrap_or(Duration::MAX);
        Urgency(self.priority, Reverse(period), self.importance, Reverse(due), self.class.rank())
    }
}

fn units(time: Option<Duration>) -> u64 {
    let nanoseconds = time.map_or(0, |time| time.as_nanos());
    u64::try_from(nanoseconds / u128::from(UNIT)).unwrap_or(u64::MAX)
}

fn duration(units: u64) -> Option<Duration> {
    (units != 0).then(|| Duration::from_nanos(units.saturating_mul(UNIT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_documented_one() {
        let qos = Qos {
            priority: Some(0x0102),
            importance: 0x0304_0506,
            period: Some(Duration::from_nanos(0x0708 * UNIT)),
            deadline: Some(Duration::from_nanos(0x090a * UNIT)),
            class: CommunicationClass::MessageStream,
        };
        #[rustfmt::skip]
        let expected = [
            0, 1, 1, 2, 3, 4, 5, 6,
            0, 0, 0, 0, 0, 0, 7, 8,
            0, 0, 0, 0, 0, 0, 9, 10,
            0, 0, 0, 3,
        ];
        assert_eq!(qos.encode(), expected);
        assert_eq!(Qos::parse(&expected), Ok(qos));
    }

    #[test]
    fn what_was_not_said_is_not_there_and_what_is_new_is_passed_over() {
        assert_eq!(Qos::parse(&Qos::default().encode()), Ok(Qos::default()));
        let mut later = Qos::default().encode().to_vec();
        later[1] = 2;
        later[27] = 9; // a class that we do not know
        later.extend([1, 2, 3, 4]);
        assert_eq!(Qos::parse(&later), Ok(Qos::default()));
    }

    #[test]
    fn little_endian_peers_are_read_and_nonsense_is_an_error() {
        let mut octets = [0; Qos::OCTETS];
        octets[..4].copy_from_slice(&[1, 1, 7, 0]);
        octets[24] = 1;
        let qos = Qos::parse(&octets).unwrap();
        assert_eq!((qos.priority, qos.class), (Some(7), CommunicationClass::Burst));
        for end in 0..Qos::OCTETS {
            assert!(Qos::parse(&octets[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn by_rate_the_period_goes_before_importance() {
        let of = |priority, period, importance| Qos {
            priority: Some(priority),
            period: Some(Duration::from_millis(period)),
            importance,
            ..Qos::default()
        };
        let order = [
            of(9, 80, 0),
            of(8, 10, 0),
            of(8, 20, 5),
            of(8, 20, 4),
            Qos { period: None, ..of(8, 0, 9) },
        ];
        assert!(order.windows(2).all(|pair| pair[0].rate() > pair[1].rate()));
        assert!(order[1].urgency() < order[2].urgency());
    }

    #[test]
    fn priority_goes_before_importance_then_deadline_then_class() {
        let soon = |milliseconds| Some(Duration::from_millis(milliseconds));
        let order = [
            Qos { priority: Some(9), ..Qos::default() },
            Qos { priority: Some(8), importance: 5, ..Qos::default() },
            Qos { priority: Some(8), importance: 4, deadline: soon(1), ..Qos::default() },
            Qos { priority: Some(8), importance: 4, deadline: soon(2), ..Qos::default() },
            Qos {
                priority: Some(8),
                importance: 4,
                period: soon(3),
                class: CommunicationClass::Isochronous,
                ..Qos::default()
            },
            Qos {
                priority: Some(8),
                importance: 4,
                class: CommunicationClass::Isochronous,
                ..Qos::default()
            },
            Qos { priority: Some(8), importance: 4, period: soon(3), ..Qos::default() },
            Qos {
                priority: Some(8),
                importance: 4,
                class: CommunicationClass::Burst,
                ..Qos::default()
            },
            Qos { importance: 99, deadline: soon(1), ..Qos::default() },
        ];
        assert!(order.windows(2).all(|pair| pair[0].urgency() > pair[1].urgency()));
    }
}
