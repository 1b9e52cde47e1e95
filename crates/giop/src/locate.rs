//! LocateRequest and LocateReply (CORBA 3.4, 15.4.5 and 15.4.6).

use core::fmt;

use oxorb_cdr::Encoder;
use oxorb_object::Version;

use crate::{Begun, Frame, MessageType, Target, TargetAddress, Violation, finish, header};

/// Received LocateRequest.
#[derive(Clone, Copy, Debug)]
pub struct LocateRequest<'a> {
    /// Request id that the client assigned, from the same range as ids of Requests.
    pub id: u32,
    /// Object to be located.
    pub target: Target<'a>,
}

impl<'a> LocateRequest<'a> {
    /// Reads a LocateRequest of any version. Allocates nothing.
    ///
    /// # Errors
    /// [`Violation`] for a frame of another kind, or malformed fields.
    pub fn parse(frame: &Frame<'a>) -> Result<Self, Violation> {
        if let Some(context) = frame.context {
            return context.messaging().locate_request(frame);
        }
        let mut fields = frame.fields(MessageType::LOCATE_REQUEST)?;
        let id = fields.ulong()?;
        let target = if frame.header.version >= Version::V1_2 {
            Target::read(frame.bytes, &mut fields)?
        } else {
            Target::read_key(&mut fields)?
        };
        Ok(Self { id, target })
    }
}

/// Received LocateReply.
#[derive(Clone, Copy, Debug)]
pub struct LocateReply {
    /// Id of the answered LocateRequest.
    pub id: u32,
    /// Status, which determines the contents of the body.
    pub status: LocateStatus,
    /// Offset of the body in [`Frame::bytes`]; never padded, in any version.
    pub body: usize,
}

impl LocateReply {
    /// Reads a LocateReply. Allocates nothing.
    ///
    /// # Errors
    /// [`Violation`] for a frame of another kind or malformed fields.
    pub fn parse(frame: &Frame<'_>) -> Result<Self, Violation> {
        if let Some(context) = frame.context {
            return context.messaging().locate_reply(frame);
        }
        let mut fields = frame.fields(MessageType::LOCATE_REPLY)?;
        let id = fields.ulong()?;
        let status = LocateStatus(fields.ulong()?);
        Ok(Self { id, status, body: fields.position() })
    }
}

/// Status of a LocateReply, as on the wire; unknown values are preserved.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LocateStatus(pub u32);

impl LocateStatus {
    /// The server has no such object.
    pub const UNKNOWN_OBJECT: Self = Self(0);
    /// The server serves requests for the object.
    pub const OBJECT_HERE: Self = Self(1);
    /// The body holds a reference to use instead, for now.
    pub const OBJECT_FORWARD: Self = Self(2);
    /// The body holds a reference to use instead from now on (GIOP 1.2).
    pub const OBJECT_FORWARD_PERM: Self = Self(3);
    /// The body holds a [`SystemException`](oxorb_object::SystemException) (GIOP 1.2).
    pub const LOC_SYSTEM_EXCEPTION: Self = Self(4);
    /// The body holds the required [`AddressingDisposition`](crate::AddressingDisposition) (GIOP
    /// 1.2).
    pub const LOC_NEEDS_ADDRESSING_MODE: Self = Self(5);

    /// Returns the specification's name, if the value has one.
    pub fn name(self) -> Option<&'static str> {
        const NAMES: [&str; 6] = [
            "UNKNOWN_OBJECT",
            "OBJECT_HERE",
            "OBJECT_FORWARD",
            "OBJECT_FORWARD_PERM",
            "LOC_SYSTEM_EXCEPTION",
            "LOC_NEEDS_ADDRESSING_MODE",
        ];
        NAMES.get(self.0 as usize).copied()
    }
}

impl fmt::Debug for LocateStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "LocateStatus({})", self.0),
        }
    }
}

/// Writes a complete LocateRequest into an empty encoder.
///
/// # Errors
/// [`Violation::Limit`] when the target makes the message too large.
pub fn locate_request(
    e: &mut Encoder<'_>,
    version: Version,
    id: u32,
    target: TargetAddress<'_>,
) -> Result<(), Violation> {
    header::begin(e, version, MessageType::LOCATE_REQUEST);
    e.ulong(id);
    if version >= Version::V1_2 {
        target.write(e);
    } else {
        target.write_key(e);
    }
    let begun = Begun::unaligned(e);
    finish(e, begun)
}

/// Starts a LocateReply whose body follows: a reference, an exception or an addressing mode, without padding.
///
/// GIOP 1.0 and 1.1 lack OBJECT_FORWARD_PERM; it is written as OBJECT_FORWARD there.
pub fn begin_locate_reply(
    e: &mut Encoder<'_>,
    version: Version,
    id: u32,
    status: LocateStatus,
) -> Begun {
    let status = match status {
        LocateStatus::OBJECT_FORWARD_PERM if version < Version::V1_2 => {
            LocateStatus::OBJECT_FORWARD
        }
        other => other,
    };
    header::begin(e, version, MessageType::LOCATE_REPLY);
    e.ulong(id);
    e.ulong(status.0);
    Begun::unaligned(e)
}

/// Writes a complete LocateReply without a body: UNKNOWN_OBJECT or OBJECT_HERE.
///
/// # Errors
/// No error occurs in practice; the type is that of [`finish`].
pub fn locate_reply(
    e: &mut Encoder<'_>,
    version: Version,
    id: u32,
    status: LocateStatus,
) -> Result<(), Violation> {
    let begun = begin_locate_reply(e, version, id, status);
    finish(e, begun)
}
