//! Policies on the wire: `Messaging::PolicyValueSeq` (CORBA 3.4, 22.3), as it stands in the component TAG_POLICIES of a
//! reference and in the service context INVOCATION_POLICIES of a request.

use oxorb_cdr::{Decoder, Dialect};

use crate::Malformed;

/// Numbers of the policy types that travel (CORBA 3.4, Messaging).
pub mod policy_type {
    /// RequestPriorityPolicy: a range of priorities.
    pub const REQUEST_PRIORITY: u32 = 25;
    /// ReplyPriorityPolicy: a range of priorities.
    pub const REPLY_PRIORITY: u32 = 26;
    /// RequestStartTimePolicy: the request is not to be served earlier.
    pub const REQUEST_START_TIME: u32 = 27;
    /// RequestEndTimePolicy: the request is not to be served later.
    pub const REQUEST_END_TIME: u32 = 28;
    /// ReplyStartTimePolicy: the reply is not to be delivered earlier.
    pub const REPLY_START_TIME: u32 = 29;
    /// ReplyEndTimePolicy: the reply is of no use later.
    pub const REPLY_END_TIME: u32 = 30;
    /// RelativeRequestTimeoutPolicy: how long the request is of use.
    pub const RELATIVE_REQUEST_TIMEOUT: u32 = 31;
    /// RelativeRoundtripTimeoutPolicy: how long the reply is of use.
    pub const RELATIVE_ROUNDTRIP_TIMEOUT: u32 = 32;
    /// QueueOrderPolicy: in which order requests are served.
    pub const QUEUE_ORDER: u32 = 35;
    /// RTCORBA::PriorityModelPolicy: who decides at which priority a request is served.
    pub const PRIORITY_MODEL: u32 = 40;
    /// RTCORBA::ClientProtocolPolicy: which protocols clients are to use, and how.
    pub const CLIENT_PROTOCOL: u32 = 43;
    /// RTCORBA::PriorityBandedConnectionPolicy: which priorities share a connection.
    pub const PRIORITY_BANDED_CONNECTION: u32 = 45;
}

/// Most policies read from one list; more are a violation of no peer known, and are passed over.
pub const MAX_POLICY_VALUES: usize = 64;

/// The policies of an encapsulated `PolicyValueSeq`: type, and value as it came.
#[derive(Debug)]
pub struct PolicyValues<'a> {
    rest: Decoder<'a>,
    left: usize,
}

impl<'a> PolicyValues<'a> {
    /// Begins to read the octets of a TAG_POLICIES component or an INVOCATION_POLICIES context. Allocates nothing.
    ///
    /// # Errors
    /// Octets that are no encapsulation, or one shorter than it says.
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

/// Reads a value that is a `TimeBase::UtcT`: 100 ns units since 15 October 1582, 0:00 UTC.
///
/// # Errors
/// Octets that are no encapsulation of one.
pub fn utc_value(value: &[u8]) -> Result<u64, Malformed> {
    let mut d = Decoder::encapsulated(value, Dialect::GIOP_1_2)?;
    let time = d.ulonglong()?;
    d.ulong()?; // inaccuracy, low
    d.ushort()?; // inaccuracy, high
    d.short()?; // displacement of the time zone: `time` is UTC all the same
    Ok(time)
}

/// Reads a value that is a `TimeBase::TimeT`: 100 ns units.
///
/// # Errors
/// Octets that are no encapsulation of one.
pub fn time_value(value: &[u8]) -> Result<u64, Malformed> {
    Ok(Decoder::encapsulated(value, Dialect::GIOP_1_2)?.ulonglong()?)
}

/// Reads a value that is a `Messaging::PriorityRange`: lowest and highest.
///
/// # Errors
/// Octets that are no encapsulation of one.
pub fn range_value(value: &[u8]) -> Result<(i16, i16), Malformed> {
    let mut d = Decoder::encapsulated(value, Dialect::GIOP_1_2)?;
    Ok((d.short()?, d.short()?))
}

/// Writes a `PolicyValueSeq` into memory of its own: for the request path, which does not allocate.
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
    /// Most values one list takes.
    pub const MAX_VALUES: usize = 12;
    /// The longest value: type, length, byte order, padding to eight, UtcT.
    const LONGEST: usize = 4 + 4 + 24;
    const CAPACITY: usize = 8 + Self::MAX_VALUES * Self::LONGEST;

    /// An empty list.
    pub fn new() -> Self {
        // Big endian, as all encapsulations that we publish: octet 0, and the count at 4.
        Self { octets: [0; Self::CAPACITY], length: 8, count: 0 }
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a policy whose value is a `UtcT`, exact and without displacement.
    ///
    /// # Panics
    /// Here and below when the list is full.
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

    /// The encapsulation's octets.
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
