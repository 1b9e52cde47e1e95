//! Samples of a federation: the names of topics, and the encoding of one event with its sender and number.
//!
//! ```text
//! PREFIX/TYPE/SOURCE        key expression of an event; PREFIX/any if either is 0, which every consumer may want
//! octets 0-3  "OxEv"        4  version: 1        5  order of octets: 0 big, 1 little        6  priority, 1 to 7        7  zero
//! octets 8-23 sender        24-31  number in the topic of this sender, from 1; 0: not numbered
//! octets 32-  event, as CDR has it (a sequence of one), aligned from here; its ttl is what it has left
//! ```

use std::fmt;

use oxorb::cdr::{self, Decoder, Dialect, Encode as _, Encoder};
use oxorb::values::ByteOrder;
use oxorb_event::Key;
use oxorb_event::event_type::{ANY, UNDEFINED};
use oxorb_event::rtec_event_comm::Event;
use zenoh::qos::Priority;

/// Identity of a gateway: 128 random bits, chosen at each start.
pub type Sender = [u8; 16];

/// Size in octets of the header before the event.
pub const HEADER_OCTETS: usize = 32;

const MAGIC: &[u8; 4] = b"OxEv";
const VERSION: u8 = 1;

/// Header of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Gateway that sent the event into the federation.
    pub sender: Sender,
    /// Number of the event among the events of its sender in its topic, from 1; 0 if it has no number.
    pub number: u64,
    /// Priority of the topic, which selects the receiver's queue. zenoh's priority of the sample cannot be used,
    /// because the reply to a query has another one.
    pub priority: Priority,
    /// Byte order of number and event.
    pub order: ByteOrder,
}

/// Reason why a sample is rejected.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// The key is not the name of a topic.
    Topic,
    /// The sample is shorter than a header.
    Short,
    /// The octets do not begin with the magic number of a sample.
    Magic,
    /// The version is unknown.
    Version(u8),
    /// The priority is not one of zenoh's.
    Priority(u8),
    /// The event cannot be decoded.
    Event(cdr::Error),
    /// The sample holds no event, or more than one.
    Count(usize),
    /// The event does not belong to the topic of the key.
    OtherTopic,
    /// The type is reserved for events that channels themselves produce.
    Reserved(i32),
}

/// Returns the part of a topic's name after the prefix: `TYPE/SOURCE`, or `any`.
pub fn topic((event_type, source): Key) -> String {
    match event_type == ANY || source == ANY {
        true => "any".to_owned(),
        false => format!("{event_type}/{source}"),
    }
}

/// Parses the part of a topic's name after the prefix. The result for `any` is (0, 0).
///
/// # Errors
/// [`Refused::Topic`].
pub fn read_topic(name: &str) -> Result<Key, Refused> {
    if name == "any" {
        return Ok((ANY, ANY));
    }
    let (event_type, source) = name.split_once('/').ok_or(Refused::Topic)?;
    let number = |text: &str| match text.parse::<i32>() {
        // Each topic has exactly one spelling, so `+7` and `007` are rejected.
        Ok(number) if number != ANY && number.to_string() == text => Ok(number),
        _ => Err(Refused::Topic),
    };
    Ok((number(event_type)?, number(source)?))
}

/// Writes a sample of an event, with its `ttl` decremented.
///
/// # Errors
/// The event cannot be encoded.
pub fn write(
    sender: &Sender,
    number: u64,
    priority: Priority,
    event: &Event,
) -> cdr::Result<Vec<u8>> {
    let mut header = event.header;
    header.ttl = header.ttl.saturating_sub(1);
    let room = HEADER_OCTETS + 64 + event.data.payload.len();
    let mut e = Encoder::new(Vec::with_capacity(room), ByteOrder::NATIVE, Dialect::GIOP_1_2);
    let little = u8::from(ByteOrder::NATIVE == ByteOrder::Little);
    e.copy_octets(MAGIC);
    e.copy_octets(&[VERSION, little, priority as u8, 0]);
    e.copy_octets(sender);
    e.ulonglong(number);
    e.ulong(1);
    header.encode(&mut e)?;
    event.data.encode(&mut e)?;
    let encoded = e.finish();
    let used = encoded.len();
    let mut sample = encoded.into_buffer();
    sample.truncate(used);
    Ok(sample)
}

/// Reads the header of a sample.
///
/// # Errors
/// [`Refused::Short`], [`Refused::Magic`], [`Refused::Version`], [`Refused::Priority`].
pub fn read_header(sample: &[u8]) -> Result<Header, Refused> {
    let header: &[u8; HEADER_OCTETS] = sample.first_chunk().ok_or(Refused::Short)?;
    let order = match (&header[..4] == MAGIC, header[4], header[5], header[7]) {
        (false, ..) => return Err(Refused::Magic),
        (true, VERSION, 0, 0) => ByteOrder::Big,
        (true, VERSION, 1, 0) => ByteOrder::Little,
        (true, VERSION, ..) => return Err(Refused::Magic),
        (true, version, ..) => return Err(Refused::Version(version)),
    };
    let priority = Priority::try_from(header[6]).map_err(|_| Refused::Priority(header[6]))?;
    let mut sender = Sender::default();
    sender.copy_from_slice(&header[8..24]);
    let mut number = [0; 8];
    number.copy_from_slice(&header[24..]);
    let number = match order {
        ByteOrder::Big => u64::from_be_bytes(number),
        ByteOrder::Little => u64::from_le_bytes(number),
    };
    Ok(Header { sender, number, priority, order })
}

/// Reads the event of a sample whose header has been read and whose key names `topic`. Time and memory are proportional
/// to the size of the sample.
///
/// # Errors
/// [`Refused`], except for errors of the header.
pub fn read_event(sample: &[u8], order: ByteOrder, topic: Key) -> Result<Event, Refused> {
    let body = sample.get(HEADER_OCTETS..).ok_or(Refused::Short)?;
    let mut d = Decoder::new(body, order, Dialect::GIOP_1_2);
    let mut events: Vec<Event> = d.sequence(Some(1)).map_err(Refused::Event)?;
    d.finish().map_err(Refused::Event)?;
    let event = events.pop().ok_or(Refused::Count(0))?;
    let (event_type, source) = (event.header.r#type, event.header.source);
    let of = match event_type == ANY || source == ANY {
        true => (ANY, ANY),
        false => (event_type, source),
    };
    match () {
        () if of != topic => Err(Refused::OtherTopic),
        () if (1..UNDEFINED).contains(&event_type) => Err(Refused::Reserved(event_type)),
        () => Ok(event),
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sample of a federation refused: ")?;
        match self {
            Self::Topic => f.write_str("its key is neither TYPE/SOURCE nor any"),
            Self::Short => write!(f, "it has fewer than {HEADER_OCTETS} octets"),
            Self::Magic => f.write_str("it is not from a gateway of OxORB"),
            Self::Version(version) => write!(f, "it has version {version} instead of {VERSION}"),
            Self::Priority(one) => {
                write!(f, "it has priority {one}, but a priority must be from 1 to 7")
            }
            Self::Event(why) => write!(f, "its event cannot be decoded: {why}"),
            Self::Count(count) => write!(f, "it contains {count} events instead of one"),
            Self::OtherTopic => f.write_str("its event belongs to another topic than its key"),
            Self::Reserved(kind) => {
                write!(f, "its event has type {kind}, which is reserved for channels")
            }
        }
    }
}

impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Refused {}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(event_type: i32, source: i32) -> Event {
        let mut event = Event::default();
        event.header.r#type = event_type;
        event.header.source = source;
        event.header.ttl = 3;
        event.data.payload = b"payload".to_vec();
        event
    }

    #[test]
    fn what_is_written_is_read() {
        for (event_type, source) in [(17, 1), (i32::MAX, -1), (0, 4), (17, 0)] {
            let topic = read_topic(&topic((event_type, source))).unwrap();
            let sample =
                write(&[7; 16], 42, Priority::DataLow, &event(event_type, source)).unwrap();
            let header = read_header(&sample).unwrap();
            assert_eq!((header.sender, header.number), ([7; 16], 42));
            assert_eq!(header.priority, Priority::DataLow);
            let got = read_event(&sample, header.order, topic).unwrap();
            assert_eq!((got.header.r#type, got.header.source), (event_type, source));
            assert_eq!((got.header.ttl, &got.data.payload[..]), (2, &b"payload"[..]));
        }
    }

    #[test]
    fn names_of_topics_are_unique() {
        for name in
            ["", "any/1", "17", "17/0", "0/1", "+7/1", "017/1", "17/1/1", "a/b", "17/9999999999"]
        {
            assert_eq!(read_topic(name), Err(Refused::Topic), "{name}");
        }
    }

    #[test]
    fn other_events_than_the_topics_are_refused() {
        let sample = write(&[0; 16], 1, Priority::Data, &event(17, 1)).unwrap();
        let refused = |topic| read_event(&sample, ByteOrder::NATIVE, topic).map(drop);
        assert_eq!(refused((17, 2)), Err(Refused::OtherTopic));
        assert_eq!(refused((0, 0)), Err(Refused::OtherTopic));
        let own = write(&[0; 16], 1, Priority::Data, &event(5, 1)).unwrap();
        let refused = read_event(&own, ByteOrder::NATIVE, (5, 1)).map(drop);
        assert_eq!(refused, Err(Refused::Reserved(5)));
    }

    /// Checks that no changed bit, truncation or false length makes reading panic, or return an event that does not
    /// belong to the topic.
    #[test]
    fn hostile_octets_are_refused_or_read() {
        let good = write(&[9; 16], 1, Priority::Data, &event(17, 1)).unwrap();
        let read = |sample: &[u8]| {
            let header = read_header(sample)?;
            read_event(sample, header.order, (17, 1))
        };
        assert!(read(&good).is_ok());
        for length in 0..good.len() {
            assert!(read(&good[..length]).is_err(), "{length} octets");
        }
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                if let Ok(event) = read(&bad) {
                    assert_eq!((event.header.r#type, event.header.source), (17, 1));
                }
            }
            // Very large and moderately large lengths, at every position.
            for value in [[0xff; 4], [0x7f, 0xff, 0xff, 0xff], [0, 1, 0, 0]] {
                let mut bad = good.clone();
                let end = (at + 4).min(bad.len());
                bad[at..end].copy_from_slice(&value[..end - at]);
                let _ = read(&bad);
            }
        }
    }
}
