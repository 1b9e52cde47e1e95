//! Fixed forms of messages of protocols other than GIOP, read and written in place.

use oxorb_cdr::{ByteOrder, Encoder};
use oxorb_object::ServiceContexts;

use crate::{Aliased, Begun, Frame, ReplyStatus, Request, Response, Target};

/// Form of a Request whose header consists of an alias and sixteen octets of fields, followed by
/// the arguments.
///
/// In native byte order; other Requests are read by
/// [`Messaging::request`](crate::Messaging::request).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BareRequest {
    /// Mask of the bits that are the same in all such Requests.
    pub mask: [u8; 16],
    /// Values of these bits.
    pub same: [u8; 16],
    /// Offset of the request id, an unsigned long: 8 or 12.
    pub id_at: u8,
    /// Offset of the response flags of GIOP 1.2, an octet: 8 to 15.
    pub flags_at: u8,
}

impl BareRequest {
    /// Reads a Request of this form whose alias stands for `aliased`; `None` if it may have another
    /// form.
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

/// Form of a Reply without service contexts, up to its body, in native byte order.
///
/// Other Replies are written by [`Messaging::begin_reply`](crate::Messaging::begin_reply).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplyForm {
    /// Octets of the header, with size, id and status 0.
    pub octets: [u8; 16],
    /// Whether the body follows after the first [`SHORT`](Self::SHORT) octets; otherwise after all.
    pub short: bool,
    /// Offset of the request id, an unsigned long: a multiple of 4.
    pub id_at: u8,
    /// Offset of the lowest octet of the status, whose value is below [`STATUSES`](Self::STATUSES).
    pub status_at: u8,
    /// Length of the header, in octets.
    pub header: u8,
    /// Offset of the size.
    pub size_at: u8,
}

impl ReplyForm {
    /// Length of a short form, in octets.
    pub const SHORT: usize = 12;

    /// Smallest status for which a Reply is written by
    /// [`Messaging::begin_reply`](crate::Messaging::begin_reply).
    pub const STATUSES: u32 = 4;

    /// Starts a Reply of this form in an empty encoder; `None` if the Reply has another form.
    #[inline(always)]
    pub(crate) fn begin(&self, e: &mut Encoder<'_>, id: u32, status: ReplyStatus) -> Option<Begun> {
        if status.0 >= Self::STATUSES || e.order() != ByteOrder::NATIVE {
            return None;
        }
        let mut octets = self.octets;
        octets[usize::from(self.status_at & 15)] = status.0 as u8;
        let (words, _) = octets.as_chunks_mut::<4>();
        words[usize::from((self.id_at / 4) & 3)] = id.to_ne_bytes();
        // Each branch copies a constant number of octets, which takes only a few stores.
        match self.short {
            true => e.copy_octets(&octets[..Self::SHORT]),
            false => e.copy_octets(&octets),
        }
        Some(Begun::unaligned(e).plain(self.header, self.size_at))
    }
}
