//! Policies on the wire: `Messaging::PolicyValueSeq` (CORBA 3.4, 22.3), as contained in the
//! component TAG_POLICIES of a reference and in the service context INVOCATION_POLICIES of a
//! request.

use oxorb_cdr::{Decoder, Dialect};

use crate::Malformed;

/// Numbers of the policy types that are sent (CORBA 3.4, Messaging).
pub mod policy_type {
    /// RequestPriorityPolicy: a range of priorities.
    pub const REQUEST_PRIORITY: u32 = 25;
    /// ReplyPriorityPolicy: a range of priorities.
    pub const REPLY_PRIORITY: u32 = 26;
    /// RequestStartTimePolicy: earliest time at which the request may be served.
    pub const REQUEST_START_TIME: u32 = 27;
    /// RequestEndTimePolicy: latest time at which the request may be served.
    pub const REQUEST_END_TIME: u32 = 28;
    /// ReplyStartTimePolicy: earliest time at which the reply may be delivered.
    pub const REPLY_START_TIME: u32 = 29;
    /// ReplyEndTimePolicy: latest time at which the reply is useful.
    pub const REPLY_END_TIME: u32 = 30;
    /// RelativeRequestTimeoutPolicy: time for which the request is useful.
    pub const RELATIVE_REQUEST_TIMEOUT: u32 = 31;
    /// RelativeRoundtripTimeoutPolicy: time for which the reply is useful.
    pub const RELATIVE_ROUNDTRIP_TIMEOUT: u32 = 32;
    /// QueueOrderPolicy: order in which requests are served.
    pub const QUEUE_ORDER: u32 = 35;
    /// RTCORBA::PriorityModelPolicy: whether client or server determines the priority of a request.
    pub const PRIORITY_MODEL: u32 = 40;
    /// RTCORBA::ClientProtocolPolicy: protocols that clients should use, with their properties.
    pub const CLIENT_PROTOCOL: u32 = 43;
    /// RTCORBA::PriorityBandedConnectionPolicy: priorities that share a connection.
    pub const PRIORITY_BANDED_CONNECTION: u32 = 45;
}

/// Maximum number of policies read from one list; no known peer sends more, and further ones are
/// ignored.
pub const MAX_POLICY_VALUES: usize = 64;

/// Iterator over the policies of an encapsulated `PolicyValueSeq`: type, and unparsed value.
#[derive(Debug)]
pub struct PolicyValues<'a> {
    rest: Decoder<'a>,
    left: usize,
}

impl<'a> PolicyValues<'a> {
    /// Starts to parse the octets of a TAG_POLICIES component or an INVOCATION_POLICIES context.
    /// Allocates nothing.
    ///
    /// # Errors
    /// Octets that are not an encapsulation, or a truncated one.
    pub fn parse(data: &'a [u8]) -> Result<Self, Malformed> {
        let mut rest = Decoder::encapsulated(data, Dialect::GIOP_1_2)?;
        let left = rest.length(None, 8)?.min(MAX_POLICY_VALUES);
        Ok(Self { rest, left })
    }

    fn read(&mut self) -> Result<(u32, &'a [u8]), Malformed> {
        let kind = self.rest.ulong()?;
        let length = self.rest.length(None, 1)?;
        Ok((kind, self.rest.octets(length)?))
    }
}

impl<'a> Iterator for PolicyValues<'a> {
    type Item = Result<(u32, &'a [u8]), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let read = self.read();
        if read.is_err() {
            self.left = 0;
        }
        Some(read)
    }
}

/// Parses a value that is a `TimeBase::UtcT`: 100 ns units since 15 October 1582, 0:00 UTC.
///
/// # Errors
/// Octets that are not an encapsulation of a `UtcT`.
pub fn utc_value(value: &[u8]) -> Result<u64, Malformed> {
    let mut d = Decoder::encapsulated(value, Dialect::GIOP_1_2)?;
    let time = d.ulonglong()?;
    d.ulong()?; // inaccuracy, low
    d.ushort()?; // inaccuracy, high
    d.short()?; // displacement of the time zone: `time` is UTC all the same
    Ok(time)
}

/// Parses a value that is a `TimeBase::TimeT`: 100 ns units.
///
/// # Errors
/// Octets that are not an encapsulation of a `TimeT`.
pub fn time_value(value: &[u8]) -> Result<u64, Malformed> {
    Ok(Decoder::encapsulated(value, Dialect::GIOP_1_2)?.ulonglong()?)
}

/// Parses a value that is a `Messaging::PriorityRange`: lowest and highest.
///
/// # Errors
/// Octets that are not an encapsulation of a `PriorityRange`.
pub fn range_value(value: &[u8]) -> Result<(i16, i16), Malformed> {
    let mut d = Decoder::encapsulated(value, Dialect::GIOP_1_2)?;
    Ok((d.short()?, d.short()?))
}

/// Writer of a `PolicyValueSeq` into a fixed buffer: for the request path, which does not allocate.
///
/// ```
/// use oxorb_object::{PolicyValueWriter, PolicyValues, policy_type, time_value};
///
/// let mut policies = PolicyValueWriter::new();
/// policies.time(policy_type::RELATIVE_ROUNDTRIP_TIMEOUT, 50_000);
/// let (kind, value) = PolicyValues::parse(policies.octets())?.next().unwrap()?;
/// assert_eq!((kind, time_value(value)?), (32, 50_000));
/// # Ok::<(), oxorb_object::Malformed>(())
/// ```
#[derive(Clone, Debug)]
pub struct PolicyValueWriter {
    octets: [u8; Self::CAPACITY],
    length: usize,
    count: u32,
}

impl PolicyValueWriter {
    /// Maximum number of values in one list.
    pub const MAX_VALUES: usize = 12;
    /// Maximum size of a value: type, length, byte order, padding to eight, UtcT.
    const LONGEST: usize = 4 + 4 + 24;
    const CAPACITY: usize = 8 + Self::MAX_VALUES * Self::LONGEST;

    /// Creates an empty list.
    pub fn new() -> Self {
        // The zeros are the byte order (big-endian, as in all published encapsulations), padding,
        // and the count at offset 4.
        Self { octets: [0; Self::CAPACITY], length: 8, count: 0 }
    }

    /// Reports whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a policy whose value is a `UtcT`, exact and without displacement.
    ///
    /// # Panics
    /// When the list is full, as for the methods below.
    pub fn utc(&mut self, kind: u32, time: u64) {
        let mut value = [0; 24];
        value[8..16].copy_from_slice(&time.to_be_bytes());
        self.value(kind, &value);
    }

    /// Adds a policy whose value is a `TimeT`.
    pub fn time(&mut self, kind: u32, time: u64) {
        let mut value = [0; 16];
        value[8..].copy_from_slice(&time.to_be_bytes());
        self.value(kind, &value);
    }

    /// Adds a policy whose value is a `PriorityRange`.
    pub fn range(&mut self, kind: u32, (lowest, highest): (i16, i16)) {
        let mut value = [0; 6];
        value[2..4].copy_from_slice(&lowest.to_be_bytes());
        value[4..].copy_from_slice(&highest.to_be_bytes());
        self.value(kind, &value);
    }

    fn value(&mut self, kind: u32, value: &[u8]) {
        let at = self.length.next_multiple_of(4);
        self.octets[at..at + 4].copy_from_slice(&kind.to_be_bytes());
        self.octets[at + 4..at + 8].copy_from_slice(&(value.len() as u32).to_be_bytes());
        self.octets[at + 8..][..value.len()].copy_from_slice(value);
        self.length = at + 8 + value.len();
        self.count += 1;
        self.octets[4..8].copy_from_slice(&self.count.to_be_bytes());
    }

    /// Returns the octets of the encapsulation.
    pub fn octets(&self) -> &[u8] {
        &self.octets[..self.length]
    }
}

impl Default for PolicyValueWriter {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[test]
    fn a_list_holds_as_many_values_as_it_says_and_reads_back() {
        let mut written = PolicyValueWriter::new();
        for index in 0..PolicyValueWriter::MAX_VALUES as u32 {
            written.utc(index, u64::MAX - u64::from(index));
        }
        let read: Vec<_> = PolicyValues::parse(written.octets())
            .unwrap()
            .map(|value| {
                let (kind, value) = value.unwrap();
                (kind, utc_value(value).unwrap())
            })
            .collect();
        assert_eq!(read.len(), PolicyValueWriter::MAX_VALUES);
        assert!(read.iter().enumerate().all(|(index, &(kind, time))| {
            kind == index as u32 && time == u64::MAX - index as u64
        }));
    }

    #[test]
    fn a_short_value_leaves_the_next_one_aligned() {
        let mut written = PolicyValueWriter::new();
        written.range(policy_type::REQUEST_PRIORITY, (-3, 7));
        written.time(policy_type::RELATIVE_REQUEST_TIMEOUT, 9);
        let mut read = PolicyValues::parse(written.octets()).unwrap();
        let (_, range) = read.next().unwrap().unwrap();
        assert_eq!(range_value(range), Ok((-3, 7)));
        let (kind, time) = read.next().unwrap().unwrap();
        assert_eq!((kind, time_value(time)), (31, Ok(9)));
        assert!(read.next().is_none());
    }

    #[test]
    fn what_was_cut_off_is_an_error_and_the_end() {
        let mut written = PolicyValueWriter::new();
        written.utc(policy_type::REPLY_END_TIME, 1);
        let whole = written.octets();
        for end in 0..whole.len() {
            let Ok(read) = PolicyValues::parse(&whole[..end]) else {
                continue;
            };
            let values: Vec<_> = read.collect();
            assert!(values.len() <= 1 && values.iter().all(Result::is_err), "{end}");
        }
    }
}
