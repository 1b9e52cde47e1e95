//! Where replies go.

use std::fmt;
use std::io::IoSlice;
use std::mem;
use std::sync::Arc;

use oxorb_cdr::{Dialect, Encoded, Encoder};
use oxorb_giop::{Fragments, SystemException, Version};
use oxorb_transport::{Link, WriteError};

use super::stand_in;
use crate::options::Options;
use crate::probe::{self, Stage};

/// Takes the replies of one connection, or of one local call.
///
/// Owned by the connection; a servant meets it only through its upcall.
pub struct Sink {
    target: Target,
    /// The reply is written here; kept for its capacity.
    out: Vec<u8>,
    /// The current request was answered.
    answered: bool,
    /// A write failed: the connection is of no more use.
    broken: bool,
}

enum Target {
    Link(Arc<dyn Link>),
    /// The one reply of a local call.
    Memory(Option<Vec<u8>>),
}

impl Sink {
    pub(crate) fn to_link(link: Arc<dyn Link>) -> Sink {
        Sink {
            target: Target::Link(link),
            out: Vec::with_capacity(512),
            answered: false,
            broken: false,
        }
    }

    pub(crate) fn to_memory(buffer: Vec<u8>) -> Sink {
        Sink {
            target: Target::Memory(None),
            out: buffer,
            answered: false,
            broken: false,
        }
    }

    /// The reply of a local call; the buffer alone if there was none.
    pub(crate) fn into_memory(self) -> Result<Vec<u8>, Vec<u8>> {
        match self.target {
            Target::Memory(Some(reply)) => Ok(reply),
            Target::Memory(None) | Target::Link(_) => Err(self.out),
        }
    }

    /// A new request begins.
    pub(crate) fn begin(&mut self) {
        self.answered = false;
    }

    pub(crate) fn answered(&self) -> bool {
        self.answered
    }

    pub(crate) fn broken(&self) -> bool {
        self.broken
    }

    /// Writes octets that are a whole message already.
    pub(crate) fn send_octets(&mut self, message: &[u8]) {
        if let Target::Link(link) = &self.target {
            let turn = stand_in::turn();
            let _ours = turn.as_ref().map(|turn| turn.to_write());
            self.broken |= link.write(&mut [IoSlice::new(message)]).is_err();
        }
    }

    /// Sends a reply that was written somewhere else.
    pub(crate) fn send_whole(&mut self, message: Vec<u8>) {
        self.answered = true;
        match &mut self.target {
            Target::Link(_) => self.send_octets(&message),
            Target::Memory(kept) => *kept = Some(message),
        }
    }

    pub(crate) fn encoder<'a>(&mut self, options: &Options, dialect: Dialect) -> Encoder<'a> {
        let gather_above = match self.target {
            Target::Link(_) => options.gather_above,
            Target::Memory(_) => usize::MAX,
        };
        Encoder::new(mem::take(&mut self.out), options.byte_order, dialect)
            .gather_above(gather_above)
    }

    pub(crate) fn send(&mut self, options: &Options, version: Version, reply: Encoded<'_>) {
        self.answered = true;
        match &mut self.target {
            Target::Link(link) => {
                let turn = stand_in::turn();
                let _ours = turn.as_ref().map(|turn| turn.to_write());
                let sent = write_message(&**link, &reply, version, options.fragment_size);
                probe::stamp(Stage::ReplySent);
                self.broken |= sent.is_err();
                self.discard(options, reply);
            }
            Target::Memory(kept) => {
                let length = reply.len();
                let mut message = reply.into_buffer();
                message.truncate(length);
                *kept = Some(message);
            }
        }
    }

    /// Takes the buffer of a reply that is not sent.
    pub(crate) fn discard(&mut self, options: &Options, reply: Encoded<'_>) {
        self.out = options.keep(reply.into_buffer());
    }

    pub(crate) fn send_exception(
        &mut self,
        options: &Options,
        version: Version,
        id: u32,
        dialect: Dialect,
        exception: SystemException,
    ) {
        let mut e = self.encoder(options, dialect);
        let _ = oxorb_giop::system_exception_reply(&mut e, version, id, exception, &[]);
        self.send(options, version, e.finish());
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink")
            .field("answered", &self.answered)
            .field("broken", &self.broken)
            .finish()
    }
}

/// Writes one message: in one piece, or as GIOP 1.2 fragments when it is larger
/// than `fragment_size` octets.
pub(crate) fn write_message(
    link: &dyn Link,
    message: &Encoded<'_>,
    version: Version,
    fragment_size: Option<usize>,
) -> Result<(), WriteError> {
    let whole = fragment_size.is_none_or(|size| message.len() <= size);
    if whole && message.is_contiguous() {
        return link.write(&mut [IoSlice::new(message.contiguous())]);
    }
    write_pieces(link, message, version, fragment_size)
}

/// A message that refers to memory elsewhere, or is too large to go in one piece.
#[inline(never)]
fn write_pieces(
    link: &dyn Link,
    message: &Encoded<'_>,
    version: Version,
    fragment_size: Option<usize>,
) -> Result<(), WriteError> {
    let mut slices = [IoSlice::new(&[]); Encoded::MAX_SLICES];
    let slices = message.io_slices(&mut slices);
    let fragments = fragment_size
        .filter(|size| version >= Version::V1_2 && message.len() > *size)
        .and_then(|size| Fragments::new(slices, size).ok());
    let Some(fragments) = fragments else {
        return link.write(slices);
    };
    for piece in fragments {
        let mut slots = [IoSlice::new(&[]); Fragments::MAX_SLICES];
        link.write(piece.slices(slices, &mut slots))?;
    }
    Ok(())
}
