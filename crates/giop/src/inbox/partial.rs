//! Incomplete fragmented messages.

use crate::prelude::*;
use oxorb_cdr::{Dialect, PieceTable, copies};
use oxorb_object::Version;

use crate::order::ulong_from;
use crate::{Frame, Header, MessageLimits, MessageType, Misbehaviour, Side, Violation, setting};

/// Incomplete messages of one connection.
#[derive(Default)]
pub(super) struct Partials {
    waiting: Vec<Partial>,
    /// Total number of their octets.
    octets: usize,
}

impl Partials {
    /// Accepts a first piece or a Fragment. If that completes a message, stores it in `joined`
    /// (replacing the contents, reusing the capacity) and returns its header.
    pub(super) fn accept(
        &mut self,
        piece: Frame<'_>,
        limits: &MessageLimits,
        joined: &mut Vec<u8>,
    ) -> Result<Option<Header>, Violation> {
        if piece.header.kind != MessageType::FRAGMENT {
            self.begin(piece, limits, joined)?;
            return Ok(None);
        }
        let at = self.append(piece, limits)?;
        if piece.header.more_fragments {
            return Ok(None);
        }
        let mut whole = self.waiting.swap_remove(at);
        self.octets -= whole.octets.len();
        let header = whole.seal();
        *joined = whole.octets;
        Ok(Some(header))
    }

    /// Drops the message that the CancelRequest for `cancelled` names.
    pub(super) fn cancel(&mut self, cancelled: u32) {
        let named = |partial: &Partial| match partial.id {
            Some(id) => id == cancelled,
            None => partial.id_within() == Some(cancelled),
        };
        if let Some(at) = self.waiting.iter().position(named) {
            self.octets -= self.waiting.swap_remove(at).octets.len();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn memory(&self) -> usize {
        self.waiting.iter().map(|partial| partial.octets.capacity()).sum()
    }

    fn begin(
        &mut self,
        piece: Frame<'_>,
        limits: &MessageLimits,
        spare: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        let id = fragment_id(&piece)?;
        if self.find(id).is_some() {
            return Err(Violation::Peer(Misbehaviour::DuplicatePartial { id }));
        }
        if self.waiting.len() >= limits.max_partial_messages {
            return Err(too_many(limits));
        }
        self.check_room(piece.bytes.len(), limits)?;
        let mut octets = core::mem::take(spare);
        octets.clear();
        copies::append(&mut octets, piece.bytes);
        self.octets += octets.len();
        self.waiting.push(Partial {
            id,
            header: piece.header,
            table: id.is_none().then(|| PieceTable::new(octets.len())),
            octets,
        });
        Ok(())
    }

    fn append(&mut self, piece: Frame<'_>, limits: &MessageLimits) -> Result<usize, Violation> {
        let id = fragment_id(&piece)?;
        let Some(at) = self.find(id) else {
            return Err(Violation::Peer(Misbehaviour::OrphanFragment { id }));
        };
        let data = &piece.bytes[if id.is_some() { FRAGMENT_1_2 } else { Header::LEN }..];
        self.check_room(data.len(), limits)?;
        let partial = &mut self.waiting[at];
        if (partial.header.version, partial.header.order)
            != (piece.header.version, piece.header.order)
        {
            return Err(Violation::Peer(Misbehaviour::FragmentMismatch { id }));
        }
        let kept = match &partial.table {
            Some(table) => table.octets(partial.octets.len(), data.len()),
            None => partial.octets.len() + data.len(),
        };
        let size = kept as u64;
        if size > (limits.max_message as u64).min(u64::from(u32::MAX / 4)) {
            return Err(limits.too_large(size, Side::Received));
        }
        let before = partial.octets.len();
        match &mut partial.table {
            Some(table) => table.append(&mut partial.octets, Header::LEN, data),
            None => copies::append(&mut partial.octets, data),
        }
        self.octets += partial.octets.len() - before;
        Ok(at)
    }

    fn find(&self, id: Option<u32>) -> Option<usize> {
        self.waiting.iter().position(|partial| partial.id == id)
    }

    fn check_room(&self, more: usize, limits: &MessageLimits) -> Result<(), Violation> {
        let size = self.octets as u64 + more as u64;
        if size > limits.max_partial_octets as u64 {
            return Err(Violation::Limit {
                what: "size in octets of all incomplete fragmented messages",
                size,
                limit: limits.max_partial_octets as u64,
                setting: setting::MAX_PARTIAL_OCTETS,
                side: Side::Received,
            });
        }
        Ok(())
    }
}

impl core::fmt::Debug for Partials {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_map()
            .entries(self.waiting.iter().map(|partial| (partial.id, partial.octets.len())))
            .finish()
    }
}

struct Partial {
    /// Request id; `None` in GIOP 1.1, whose fragments carry none.
    id: Option<u32>,
    /// Header of the first piece.
    header: Header,
    /// Octets of the first piece and data of all Fragments so far.
    octets: Vec<u8>,
    /// Boundaries between the pieces in GIOP 1.1, where each Fragment restarts alignment.
    table: Option<PieceTable>,
}

impl Partial {
    /// Updates the header to describe the whole message.
    fn seal(&mut self) -> Header {
        let in_pieces = match &self.table {
            Some(table) => table.seal(&mut self.octets),
            None => false,
        };
        let header = Header {
            more_fragments: in_pieces,
            size: (self.octets.len() - Header::LEN) as u32, // `append` keeps it within 32 bits
            ..self.header
        };
        self.octets[..Header::LEN].copy_from_slice(&header.to_bytes());
        header
    }

    /// Returns the request id of a GIOP 1.1 message, after the service contexts, if enough octets
    /// have arrived.
    fn id_within(&self) -> Option<u32> {
        let frame = Frame {
            header: Header { more_fragments: false, ..self.header },
            bytes: &self.octets,
            context: None,
            gap: None,
        };
        let mut fields = frame.decoder(Dialect::new(self.header.version.minor));
        frame.contexts(&mut fields).ok()?;
        fields.ulong().ok()
    }
}

/// Returns the request id at the start of every piece of a GIOP 1.2 message; `None` in 1.1.
fn fragment_id(piece: &Frame<'_>) -> Result<Option<u32>, Violation> {
    if piece.header.version < Version::V1_2 {
        return Ok(None);
    }
    let Some(&id) = piece.bytes[Header::LEN..].first_chunk::<4>() else {
        let left = piece.bytes.len() - Header::LEN;
        return Err(Violation::Truncated {
            what: "the request id of a fragmented message",
            needed: 4,
            left,
        });
    };
    Ok(Some(ulong_from(piece.header.order, id)))
}

/// Number of octets before the data of a GIOP 1.2 Fragment: header and request id.
const FRAGMENT_1_2: usize = Header::LEN + 4;

#[cold]
fn too_many(limits: &MessageLimits) -> Violation {
    Violation::Limit {
        what: "number of incomplete fragmented messages",
        size: limits.max_partial_messages as u64 + 1,
        limit: limits.max_partial_messages as u64,
        setting: setting::MAX_PARTIAL_MESSAGES,
        side: Side::Received,
    }
}
