//! Request message (CORBA 3.4, 15.4.2).

use oxorb_cdr::{Decoder, Encoder, plain_str};
use oxorb_object::{ServiceContext, ServiceContexts, Version, write_contexts};

use crate::order::{ulong_from, ulong_octets};
use crate::{
    Alias, Begun, Frame, Header, MessageType, Misbehaviour, Target, TargetAddress, Terms,
    Violation, header,
};

/// Received Request, borrowed from its frame.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Request id that the client assigned, unique among its outstanding requests on the
    /// connection.
    pub id: u32,
    /// Whether and when the client expects a reply.
    pub response: Response,
    /// Target object.
    pub target: Target<'a>,
    /// Name of the operation, as in IDL; `_get_x` and `_set_x` for attributes.
    pub operation: &'a str,
    /// Service contexts.
    pub contexts: ServiceContexts<'a>,
    /// Whether the message contains a priority or time limit, which [`Frame::terms`] reads.
    pub has_terms: bool,
    /// Offset of the arguments in [`Frame::bytes`]; equal to its length if there are none.
    pub body: usize,
}

impl<'a> Request<'a> {
    /// Parses the header fields of a Request of any version. Allocates nothing.
    ///
    /// # Errors
    /// [`Violation`] for a frame of another kind or malformed fields.
    #[inline(always)]
    pub fn parse(frame: &Frame<'a>) -> Result<Self, Violation> {
        if let Some(context) = frame.context {
            if let Some(aliased) = context.aliased()
                && let Some(request) = aliased.bare().read(frame, aliased)
            {
                return Ok(request);
            }
            return context.messaging().request(frame);
        }
        if frame.header.kind == MessageType::REQUEST
            && frame.header.version >= Version::V1_2
            && let Some(request) = Self::parse_common(frame)
        {
            return Ok(request);
        }
        Self::parse_any(frame)
    }

    #[cold]
    fn parse_any(frame: &Frame<'a>) -> Result<Self, Violation> {
        let fields = frame.fields(MessageType::REQUEST)?;
        if frame.header.version >= Version::V1_2 {
            Self::parse_1_2(frame, fields)
        } else {
            Self::parse_1_0(frame, fields)
        }
    }

    /// Parses the most common form of a request: GIOP 1.2, addressed by key, without service
    /// contexts. All its numbers are at offsets that are easily computed, so this takes a third of
    /// the time of [`parse_1_2`](Self::parse_1_2), which parses all others and reports what is
    /// invalid.
    #[inline(always)]
    fn parse_common(frame: &Frame<'a>) -> Option<Self> {
        let (bytes, order) = (frame.bytes, frame.header.order);
        let (start, rest) = bytes.split_first_chunk::<KEY_AT>()?;
        let [.., id0, id1, id2, id3, flags, _, _, _, 0, 0, _, _, l0, l1, l2, l3] = *start else {
            return None; // the two zeros are AddressingDisposition::KEY
        };
        let length = ulong_from(order, [l0, l1, l2, l3]) as usize;
        let key = rest.get(..length)?;
        let rest = rest.get(aligned(length)..)?;
        let (length, rest) = rest.split_first_chunk()?;
        let length = ulong_from(order, *length) as usize;
        let operation = operation_name(rest.get(..length)?)?;
        let rest = rest.get(aligned(length)..)?;
        let (count, rest) = rest.split_first_chunk()?;
        if u32::from_ne_bytes(*count) != 0 {
            return None;
        }
        let contexts_end = bytes.len() - rest.len();
        Some(Self {
            id: ulong_from(order, [id0, id1, id2, id3]),
            response: Response::from_flags(flags),
            target: Target::Key(key),
            operation,
            contexts: ServiceContexts::none(order),
            has_terms: false,
            body: frame.body_after(contexts_end),
        })
    }

    #[inline]
    fn parse_1_2(frame: &Frame<'a>, mut fields: Decoder<'a>) -> Result<Self, Violation> {
        let id = fields.ulong()?;
        let flags = fields.octets(4)?[0]; // and three reserved
        let target = Target::read(frame.bytes, &mut fields)?;
        let operation = read_operation(&mut fields)?;
        let contexts = frame.contexts(&mut fields)?;
        let body = frame.body_after(fields.position());
        Ok(Self {
            id,
            response: Response::from_flags(flags),
            target,
            operation,
            contexts,
            has_terms: false,
            body,
        })
    }

    /// Returns the caller that the client names: `requesting_principal` of GIOP 1.0 and 1.1. `None` for GIOP 1.2, which
    /// has no such field, and for a frame that is not such a Request. Parses the header fields again; allocates
    /// nothing.
    ///
    /// ```
    /// # use oxorb_giop::{Frame, Request};
    /// let octets = [
    ///     b"GIOP\x01\x00\x00\x00".as_slice(), // 1.0, big-endian, Request
    ///     &[0, 0, 0, 36],
    ///     &[0, 0, 0, 0, 0, 0, 0, 7, 1, 0, 0, 0], // no contexts, number 7, wants an answer
    ///     &[0, 0, 0, 1, b'k', 0, 0, 0, 0, 0, 0, 2, b'f', 0, 0, 0],
    ///     &[0, 0, 0, 4, b'a', b'n', b'n', b'a'],
    /// ]
    /// .concat();
    /// let frame = Frame::parse(&octets)?;
    /// assert_eq!(Request::principal(&frame), Some(b"anna".as_slice()));
    /// # Ok::<(), oxorb_giop::Violation>(())
    /// ```
    pub fn principal(frame: &Frame<'a>) -> Option<&'a [u8]> {
        if frame.header.version >= Version::V1_2 {
            return None;
        }
        let fields = frame.fields(MessageType::REQUEST).ok()?;
        Self::parse_with_principal(frame, fields).ok().map(|(_, principal)| principal)
    }

    fn parse_1_0(frame: &Frame<'a>, fields: Decoder<'a>) -> Result<Self, Violation> {
        Self::parse_with_principal(frame, fields).map(|(request, _)| request)
    }

    fn parse_with_principal(
        frame: &Frame<'a>,
        mut fields: Decoder<'a>,
    ) -> Result<(Self, &'a [u8]), Violation> {
        let contexts = frame.contexts(&mut fields)?;
        let id = fields.ulong()?;
        let response = if fields.octet()? == 0 { Response::None } else { Response::WithTarget };
        if frame.header.version == Version::V1_1 {
            fields.octets(3)?; // reserved
        }
        let target = Target::read_key(&mut fields)?;
        let operation = read_operation(&mut fields)?;
        let principal = fields.length(None, 1)?;
        let principal = fields.octets(principal)?;
        let request = Self {
            id,
            response,
            target,
            operation,
            contexts,
            has_terms: false,
            body: fields.position(),
        };
        Ok((request, principal))
    }
}

/// Returns the next multiple of 4 from the length of an existing slice.
#[inline(always)]
const fn aligned(length: usize) -> usize {
    // The addition does not overflow, because no slice is longer than `isize::MAX`.
    length.wrapping_add(3) & !3
}

/// Whether a client expects a reply, and at which stage of processing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Response {
    /// Reply not expected: oneway with SYNC_NONE or SYNC_WITH_TRANSPORT.
    None,
    /// Reply as soon as the server has accepted the request: oneway with SYNC_WITH_SERVER. GIOP
    /// 1.2; earlier versions send it as `WithTarget`, which promises more.
    WithServer,
    /// Reply when the operation is complete: two-way, or oneway with SYNC_WITH_TARGET.
    WithTarget,
}

impl Response {
    /// Reports whether a Reply follows.
    #[inline]
    pub const fn expected(self) -> bool {
        !matches!(self, Self::None)
    }

    /// Parses GIOP 1.2 response flags. Undefined values request a reply, as in TAO.
    #[inline]
    pub const fn from_flags(flags: u8) -> Self {
        match flags {
            0 => Self::None,
            1 => Self::WithServer,
            _ => Self::WithTarget,
        }
    }

    /// Returns the GIOP 1.2 response flags.
    pub const fn flags(self) -> u8 {
        match self {
            Self::None => 0,
            Self::WithServer => 1,
            Self::WithTarget => 3,
        }
    }
}

/// Header fields of a Request to be written.
#[derive(Clone, Copy, Debug)]
pub struct RequestHeader<'h> {
    /// Request id, unique among the outstanding ones of the connection.
    pub id: u32,
    /// Whether and when to reply.
    pub response: Response,
    /// Target object, usually [`TargetAddress::Key`].
    pub key: TargetAddress<'h>,
    /// Wire name of the operation. Written unchanged, without code set conversion.
    pub operation: &'h str,
    /// Service contexts to send along.
    pub contexts: &'h [ServiceContext<'h>],
    /// Priority and time limit, for protocols with such fields. GIOP ignores them.
    pub terms: Option<Terms>,
    /// Alias of key and operation, for protocols with aliases. GIOP ignores it.
    pub alias: Option<Alias>,
}

/// Starts a Request: writes its header with size 0, and positions `e` at the arguments.
///
/// `e` must be empty. [`finish`](crate::finish) fills in the size. Allocates only if the buffer must grow.
///
/// ```
/// use oxorb_cdr::{ByteOrder, Dialect, Encoder};
/// use oxorb_giop::{Frame, Request, RequestHeader, Response, TargetAddress, begin_request, finish};
/// use oxorb_object::Version;
///
/// let mut e = Encoder::new(Vec::new(), ByteOrder::Little, Dialect::new(2));
/// let header = RequestHeader {
///     id: 7,
///     response: Response::WithTarget,
///     key: TargetAddress::Key(b"key"),
///     operation: "add",
///     contexts: &[],
///     terms: None,
///     alias: None,
/// };
/// let begun = begin_request(&mut e, Version::V1_2, &header);
/// e.long(42);
/// finish(&mut e, begun)?;
///
/// let bytes = e.finish().to_vec();
/// let frame = Frame::parse(&bytes)?;
/// let request = Request::parse(&frame)?;
/// assert_eq!((request.id, request.operation), (7, "add"));
/// assert_eq!(frame.decoder(Dialect::new(2)).at(request.body).long(), Ok(42));
/// # Ok::<(), oxorb_giop::Violation>(())
/// ```
#[inline]
pub fn begin_request(e: &mut Encoder<'_>, version: Version, header: &RequestHeader<'_>) -> Begun {
    if version >= Version::V1_2 {
        begin_1_2(e, version, header)
    } else {
        header::begin(e, version, MessageType::REQUEST);
        write_contexts(e, header.contexts);
        e.ulong(header.id);
        e.boolean(header.response.expected());
        if version == Version::V1_1 {
            e.copy_octets(&[0; 3]);
        }
        header.key.write_key(e);
        write_operation(e, header.operation);
        e.ulong(0); // no principal
        Begun::unaligned(e)
    }
}

/// Moves the arguments of a Request of GIOP 1.0 or 1.1, which [`begin_request`] has just started, to an offset that
/// equals
/// `at` modulo eight. The zeros in front of them are the `requesting_principal`, which servers skip.
///
/// A gateway copies encoded arguments of unknown types behind the header, so they need the alignment that they had in
/// the message from which they come. Costs at most seven octets.
/// The encoder must not contain arguments yet.
pub fn place_arguments(e: &mut Encoder<'_>, at: usize) -> Begun {
    const LENGTH: usize = 4;
    let begin = e.position();
    let padding = at.wrapping_sub(begin) % 8;
    e.patch_ulong(begin - LENGTH, padding as u32);
    e.copy_octets(&[0; 8][..padding]);
    Begun::unaligned(e)
}

/// Writes everything at a fixed offset at once, and also everything after the operation name if
/// that is all zeros.
#[inline]
fn begin_1_2(e: &mut Encoder<'_>, version: Version, header: &RequestHeader<'_>) -> Begun {
    let order = e.order();
    let mut start = [0; KEY_AT];
    start[..Header::LEN].copy_from_slice(&header::octets_of(e, version, MessageType::REQUEST));
    start[Header::LEN..FLAGS_AT].copy_from_slice(&ulong_octets(order, header.id));
    start[FLAGS_AT] = header.response.flags();
    if let TargetAddress::Key(key) = header.key {
        start[KEY_AT - 4..].copy_from_slice(&ulong_octets(order, key.len() as u32));
        e.copy_octets(&start);
        e.copy_octets(key);
    } else {
        e.copy_octets(&start[..TARGET_AT]);
        header.key.write(e);
    }
    if header.contexts.is_empty() {
        e.ulong(header.operation.len() as u32 + 1);
        e.copy_octets(header.operation.as_bytes());
        return Begun::after_zeros(e, 1, 4); // the name's NUL; the number of contexts
    }
    write_operation(e, header.operation);
    write_contexts(e, header.contexts);
    Begun::aligned(e)
}

/// Writes an operation name unchanged, without code set conversion.
#[inline]
pub fn write_operation(e: &mut Encoder<'_>, name: &str) {
    e.ulong(name.len() as u32 + 1);
    e.copy_octets(name.as_bytes());
    e.octet(0);
}

/// Reads an operation name: a string without code set conversion, so that it can be borrowed.
///
/// # Errors
/// [`Misbehaviour::OperationName`], and truncated octets.
#[inline]
pub fn read_operation<'a>(fields: &mut Decoder<'a>) -> Result<&'a str, Violation> {
    let length = fields.length(None, 1)?;
    let octets = fields.octets(length)?;
    operation_name(octets).ok_or(Violation::Peer(Misbehaviour::OperationName))
}

/// Returns the operation name in the octets of a string, if they contain one.
#[inline]
fn operation_name(octets: &[u8]) -> Option<&str> {
    match octets {
        [name @ .., 0] if !name.is_empty() => plain_str(name).or_else(|| unusual_name(name)),
        _ => None,
    }
}

/// Returns a name with characters not allowed in IDL as text, if it is valid text.
#[cold]
#[inline(never)]
fn unusual_name(octets: &[u8]) -> Option<&str> {
    core::str::from_utf8(octets).ok()
}

/// Offset of the response flags in a GIOP 1.2 Request.
const FLAGS_AT: usize = Header::LEN + 4;
/// Offset of the target address, after the flags and three reserved octets.
const TARGET_AT: usize = FLAGS_AT + 4;
/// Offset of the object key for a target by key: after the discriminant, padding, and the key's
/// length.
const KEY_AT: usize = TARGET_AT + 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use oxorb_cdr::{ByteOrder, Dialect};
    use proptest::prelude::*;
    use std::format;

    proptest! {
        /// The fast path and the general path parse every request in the same way.
        #[test]
        fn the_common_way_and_the_general_way_agree(
            key in prop::collection::vec(any::<u8>(), 0..20),
            operation in "[a-z_]{1,9}",
            body in prop::collection::vec(any::<u8>(), 0..20),
            little in any::<bool>(),
            damage in prop::option::of((Header::LEN..80, any::<u8>())),
            cut in Header::LEN..100,
        ) {
            let order = ByteOrder::from_flag(little);
            let mut e = Encoder::new(Vec::new(), order, Dialect::new(2));
            let key = TargetAddress::Key(&key);
            let header = RequestHeader { id: 7, response: Response::WithServer, key, operation: &operation, contexts: &[], terms: None, alias: None };
            let _ = begin_request(&mut e, Version::V1_2, &header);
            e.copy_octets(&body);
            let mut bytes = e.finish().to_vec();
            let whole = cut >= bytes.len() && damage.is_none();
            bytes.truncate(cut);
            if let Some((at, value)) = damage && let Some(octet) = bytes.get_mut(at) {
                *octet = value;
            }
            let header = Header::new(Version::V1_2, order, MessageType::REQUEST);
            let frame = Frame { header, bytes: &bytes, context: None, gap: None };
            let common = Request::parse_common(&frame);
            let general = Request::parse_1_2(&frame, frame.decoder(Dialect::new(2)));
            prop_assert!(common.is_some() || !whole, "an undamaged request is read the common way");
            if let Some(common) = common {
                prop_assert_eq!(format!("{:?}", common), format!("{:?}", general.unwrap()));
            }
        }
    }
}
