//! Resolved policies of a call, in a form for the request path.

use std::num::NonZeroU32;
use std::ops::Deref;
use std::time::Duration;

use oxorb_object::PriorityBands;

use super::time::utc_of;
use super::*;
use crate::Options;

/// Resolved policies of a call. Small and `Copy`: resolving allocates nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Effective {
    /// Whether none of the rarer policies is set. Most calls test only this.
    pub(crate) plain: bool,
    /// Whether some policies travel with the request.
    pub(crate) carries: bool,
    pub(crate) round_trip: Option<Duration>,
    /// Whether `round_trip` was overridden and so travels with the request.
    pub(crate) round_trip_carried: bool,
    pub(crate) connect: Duration,
    pub(crate) request: Option<Duration>,
    pub(crate) reply: Option<Duration>,
    /// Absolute times, as `TimeT`.
    pub(crate) request_start: Option<u64>,
    pub(crate) request_end: Option<u64>,
    pub(crate) reply_start: Option<u64>,
    pub(crate) reply_end: Option<u64>,
    pub(crate) priority: Option<RequestPriority>,
    pub(crate) sync_scope: SyncScope,
    pub(crate) rebind: RebindMode,
    pub(crate) retry: Retry,
    pub(crate) locate: LocateFirst,
    pub(crate) buffering: BufferingConstraint,
    /// Size above which requests are sent as fragments, in octets.
    pub(crate) fragment_size: Option<usize>,
    /// Maximum total size in octets of the buffered oneways for a server.
    pub(crate) queue: usize,
    pub(crate) payloads: LargePayloads,
    /// Quality of service that travels with the request.
    pub(crate) qos: Option<Qos>,
    /// Whether a policy is set that determines addresses or connections.
    pub(crate) real_time: bool,
    pub(crate) realtime: RealTimePolicies,
}

/// Policies that determine addresses and connections: those of RT-CORBA, and OxORB's own.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct RealTimePolicies {
    pub(crate) private: bool,
    pub(crate) bands: Option<PriorityBands>,
    pub(crate) protocols: Option<ProtocolList>,
    pub(crate) fallback: ProtocolFallback,
    /// Whether the protocols are a preference of the ORB's options, and not required by a policy.
    pub(crate) optional: bool,
    /// Bandwidth, in octets per second.
    pub(crate) bandwidth: Option<NonZeroU32>,
    /// Preallocated octets for each direction.
    pub(crate) preallocated: u32,
    /// Whether only secure protocols are used. With the ORB's option, references have no other
    /// profiles.
    pub(crate) secure: bool,
}

impl RealTimePolicies {
    /// Reports whether a call may use a protocol that is not in its list.
    pub(crate) fn takes_others(&self) -> bool {
        self.optional || self.fallback == ProtocolFallback::AnyOther
    }
}

/// Policies of a call: the ORB's own, or a copy with overrides.
#[expect(
    clippy::large_enum_variant,
    reason = "lives on the stack of one call, which shall not allocate"
)]
pub(crate) enum Resolved<'o> {
    Base(&'o Effective),
    Own(Effective),
}

impl Deref for Resolved<'_> {
    type Target = Effective;

    #[inline]
    fn deref(&self) -> &Effective {
        match self {
            Resolved::Base(base) => base,
            Resolved::Own(own) => own,
        }
    }
}

impl Effective {
    /// Returns the policies of an ORB without overrides.
    pub(crate) fn of(options: &Options) -> Effective {
        // An unknown protocol name is reported when the ORB is built, so it is ignored here.
        let protocols = options.preferred_protocols().ok().flatten();
        Effective {
            plain: true,
            carries: false,
            round_trip: options.round_trip_timeout,
            round_trip_carried: false,
            connect: options.connect_timeout,
            request: None,
            reply: None,
            request_start: None,
            request_end: None,
            reply_start: None,
            reply_end: None,
            priority: None,
            sync_scope: SyncScope::WithTransport,
            rebind: RebindMode::Transparent,
            retry: Retry::NONE,
            locate: LocateFirst::Never,
            buffering: BufferingConstraint::FLUSH,
            fragment_size: options.fragment_size,
            queue: options.buffered_oneways,
            payloads: options.large_payloads,
            qos: None,
            real_time: protocols.is_some(),
            realtime: RealTimePolicies {
                protocols,
                optional: protocols.is_some(),
                secure: options.secure_only,
                ..RealTimePolicies::default()
            },
        }
    }

    /// Applies the policies of a narrower level on top of these.
    pub(crate) fn apply(&mut self, policies: &[AnyPolicy]) {
        for policy in policies {
            match *policy {
                AnyPolicy::RebindMode(mode) => self.rebind = mode,
                AnyPolicy::SyncScope(scope) => self.sync_scope = scope,
                AnyPolicy::RequestPriority(range) => self.priority = Some(range),
                AnyPolicy::RequestStartTime(time) => self.request_start = Some(utc_of(time.0)),
                AnyPolicy::RequestEndTime(time) => self.request_end = Some(utc_of(time.0)),
                AnyPolicy::ReplyStartTime(time) => self.reply_start = Some(utc_of(time.0)),
                AnyPolicy::ReplyEndTime(time) => self.reply_end = Some(utc_of(time.0)),
                AnyPolicy::RelativeRequestTimeout(limit) => self.request = bounded(limit.0),
                AnyPolicy::RelativeRoundtripTimeout(limit) => {
                    self.round_trip = bounded(limit.0);
                    self.round_trip_carried = self.round_trip.is_some();
                }
                AnyPolicy::RelativeReplyTimeout(limit) => self.reply = bounded(limit.0),
                AnyPolicy::Retry(retry) => self.retry = retry,
                AnyPolicy::LocateFirst(when) => self.locate = when,
                AnyPolicy::BufferingConstraint(constraint) => self.buffering = constraint,
                AnyPolicy::ConnectionTimeout(limit) => self.connect = limit.0,
                AnyPolicy::ClientProtocol(list) => {
                    self.realtime.protocols = Some(list.0);
                    self.realtime.optional = false;
                }
                AnyPolicy::ProtocolFallback(fallback) => self.realtime.fallback = fallback,
                AnyPolicy::FragmentSize(size) => self.fragment_size = size.0,
                AnyPolicy::BufferPreallocation(octets) => {
                    let octets = octets.0.min(connections::MAX_PREALLOCATION);
                    self.realtime.preallocated = octets as u32;
                }
                AnyPolicy::QueueLimit(octets) => self.queue = octets.0,
                AnyPolicy::LargePayloads(mode) => self.payloads = mode,
                AnyPolicy::Bandwidth(rate) => {
                    self.realtime.bandwidth = rate.0.and_then(NonZeroU32::new);
                }
                AnyPolicy::SecureOnly(only) => self.realtime.secure = only.0,
                AnyPolicy::RequestQos(qos) => self.qos = Some(qos.0),
                AnyPolicy::PrivateConnection(_) => self.realtime.private = true,
                AnyPolicy::PriorityBandedConnection(list) => self.realtime.bands = Some(list.0),
            }
        }
        self.real_time = self.realtime != RealTimePolicies::default();
        self.carries = self.has_something_to_carry();
        self.plain = !(self.is_timed()
            || self.request.is_some()
            || self.reply.is_some()
            || self.priority.is_some()
            || self.rebind != RebindMode::Transparent
            || self.retry.times != 0
            || self.locate != LocateFirst::Never);
    }

    /// Returns these policies for a request without an answer: the round-trip limit bounds its sending, but is not sent
    /// to the server, which would drop the request as late.
    pub(crate) fn unanswered(&self) -> Effective {
        let mut policies = *self;
        policies.round_trip_carried = false;
        policies.carries = policies.has_something_to_carry();
        policies
    }

    fn has_something_to_carry(&self) -> bool {
        self.is_timed()
            || self.request.is_some()
            || self.round_trip_carried
            || self.priority.is_some()
            || self.qos.is_some()
    }

    /// Reports whether an absolute time is set.
    fn is_timed(&self) -> bool {
        let absolute = [self.request_start, self.request_end, self.reply_start, self.reply_end];
        absolute.iter().any(Option::is_some)
    }

    /// Returns the effective value as a policy; `None` if no policy of this kind applies.
    pub(crate) fn find(&self, kind: PolicyType) -> Option<AnyPolicy> {
        use super::time::system_time;
        Some(match kind {
            RebindMode::TYPE => self.rebind.into(),
            SyncScope::TYPE => self.sync_scope.into(),
            RequestPriority::TYPE => self.priority?.into(),
            RequestStartTime::TYPE => RequestStartTime(system_time(self.request_start?)).into(),
            RequestEndTime::TYPE => RequestEndTime(system_time(self.request_end?)).into(),
            ReplyStartTime::TYPE => ReplyStartTime(system_time(self.reply_start?)).into(),
            ReplyEndTime::TYPE => ReplyEndTime(system_time(self.reply_end?)).into(),
            RelativeRequestTimeout::TYPE => RelativeRequestTimeout(self.request?).into(),
            RelativeRoundtripTimeout::TYPE => RelativeRoundtripTimeout(self.round_trip?).into(),
            RelativeReplyTimeout::TYPE => RelativeReplyTimeout(self.reply?).into(),
            Retry::TYPE => self.retry.into(),
            LocateFirst::TYPE => self.locate.into(),
            BufferingConstraint::TYPE => self.buffering.into(),
            ConnectionTimeout::TYPE => ConnectionTimeout(self.connect).into(),
            RequestQos::TYPE => RequestQos(self.qos?).into(),
            ClientProtocol::TYPE => ClientProtocol(self.realtime.protocols?).into(),
            ProtocolFallback::TYPE => self.realtime.fallback.into(),
            FragmentSize::TYPE => FragmentSize(self.fragment_size).into(),
            BufferPreallocation::TYPE if self.realtime.preallocated != 0 => {
                BufferPreallocation(self.realtime.preallocated as usize).into()
            }
            QueueLimit::TYPE => QueueLimit(self.queue).into(),
            LargePayloads::TYPE => self.payloads.into(),
            Bandwidth::TYPE => Bandwidth(Some(self.realtime.bandwidth?.get())).into(),
            SecureOnly::TYPE => SecureOnly(self.realtime.secure).into(),
            PrivateConnection::TYPE if self.realtime.private => PrivateConnection.into(),
            PriorityBandedConnection::TYPE => PriorityBandedConnection(self.realtime.bands?).into(),
            _ => return None,
        })
    }
}

/// Returns the limit; `None` for `Duration::MAX`, which stands for no limit.
fn bounded(limit: Duration) -> Option<Duration> {
    (limit != Duration::MAX).then_some(limit)
}
