//! Writing of one message to a link.

use std::io::IoSlice;

use oxorb_cdr::{Encoded, Encoder};
use oxorb_giop::{Fragments, Wire};
use oxorb_transport::{Link, WriteError};

/// Returns whether a message goes in one piece where pieces have so many octets at most.
#[inline]
fn fits(message: &[u8], fragment_size: Option<usize>) -> bool {
    fragment_size.is_none_or(|size| message.len() <= size)
}

/// Writes what an encoder holds, as [`write_message`] does, and gives its buffer back.
// In place, and without an `Encoded` for a message in one piece: an encoder is large, and moving it costs as much as the rest.
#[inline(always)]
pub(crate) fn send_encoded(
    link: &dyn Link,
    e: Encoder<'_>,
    wire: Wire,
    fragment_size: Option<usize>,
) -> (Result<(), WriteError>, Vec<u8>) {
    match e.contiguous() {
        Some(message) if fits(message, fragment_size) => {
            let sent = link.write(&mut [IoSlice::new(message)]);
            (sent, e.into_buffer())
        }
        _ => send_pieces(link, e, wire, fragment_size),
    }
}

#[inline(never)]
fn send_pieces(
    link: &dyn Link,
    e: Encoder<'_>,
    wire: Wire,
    fragment_size: Option<usize>,
) -> (Result<(), WriteError>, Vec<u8>) {
    let message = e.finish();
    let sent = write_message(link, &message, wire, fragment_size);
    (sent, message.into_buffer())
}

/// Writes one message: in one piece, or in fragments when it is larger than `fragment_size` octets
/// and the protocol has them.
pub(crate) fn write_message(
    link: &dyn Link,
    message: &Encoded<'_>,
    wire: Wire,
    fragment_size: Option<usize>,
) -> Result<(), WriteError> {
    if message.is_contiguous() && fits(message.contiguous(), fragment_size) {
        return link.write(&mut [IoSlice::new(message.contiguous())]);
    }
    write_pieces(link, message, wire, fragment_size)
}

/// A message that refers to memory elsewhere, or is too large to go in one piece.
#[inline(never)]
fn write_pieces(
    link: &dyn Link,
    message: &Encoded<'_>,
    wire: Wire,
    fragment_size: Option<usize>,
) -> Result<(), WriteError> {
    let mut slices = [IoSlice::new(&[]); Encoded::MAX_SLICES];
    let slices = message.io_slices(&mut slices);
    let fragments = fragment_size
        .filter(|size| message.len() > *size && !wire.needs().no_fragments)
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
