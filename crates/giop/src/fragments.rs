//! Splitting of a large message into several smaller ones (GIOP 1.2).

use std::io::IoSlice;

use oxorb_cdr::Encoded;
use oxorb_object::Version;

use crate::order::ulong_octets;
use crate::{Frame, Header, MessageType, Reply, Request, Violation};

/// Pieces of a message larger than a peer, or fairness on a shared connection, allows.
///
/// Only GIOP 1.2 messages are split: 1.1 fragments restart alignment, and JacORB rejects them. The
/// length of every piece except the last is a multiple of 8, so no primitive is cut and data keeps
/// its alignment; the first piece contains the complete message header, even if that exceeds the
/// requested size. A message that fits, or cannot be split, yields a single piece. Allocates
/// nothing.
///
/// ```
/// # use oxorb_cdr::{ByteOrder, Dialect, Encoded, Encoder};
/// # use oxorb_giop::{Fragments, ReplyStatus, begin_reply, finish};
/// # use oxorb_object::Version;
/// use std::io::IoSlice;
///
/// let mut e = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2));
/// let begun = begin_reply(&mut e, Version::V1_2, 7, ReplyStatus::NO_EXCEPTION, &[]);
/// e.copy_octets(&[0xaa; 100]);
/// finish(&mut e, begun)?;
/// let message = e.finish();
///
/// let mut room = [IoSlice::new(&[]); Encoded::MAX_SLICES];
/// let slices = message.io_slices(&mut room);
/// let mut lengths = Vec::new();
/// for piece in Fragments::new(slices, 64)? {
///     let mut slots = [IoSlice::new(&[]); Fragments::MAX_SLICES];
///     let ready = piece.slices(slices, &mut slots); // one vectored write
///     lengths.push(ready.iter().map(|slice| slice.len()).sum::<usize>());
/// }
/// assert_eq!(lengths, [64, 64, 28]);
/// # Ok::<(), oxorb_giop::Violation>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fragments {
    header: Header,
    /// Request id for the headers of Fragments.
    id: u32,
    /// Maximum length of a piece, in octets; a multiple of 8.
    largest: usize,
    /// Minimum length of the first piece, in octets.
    first: usize,
    /// Number of octets of the message already returned.
    sent: usize,
    /// Length of the message, in octets.
    total: usize,
}

impl Fragments {
    /// Maximum number of slices of a piece: its header and all slices of the message.
    pub const MAX_SLICES: usize = Encoded::MAX_SLICES + 1;
    /// Minimum size of a piece: the header of a Fragment and 16 octets of data.
    pub const SMALLEST: usize = 32;

    /// Plans the pieces of a finished message, given as [`Encoded::io_slices`] returns it, with its
    /// complete header in the first slice. `largest` is in octets, rounded down to a multiple of 8, at
    /// least [`SMALLEST`](Self::SMALLEST).
    ///
    /// # Errors
    /// [`Violation`] when the slices do not start with a GIOP message.
    pub fn new(message: &[IoSlice<'_>], largest: usize) -> Result<Self, Violation> {
        let start: &[u8] = message.first().map_or(&[], |slice| slice);
        let Some(octets) = start.first_chunk::<{ Header::LEN }>() else {
            return Err(Violation::Truncated {
                what: "the GIOP header",
                needed: Header::LEN,
                left: start.len(),
            });
        };
        let header = Header::parse(octets)?;
        let total = header.total();
        let largest = largest.max(Self::SMALLEST) & !7;
        let mut plan = Self { header, id: 0, largest, first: total, sent: 0, total };
        if total > largest
            && header.version >= Version::V1_2
            && header.kind.fragmentable(header.version)
        {
            let frame = Frame { header, bytes: start, context: None, gap: None };
            let header_end = match header.kind {
                MessageType::REQUEST => Request::parse(&frame)?.body,
                MessageType::REPLY => Reply::parse(&frame)?.body,
                _ => total, // locate messages are all header
            };
            plan.id = frame.decoder(oxorb_cdr::Dialect::new(2)).ulong()?;
            plan.first = header_end.max(largest); // a multiple of 8, or everything
        }
        Ok(plan)
    }
}

impl Iterator for Fragments {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let from = self.sent;
        let left = self.total - from;
        if left == 0 {
            return None;
        }
        let mut head = [0; MAX_HEAD];
        let (head_len, most) =
            if from == 0 { (Header::LEN, self.first) } else { (MAX_HEAD, self.largest) };
        // In the first piece, the message's header is replaced; each other piece gets an additional
        // header.
        let skipped = if from == 0 { Header::LEN } else { 0 };
        let data = (left - skipped).min(most - head_len);
        self.sent = from + skipped + data;

        let header = Header {
            more_fragments: self.sent < self.total,
            kind: if from == 0 { self.header.kind } else { MessageType::FRAGMENT },
            size: (head_len - Header::LEN + data) as u32,
            ..self.header
        };
        head[..Header::LEN].copy_from_slice(&header.to_bytes());
        head[Header::LEN..].copy_from_slice(&ulong_octets(self.header.order, self.id));
        Some(Piece { head, head_len, from: from + skipped, to: self.sent })
    }
}

/// Piece to write: a header and a part of the large message's octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    head: [u8; MAX_HEAD],
    head_len: usize,
    from: usize,
    to: usize,
}

impl Piece {
    /// Returns the length of this piece on the wire, in octets.
    #[expect(clippy::len_without_is_empty, reason = "a piece is never empty")]
    pub fn len(&self) -> usize {
        self.head_len + self.to - self.from
    }

    /// Returns the piece as slices for one vectored write. `message` is the one passed to
    /// [`Fragments::new`].
    pub fn slices<'r, 's>(
        &'s self,
        message: &'s [IoSlice<'_>],
        slots: &'r mut [IoSlice<'s>; Fragments::MAX_SLICES],
    ) -> &'r mut [IoSlice<'s>] {
        slots[0] = IoSlice::new(&self.head[..self.head_len]);
        let mut used = 1;
        let mut start = 0;
        for slice in message {
            let end = start + slice.len();
            let (from, to) = (self.from.max(start), self.to.min(end));
            if from < to {
                slots[used] = IoSlice::new(&slice[from - start..to - start]);
                used += 1;
            }
            start = end;
        }
        &mut slots[..used]
    }
}

/// Maximum length of a piece's header, in octets: that of a Fragment with its request id.
const MAX_HEAD: usize = Header::LEN + 4;
