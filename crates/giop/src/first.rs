//! Beginning of a connection: the object that its first message names, and the priority of its caller.

use oxorb_object::{Qos, ServiceContexts, context_id, contexts, parse_priority_range_context};

use crate::{Frame, Header, LocateRequest, MessageType, Request};

/// Beginning of the first GIOP message of a connection, for a server that selects the threads of the connection by it.
///
/// ```
/// use oxorb_giop::FirstMessage;
///
/// let octets = [
///     b"GIOP\x01\x00\x00\x00".as_slice(), // GIOP 1.0, big-endian, Request
///     &[0, 0, 0, 44],
///     &[0, 0, 0, 1, 0, 0, 0, 10, 0, 0, 0, 4, 0, 0, 0, 99], // RTCorbaPriority 99
///     &[0, 0, 0, 7, 1, 0, 0, 0],                           // request id 7, a reply is expected
///     &[0, 0, 0, 1, b'k', 0, 0, 0, 0, 0, 0, 2, b'f', 0, 0, 0],
///     &[0, 0, 0, 0],
/// ]
/// .concat();
/// assert_eq!(FirstMessage::parse(&octets[..30]), FirstMessage::Incomplete);
/// let first = FirstMessage::parse(&octets);
/// assert_eq!(first, FirstMessage::Request { key: b"k", priority: Some(99) });
/// assert_eq!(FirstMessage::parse(b"GET / HTTP/1.1\r\n"), FirstMessage::Other);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstMessage<'a> {
    /// The header fields are not complete.
    Incomplete,
    /// Request or LocateRequest.
    Request {
        /// Object key.
        key: &'a [u8],
        /// Priority of the caller, as [`caller_priority`] returns it; `None` in a LocateRequest.
        priority: Option<i16>,
    },
    /// Another message, a fragmented message whose first fragment does not contain all header fields, or octets that
    /// are not a GIOP message.
    Other,
}

impl<'a> FirstMessage<'a> {
    /// Parses the octets that have arrived over a connection. The result stays the same when further octets arrive,
    /// unless it is [`Incomplete`](Self::Incomplete). Allocates nothing.
    pub fn parse(octets: &'a [u8]) -> Self {
        let Some(start) = octets.first_chunk::<{ Header::LEN }>() else {
            return Self::Incomplete;
        };
        let Ok(header) = Header::parse(start) else {
            return Self::Other;
        };
        let bytes = octets.get(..header.total()).unwrap_or(octets);
        // A first fragment has the layout of a whole message.
        let header = Header { more_fragments: false, ..header };
        let frame = Frame { header, bytes, context: None, gap: None };
        let parsed = match header.kind {
            MessageType::REQUEST => Self::of_request(&frame),
            MessageType::LOCATE_REQUEST => Self::of_locate_request(&frame),
            _ => return Self::Other,
        };
        // A message with invalid fields is reported by the thread that serves it, once the message is complete.
        match parsed {
            Some(first) => first,
            None if octets.len() < header.total() => Self::Incomplete,
            None => Self::Other,
        }
    }

    fn of_request(frame: &Frame<'a>) -> Option<Self> {
        let request = Request::parse(frame).ok()?;
        let key = request.target.object_key().ok()?;
        Some(Self::Request { key, priority: caller_priority(&request.contexts) })
    }

    fn of_locate_request(frame: &Frame<'a>) -> Option<Self> {
        let key = LocateRequest::parse(frame).ok()?.target.object_key().ok()?;
        Some(Self::Request { key, priority: None })
    }
}

/// Returns the priority of the caller of a request with these service contexts: its RTCorbaPriority, that of its
/// quality of service, or the lowest priority of its RTCorbaPriorityRange; `None` without these. Negative values are
/// outside of RT-CORBA's range. Allocates nothing.
pub fn caller_priority(list: &ServiceContexts<'_>) -> Option<i16> {
    if let Some(context) = contexts::Priority::find(list) {
        return contexts::Priority::parse(context.data).ok().map(|priority| priority.0);
    }
    if let Some(priority) = Qos::of(list).and_then(|qos| qos.priority) {
        return Some(priority);
    }
    let range = list.find(context_id::RT_CORBA_PRIORITY_RANGE)?;
    parse_priority_range_context(range.data).ok().map(|band| band.low)
}
