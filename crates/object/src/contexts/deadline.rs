//! Time limits of a request (INVOCATION_POLICIES of CORBA Messaging): when it may be served, and
//! how long it is useful.

use crate::{
    Malformed, PolicyValueWriter, PolicyValues, ServiceContext, ServiceContexts, context_id,
    policy_type, time_value, utc_value,
};

/// Time limits that a request carries. Absolute times are those of `TimeBase::UtcT`, relative ones
/// count from when the request is read; all are in units of 100 ns.
///
/// ```
/// use oxorb_object::PolicyValueWriter;
/// use oxorb_object::contexts::Deadline;
///
/// let half_a_second = Deadline { round_trip: Some(5_000_000), ..Deadline::default() };
/// let mut policies = PolicyValueWriter::new();
/// half_a_second.write(&mut policies);
/// assert_eq!(Deadline::parse(policies.octets())?, half_a_second);
/// # Ok::<(), oxorb_object::Malformed>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Deadline {
    /// Absolute time before which the request must not be served (RequestStartTime).
    pub request_start: Option<u64>,
    /// Absolute time after which the request must not be served (RequestEndTime).
    pub request_end: Option<u64>,
    /// Absolute time before which the reply must not be delivered (ReplyStartTime).
    pub reply_start: Option<u64>,
    /// Absolute time after which the reply is useless (ReplyEndTime).
    pub reply_end: Option<u64>,
    /// Time within which the request must be served (RelativeRequestTimeout).
    pub request: Option<u64>,
    /// Time after which the reply is useless (RelativeRoundtripTimeout).
    pub round_trip: Option<u64>,
}

impl Deadline {
    /// Parses the policies of the service context [`context_id::INVOCATION_POLICIES`]. Of several
    /// ends or timeouts of a kind, the earliest applies; of several starts, the last one in the
    /// list. Ignores other policies. Allocates nothing.
    ///
    /// # Errors
    /// Octets that are not a sequence of policies, or policies without valid times.
    pub fn parse(data: &[u8]) -> Result<Deadline, Malformed> {
        let sooner = |known: &mut Option<u64>, time: u64| {
            *known = Some(known.map_or(time, |known| known.min(time)));
        };
        let mut read = Deadline::default();
        for policy in PolicyValues::parse(data)? {
            let (kind, value) = policy?;
            match kind {
                policy_type::REQUEST_START_TIME => read.request_start = Some(utc_value(value)?),
                policy_type::REQUEST_END_TIME => sooner(&mut read.request_end, utc_value(value)?),
                policy_type::REPLY_START_TIME => read.reply_start = Some(utc_value(value)?),
                policy_type::REPLY_END_TIME => sooner(&mut read.reply_end, utc_value(value)?),
                policy_type::RELATIVE_REQUEST_TIMEOUT => {
                    sooner(&mut read.request, time_value(value)?);
                }
                policy_type::RELATIVE_ROUNDTRIP_TIMEOUT => {
                    sooner(&mut read.round_trip, time_value(value)?);
                }
                _ => {}
            }
        }
        Ok(read)
    }

    /// Returns the limits in the contexts of a request; `None` if there are none. Allocates
    /// nothing.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse).
    #[inline]
    pub fn of(contexts: &ServiceContexts<'_>) -> Result<Option<Deadline>, Malformed> {
        match contexts.find(context_id::INVOCATION_POLICIES) {
            Some(context) => Deadline::parse(context.data).map(Some),
            None => Ok(None),
        }
    }

    /// Writes the policies of that context. Allocates nothing.
    pub fn write(&self, policies: &mut PolicyValueWriter) {
        let absolute = [
            (policy_type::REQUEST_START_TIME, self.request_start),
            (policy_type::REQUEST_END_TIME, self.request_end),
            (policy_type::REPLY_START_TIME, self.reply_start),
            (policy_type::REPLY_END_TIME, self.reply_end),
        ];
        let relative = [
            (policy_type::RELATIVE_REQUEST_TIMEOUT, self.request),
            (policy_type::RELATIVE_ROUNDTRIP_TIMEOUT, self.round_trip),
        ];
        for (kind, time) in absolute {
            if let Some(time) = time {
                policies.utc(kind, time);
            }
        }
        for (kind, time) in relative {
            if let Some(time) = time {
                policies.time(kind, time);
            }
        }
    }

    /// Returns the service context with these policies.
    pub fn context(policies: &PolicyValueWriter) -> ServiceContext<'_> {
        ServiceContext { id: context_id::INVOCATION_POLICIES, data: policies.octets() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let all = Deadline {
            request_start: Some(1),
            request_end: Some(2),
            reply_start: Some(3),
            reply_end: Some(4),
            request: Some(5),
            round_trip: Some(u64::MAX),
        };
        let mut policies = PolicyValueWriter::new();
        all.write(&mut policies);
        assert_eq!(Deadline::parse(policies.octets()), Ok(all));
        assert_eq!(Deadline::context(&policies).data, policies.octets());
    }

    #[test]
    fn of_two_ends_of_a_kind_the_sooner_counts() {
        let mut policies = PolicyValueWriter::new();
        for time in [9, 7, 8] {
            policies.utc(policy_type::REPLY_END_TIME, time);
            policies.time(policy_type::RELATIVE_REQUEST_TIMEOUT, 10 * time);
        }
        let read = Deadline::parse(policies.octets()).unwrap();
        assert_eq!((read.reply_end, read.request), (Some(7), Some(70)));
    }

    #[test]
    fn nonsense_is_an_error() {
        for octets in [&[][..], &[2, 0, 0, 0], &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 32]] {
            assert!(Deadline::parse(octets).is_err(), "{octets:?}");
        }
    }
}
