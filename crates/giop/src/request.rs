//! The Request message (CORBA 3.4, 15.4.2).

use oxorb_cdr::{Decoder, Encoder};

use crate::{
    Begun, Frame, MessageType, Misbehaviour, ServiceContext, ServiceContexts, Target,
    TargetAddress, Version, Violation, context, write,
};

/// A received Request, borrowed from its frame.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The client's number for it; unique among its outstanding requests on the connection.
    pub id: u32,
    /// Whether and when the client wants an answer.
    pub response: Response,
    /// The object.
    pub target: Target<'a>,
    /// The operation, as in IDL; `_get_x` and `_set_x` for attributes.
    pub operation: &'a str,
    /// What else travelled with it.
    pub contexts: ServiceContexts<'a>,
    /// Offset of the arguments in [`Frame::bytes`]; equal to its length when there are none.
    pub body: usize,
}

impl<'a> Request<'a> {
    /// Reads the header fields of a Request of any version. Allocates nothing.
    ///
    /// # Errors
    /// [`Violation`] for a frame of another kind or malformed fields. The principal of GIOP 1.0 and 1.1 is skipped.
    #[inline]
    pub fn parse(frame: &Frame<'a>) -> Result<Self, Violation> {
        let fields = frame.fields(MessageType::REQUEST)?;
        if frame.header.version >= Version::V1_2 {
            Self::parse_1_2(frame, fields)
        } else {
            Self::parse_1_0(frame, fields)
        }
    }

    #[inline]
    fn parse_1_2(frame: &Frame<'a>, mut fields: Decoder<'a>) -> Result<Self, Violation> {
        let id = fields.ulong()?;
        let flags = fields.octets(4)?[0]; // and three reserved
        let target = Target::read(frame.bytes, &mut fields)?;
        let operation = operation(&mut fields)?;
        let contexts = ServiceContexts::read(frame.bytes, &mut fields)?;
        let body = frame.body_after(fields.position());
        Ok(Self {
            id,
            response: Response::from_flags(flags),
            target,
            operation,
            contexts,
            body,
        })
    }

    fn parse_1_0(frame: &Frame<'a>, mut fields: Decoder<'a>) -> Result<Self, Violation> {
        let contexts = ServiceContexts::read(frame.bytes, &mut fields)?;
        let id = fields.ulong()?;
        let response = if fields.octet()? == 0 {
            Response::None
        } else {
            Response::WithTarget
        };
        if frame.header.version == Version::V1_1 {
            fields.octets(3)?; // reserved
        }
        let target = Target::read_key(&mut fields)?;
        let operation = operation(&mut fields)?;
        let principal = fields.length(None, 1)?;
        fields.octets(principal)?;
        Ok(Self {
            id,
            response,
            target,
            operation,
            contexts,
            body: fields.position(),
        })
    }
}

/// Whether a client waits for an answer, and for which moment on the server.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Response {
    /// None: oneway with SYNC_NONE or SYNC_WITH_TRANSPORT.
    None,
    /// As soon as the server has accepted it: oneway with SYNC_WITH_SERVER. GIOP 1.2; earlier versions send it as
    /// `WithTarget`, which promises more.
    WithServer,
    /// When the operation is done: two-way, or oneway with SYNC_WITH_TARGET.
    WithTarget,
}

impl Response {
    /// Whether a Reply follows.
    #[inline]
    pub const fn expected(self) -> bool {
        !matches!(self, Self::None)
    }

    /// Reads GIOP 1.2 response flags. Values the specification leaves undefined ask for a reply, as TAO reads them.
    #[inline]
    const fn from_flags(flags: u8) -> Self {
        match flags {
            0 => Self::None,
            1 => Self::WithServer,
            _ => Self::WithTarget,
        }
    }

    const fn flags(self) -> u8 {
        match self {
            Self::None => 0,
            Self::WithServer => 1,
            Self::WithTarget => 3,
        }
    }
}

/// The header fields of a Request to be written.
#[derive(Clone, Copy, Debug)]
pub struct RequestHeader<'h> {
    /// Number of the request; unique among the outstanding ones of the connection.
    pub id: u32,
    /// Whether and when to answer.
    pub response: Response,
    /// The object, usually [`TargetAddress::Key`].
    pub key: TargetAddress<'h>,
    /// The operation's wire name. Written as it is, without code set conversion.
    pub operation: &'h str,
    /// Service contexts to send along.
    pub contexts: &'h [ServiceContext<'h>],
}

/// Starts a Request: writes its header, size still 0, and leaves `e` where the arguments go.
///
/// `e` must be empty. [`finish`](crate::finish) fills in the size. Allocates only if the buffer must grow.
///
/// ```
/// use oxorb_cdr::{ByteOrder, Dialect, Encoder};
/// use oxorb_giop::{Frame, Request, RequestHeader, Response, TargetAddress, Version, begin_request, finish};
///
/// let mut e = Encoder::new(Vec::new(), ByteOrder::Little, Dialect::new(2));
/// let header = RequestHeader {
///     id: 7,
///     response: Response::WithTarget,
///     key: TargetAddress::Key(b"key"),
///     operation: "add",
///     contexts: &[],
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
    write::header(e, version, MessageType::REQUEST);
    if version >= Version::V1_2 {
        e.ulong(header.id);
        e.copy_octets(&[header.response.flags(), 0, 0, 0]);
        header.key.write(e);
        write_operation(e, header.operation);
        context::write(e, header.contexts);
        Begun::aligned(e)
    } else {
        context::write(e, header.contexts);
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

#[inline]
fn write_operation(e: &mut Encoder<'_>, name: &str) {
    e.ulong(name.len() as u32 + 1);
    e.copy_octets(name.as_bytes());
    e.octet(0);
}

/// Reads an operation name: never converted, so it can be borrowed.
#[inline]
fn operation<'a>(fields: &mut Decoder<'a>) -> Result<&'a str, Violation> {
    let length = fields.length(None, 1)?;
    match fields.octets(length)? {
        [name @ .., 0] if !name.is_empty() => core::str::from_utf8(name).ok(),
        _ => None,
    }
    .ok_or(Violation::Peer(Misbehaviour::OperationName))
}
