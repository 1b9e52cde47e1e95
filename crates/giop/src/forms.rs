//! Messages of other protocols than GIOP whose octets are known but for some fields: read and written in place.

use oxorb_cdr::{ByteOrder, Encoder};
use oxorb_object::ServiceContexts;

use crate::{Aliased, Begun, Frame, ReplyStatus, Request, Response, Target};

/// Form of a Request that has an alias, sixteen octets of header fields, and nothing else before its arguments.
///
/// In the byte order of this machine; other Requests are read by [`Messaging::request`](crate::Messaging::request).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BareRequest {
    /// Bits that are the same in all of them.
    pub mask: [u8; 16],
    /// Values of these bits.
    pub same: [u8; 16],
    /// Offset of the request id, an unsigned long: 8 or 12.
    pub id_at: u8,
    /// Offset of the response flags of GIOP 1.2, an octet: 8 to 15.
    pub flags_at: u8,
}

impl BareRequest {
    /// Reads a request of this form whose alias stands for `aliased`. `None` says nothing.
    #[inline(always)]
    pub(crate) fn read<'a>(&self, frame: &Frame<'a>, aliased: &'a Aliased) -> Option<Request<'a>> {
        let start: &[u8; 16] = frame.bytes.first_chunk()?;
        let word = u128::from_ne_bytes(*start) & u128::from_ne_bytes(self.mask);
        if word != u128::from_ne_bytes(self.same) || frame.header.order != ByteOrder::NATIVE {
            return None;
        }
        let [.., a, b, c, d, e, f, g, h] = *start;
        let id = match self.id_at {
            8 => [a, b, c, d],
            _ => [e, f, g, h],
        };
        Some(Request {
            id: u32::from_ne_bytes(id),
            response: Response::from_flags(start[usize::from(self.flags_at & 15)]),
            target: Target::Key(aliased.key()),
            operation: aliased.operation(),
            contexts: ServiceContexts::none(ByteOrder::NATIVE),
            has_terms: false,
            body: start.len(),
        })
    }
}

/// Form of a Reply without service contexts, up to its body, in the byte order of this machine.
///
/// Other Replies are written by [`Messaging::begin_reply`](crate::Messaging::begin_reply).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplyForm {
    /// The octets, size, id and status 0.
    pub octets: [u8; 16],
    /// Whether the body follows after [`SHORT`](Self::SHORT) of them; otherwise after all.
    pub short: bool,
    /// Offset of the request id, an unsigned long: a multiple of 4.
    pub id_at: u8,
    /// Offset of the lowest octet of the status, which is below [`STATUSES`](Self::STATUSES).
    pub status_at: u8,
    /// Octets of the header.
    pub header: u8,
    /// Offset of the size.
    pub size_at: u8,
}

impl ReplyForm {
    /// Number of octets of a short form.
    pub const SHORT: usize = 12;

    /// Statuses from which on a Reply is written by [`Messaging::begin_reply`](crate::Messaging::begin_reply).
    pub const STATUSES: u32 = 4;

    /// Starts a Reply of this form in an empty encoder. `None`: it has another one.
    #[inline(always)]
    pub(crate) fn begin(&self, e: &mut Encoder<'_>, id: u32, status: ReplyStatus) -> Option<Begun> {
        if status.0 >= Self::STATUSES || e.order() != ByteOrder::NATIVE {
            return None;
        }
        let mut octets = self.octets;
        octets[usize::from(self.status_at & 15)] = status.0 as u8;
        let (words, _) = octets.as_chunks_mut::<4>();
        words[usize::from((self.id_at / 4) & 3)] = id.to_ne_bytes();
        // Of constant length each, so that it takes few stores.
        match self.short {
            true => e.copy_octets(&octets[..Self::SHORT]),
            false => e.copy_octets(&octets),
        }
        Some(Begun::unaligned(e).plain(self.header, self.size_at))
    }
}
