//! Service contexts: data sent with a message in addition to its arguments.

use core::fmt;

use oxorb_cdr::{ByteOrder, Decoder, Dialect, Encoder};

use crate::Malformed;

/// Maximum number of service contexts accepted in one message; real ORBs send fewer than ten.
/// Searching them is linear, so this bounds the time of [`ServiceContexts::find`].
pub const MAX_CONTEXTS: usize = 256;

/// Ids of service contexts (CORBA 3.4, 13.7.1).
pub mod context_id {
    /// Transmission code sets of the connection.
    pub const CODE_SETS: u32 = 1;
    /// Listening points of a bidirectional client.
    pub const BI_DIR_IIOP: u32 = 5;
    /// Java's sending context; ignored.
    pub const SENDING_CONTEXT_RUN_TIME: u32 = 6;
    /// Invocation policies (Messaging).
    pub const INVOCATION_POLICIES: u32 = 7;
    /// Description of an unknown user exception (Java).
    pub const UNKNOWN_EXCEPTION_INFO: u32 = 9;
    /// RT-CORBA priority of the request.
    pub const RT_CORBA_PRIORITY: u32 = 10;
    /// RT-CORBA priority range.
    pub const RT_CORBA_PRIORITY_RANGE: u32 = 11;
    /// Quality of service of the request, specific to OxORB: see [`Qos`](crate::Qos). "OXO" and 1.
    pub const RIOP: u32 = 0x4f58_4f01;
    /// Non-TCP listening addresses of a bidirectional client, specific to OxORB: see
    /// [`listen_addresses`](crate::listen_addresses). "OXO" and 2.
    pub const OXORB_LISTEN: u32 = 0x4f58_4f02;
    /// Text that explains a system exception.
    pub const EXCEPTION_DETAIL_MESSAGE: u32 = 14;

    /// Returns the name of a known id.
    pub fn name(id: u32) -> Option<&'static str> {
        Some(match id {
            0 => "TransactionService",
            1 => "CodeSets",
            2 => "ChainBypassCheck",
            3 => "ChainBypassInfo",
            4 => "LogicalThreadId",
            5 => "BI_DIR_IIOP",
            6 => "SendingContextRunTime",
            7 => "INVOCATION_POLICIES",
            8 => "FORWARDED_IDENTITY",
            9 => "UnknownExceptionInfo",
            10 => "RTCorbaPriority",
            11 => "RTCorbaPriorityRange",
            12 => "FT_GROUP_VERSION",
            13 => "FT_REQUEST",
            14 => "ExceptionDetailMessage",
            15 => "SecurityAttributeService",
            16 => "ActivityService",
            17 => "RMICustomMaxStreamFormat",
            0x4f58_4f01 => "OxORB RIOP",
            0x4f58_4f02 => "OxORB listening addresses",
            0x5441_0005 => "TAO REP_NWPRIORITY",
            0x4a41_4301 => "JacORB padding",
            0x4a41_4302 => "JacORB proxy",
            _ => return None,
        })
    }
}

/// Service context. `data` is an encapsulation: its first octet is its byte order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServiceContext<'a> {
    /// Kind of context; see [`context_id`].
    pub id: u32,
    /// Octets of the encapsulation.
    pub data: &'a [u8],
}

impl<'a> ServiceContext<'a> {
    /// Returns a decoder of the encapsulation, positioned after its byte-order octet.
    ///
    /// # Errors
    /// The encapsulation is empty, or its byte order is neither 0 nor 1.
    pub fn decoder(&self) -> Result<Decoder<'a>, Malformed> {
        Ok(Decoder::encapsulated(self.data, Dialect::GIOP_1_2)?)
    }
}

/// Service contexts of a received message, parsed during iteration.
///
/// Checked once when the message was parsed, so iteration cannot fail. Allocates nothing.
#[derive(Clone, Copy)]
pub struct ServiceContexts<'a> {
    /// Octets of the message up to the end of the list; the whole message if it is in pieces.
    message: &'a [u8],
    order: ByteOrder,
    in_pieces: bool,
    /// Position of the first context.
    start: usize,
    count: usize,
}

impl<'a> ServiceContexts<'a> {
    /// Returns the first context with this id.
    #[inline]
    pub fn find(&self, id: u32) -> Option<ServiceContext<'a>> {
        if self.is_empty() {
            return None;
        }
        self.iter().find(|context| context.id == id)
    }

    /// Returns the number of contexts.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Reports whether there are no contexts, as is common.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Iterates over the contexts in wire order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = ServiceContext<'a>> + use<'a> {
        let rest = match self.in_pieces {
            false => Decoder::new(self.message, self.order, Dialect::new(2)),
            true => Decoder::in_pieces(self.message, self.order, Dialect::new(1)),
        };
        let mut rest = rest.at(self.start);
        let read = move |_| read_one(&mut rest).ok();
        (0..self.count).map_while(read)
    }

    /// Returns the empty list.
    #[inline]
    pub fn none(order: ByteOrder) -> Self {
        Self { message: &[], order, in_pieces: false, start: 0, count: 0 }
    }

    /// Parses the list at `fields`, a decoder of `message`, and leaves `fields` after it.
    /// `in_pieces`: whether the message arrived in GIOP 1.1 fragments.
    ///
    /// # Errors
    /// More than [`MAX_CONTEXTS`], or truncated contexts.
    #[inline]
    pub fn read(
        message: &'a [u8],
        in_pieces: bool,
        fields: &mut Decoder<'a>,
    ) -> Result<Self, Malformed> {
        let count = fields.length(None, MIN_CONTEXT)?;
        if count > MAX_CONTEXTS {
            return Err(too_many(count));
        }
        let start = fields.position();
        for _ in 0..count {
            read_one(fields)?;
        }
        let end = match in_pieces {
            false => fields.position(),
            true => message.len(),
        };
        Ok(Self { message: &message[..end], order: fields.order(), in_pieces, start, count })
    }
}

impl fmt::Debug for ServiceContexts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Writes a list of contexts. Copies their data.
#[inline]
pub fn write_contexts(e: &mut Encoder<'_>, contexts: &[ServiceContext<'_>]) {
    e.ulong(contexts.len() as u32);
    for context in contexts {
        e.ulong(context.id);
        e.ulong(context.data.len() as u32);
        e.copy_octets(context.data);
    }
}

/// Minimum size of a context, in octets: id and length.
const MIN_CONTEXT: usize = 8;

#[inline]
fn read_one<'a>(fields: &mut Decoder<'a>) -> oxorb_cdr::Result<ServiceContext<'a>> {
    let id = fields.ulong()?;
    let length = fields.length(None, 1)?;
    Ok(ServiceContext { id, data: fields.octets(length)? })
}

#[cold]
fn too_many(count: usize) -> Malformed {
    Malformed::Limit {
        what: "number of service contexts in a message",
        size: count as u64,
        limit: MAX_CONTEXTS as u64,
    }
}
