//! Common messages of a client: requests that differ from an earlier one only in their numbers, and
//! replies that contain only results.

use oxorb_cdr::{ByteOrder, Encoder};
use oxorb_object::Version;

use crate::header::SIZE_AT;
use crate::order::ulong_octets;
use crate::{Begun, Header, MessageType, Violation, finish_at};

/// Positions of the varying fields in common messages of a protocol.
///
/// With them, a client writes most requests by copying the header fields of an earlier one, and
/// reads most replies by a few comparisons. All other messages use [`Wire`](crate::Wire) and
/// [`Frame`](crate::Frame).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// Number of octets in a message that its size does not count.
    pub header: u8,
    /// Offset of the size, an unsigned long.
    pub size_at: u8,
    /// Offset of the request id in Requests and Replies.
    pub id_at: u8,
    /// First eight octets of a common Reply in native byte order: NO_EXCEPTION, without service
    /// contexts.
    pub reply: [u8; 8],
    /// Mask of the bits of these octets that must match.
    pub mask: [u8; 8],
    /// Offset of further octets that are 0 in a common Reply.
    pub zeros_at: u8,
    /// Number of zero octets: 0, 4 or 8.
    pub zeros: u8,
    /// Offset of the results.
    pub body: u8,
}

impl Form {
    /// Form of GIOP 1.2.
    pub(crate) const GIOP_1_2: Self = Self {
        header: Header::LEN as u8,
        size_at: SIZE_AT as u8,
        id_at: Header::LEN as u8,
        reply: [b'G', b'I', b'O', b'P', 1, 2, ByteOrder::NATIVE.flag() as u8, MessageType::REPLY.0],
        mask: [u8::MAX; 8],
        // In a common Reply, the status and the number of service contexts are 0.
        zeros_at: Header::LEN as u8 + 4,
        zeros: 8,
        body: Header::LEN as u8 + 12,
    };

    /// Finishes a request, as [`finish_at`] does.
    ///
    /// # Errors
    /// Those of [`finish_at`].
    #[inline(always)]
    pub fn finish(&self, e: &mut Encoder<'_>, begun: Begun) -> Result<(), Violation> {
        finish_at(e, begun, self.header.into(), self.size_at.into())
    }

    /// Returns the header of a message that consists of these octets, if it is a common reply to
    /// request `id`.
    #[inline(always)]
    pub(crate) fn read_reply(&self, octets: &[u8], id: u32) -> Option<Header> {
        let start = u64::from_ne_bytes(*octets.first_chunk()?);
        if start & u64::from_ne_bytes(self.mask) != u64::from_ne_bytes(self.reply) {
            return None;
        }
        let four = |at: u8| octets.get(usize::from(at)..)?.first_chunk().copied();
        let size = u32::from_ne_bytes(four(self.size_at)?);
        let whole = octets.len() == usize::from(self.header).saturating_add(size as usize);
        let ours = u32::from_ne_bytes(four(self.id_at)?) == id;
        let zeros = match self.zeros {
            0 => true,
            4 => four(self.zeros_at)? == [0; 4],
            _ => *octets.get(self.zeros_at.into()..)?.first_chunk::<8>()? == [0; 8],
        };
        (whole && ours && zeros && octets.len() >= self.body.into()).then_some(Header {
            version: Version::V1_2,
            order: ByteOrder::NATIVE,
            more_fragments: false,
            kind: MessageType::REPLY,
            len: self.header,
            size,
        })
    }
}

/// Header fields of an earlier request, for requests that differ from it only in their numbers.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    octets: [u8; Self::MOST],
    /// End of the header fields.
    fields_end: u8,
    /// Start of the arguments.
    body: u8,
}

impl Head {
    /// Maximum number of octets before the arguments of a request with a reusable head.
    pub const MOST: usize = 126;

    /// Empty head, for which [`begin`](Self::begin) must not be called.
    pub const NONE: Self = Self { octets: [0; Self::MOST], fields_end: 0, body: 0 };

    /// Returns the head of a request of which only header fields are written; `None` if it is too
    /// long.
    pub fn of(e: &Encoder<'_>, begun: Begun) -> Option<Self> {
        let written = e.contiguous()?;
        let mut octets = [0; Self::MOST];
        octets.get_mut(..written.len())?.copy_from_slice(written);
        let (fields_end, body) = begun.ends();
        Some(Self { octets, fields_end: fields_end.try_into().ok()?, body: body.try_into().ok()? })
    }

    /// Starts a request of this form in an empty encoder: copies the head and fills in the id.
    #[inline(always)]
    pub fn begin(&self, e: &mut Encoder<'_>, form: &Form, id: u32) -> Begun {
        let (fields_end, body) = (usize::from(self.fields_end), usize::from(self.body));
        match self.octets.first_chunk::<SHORT>() {
            Some(short) if body == SHORT => {
                let mut short = *short;
                let at = usize::from(form.id_at).min(SHORT - 4);
                short[at..at + 4].copy_from_slice(&ulong_octets(e.order(), id));
                e.copy_octets(&short);
            }
            _ => {
                e.copy_octets(self.octets.get(..body).unwrap_or_default());
                e.patch_ulong(form.id_at.into(), id);
            }
        }
        Begun::at(fields_end, body)
    }
}

/// Maximum length of heads that are copied inline, in octets.
const SHORT: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use crate::{Frame, Reply, ReplyStatus, RequestHeader, Response, TargetAddress, Wire};
    use oxorb_cdr::Dialect;
    use oxorb_object::ServiceContext;
    use proptest::prelude::*;

    const WIRE: Wire = Wire::Giop(Version::V1_2);

    fn reply(id: u32, status: u32, contexts: &[ServiceContext<'_>], body: &[u8]) -> Vec<u8> {
        let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, Dialect::new(2));
        let begun = WIRE.begin_reply(&mut e, id, ReplyStatus(status), contexts);
        e.copy_octets(body);
        WIRE.finish(&mut e, begun).unwrap();
        e.finish().to_vec()
    }

    proptest! {
        /// Checks that the general path reads every header that the form reads, with the same
        /// result.
        #[test]
        fn a_usual_reply_is_what_the_general_way_reads(
            id in 0..3u32,
            status in 0..2u32,
            context in any::<bool>(),
            body in prop::collection::vec(any::<u8>(), 0..20),
            damage in prop::option::of((0..32usize, any::<u8>())),
        ) {
            let some = [ServiceContext { id: 17, data: &[1] }];
            let contexts = if context { &some[..] } else { &[] };
            let mut octets = reply(id, status, contexts, &body);
            if let Some((at, value)) = damage && let Some(octet) = octets.get_mut(at) {
                *octet = value;
            }
            let usual = Form::GIOP_1_2.read_reply(&octets, 1);
            let plain = id == 1 && status == 0 && !context;
            prop_assert!(usual.is_some() || !plain || damage.is_some());
            if let Some(header) = usual {
                let frame = Frame::parse(&octets).unwrap();
                prop_assert_eq!(frame.header, header);
                let parsed = Reply::parse(&frame).unwrap();
                prop_assert_eq!((parsed.id, parsed.status), (1, ReplyStatus::NO_EXCEPTION));
                prop_assert_eq!(parsed.body, usize::from(Form::GIOP_1_2.body));
                prop_assert!(parsed.contexts.is_empty());
            }
        }

        #[test]
        fn a_request_by_its_head_is_the_request(
            key in prop::collection::vec(any::<u8>(), 0..90),
            operation in "[a-z_]{1,20}",
            body in prop::collection::vec(any::<u8>(), 0..20),
            big in any::<bool>(),
        ) {
            let order = ByteOrder::from_flag(!big);
            let write = |id: u32, head: Option<&Head>| {
                let mut e = Encoder::new(vec![7; 300], order, Dialect::new(2));
                let header = RequestHeader {
                    id,
                    response: Response::WithTarget,
                    key: TargetAddress::Key(&key),
                    operation: &operation,
                    contexts: &[],
                    terms: None,
                    alias: None,
                };
                let begun = match head {
                    Some(head) => head.begin(&mut e, &Form::GIOP_1_2, id),
                    None => WIRE.begin_request(&mut e, &header),
                };
                let head = Head::of(&e, begun);
                e.copy_octets(&body);
                Form::GIOP_1_2.finish(&mut e, begun).unwrap();
                (e.finish().to_vec(), head)
            };
            let (_, head) = write(3, None);
            let (whole, _) = write(70_000, None);
            match head {
                Some(head) => prop_assert_eq!(write(70_000, Some(&head)).0, whole),
                None => prop_assert!(key.len() + operation.len() > 60),
            }
        }
    }

    #[test]
    fn a_message_in_pieces_is_no_usual_reply() {
        let octets = reply(1, 0, &[], &[1, 2, 3]);
        for end in 0..octets.len() {
            assert_eq!(Form::GIOP_1_2.read_reply(&octets[..end], 1), None, "{end}");
        }
        let twice = [octets.clone(), octets].concat();
        assert_eq!(Form::GIOP_1_2.read_reply(&twice, 1), None);
    }
}
