//! The two ends of writing a message: its header first, its size last.

use oxorb_cdr::Encoder;
use oxorb_object::Version;

use crate::{Header, MessageType, Side, Violation};

/// Remembers where a begun message's body starts. Hand it to [`finish`].
#[must_use = "the message has no size before `finish`"]
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// Where the header fields end.
    fields_end: usize,
    /// Where the body starts, after padding.
    body: usize,
}

impl Begun {
    /// Offset of the body's first octet from the start of the message.
    #[inline]
    pub fn body(&self) -> usize {
        self.body
    }

    /// Ends the header fields where the body starts at a multiple of 8, as in GIOP 1.2 Requests and Replies.
    #[inline]
    pub fn aligned(e: &mut Encoder<'_>) -> Self {
        let fields_end = e.position();
        e.align(8);
        Self {
            fields_end,
            body: e.position(),
        }
    }

    /// As [`aligned`](Self::aligned), after `first` zero octets, padding to 4, and `second` zero octets.
    #[inline]
    pub(crate) fn after_zeros(e: &mut Encoder<'_>, first: usize, second: usize) -> Self {
        let from = e.position();
        let fields_end = (from + first).next_multiple_of(4) + second;
        let body = fields_end.next_multiple_of(8);
        // Of constant length, so that it takes two stores; then what is too much is dropped.
        e.copy_octets(&[0; 16]);
        e.truncate(body);
        Self { fields_end, body }
    }

    /// Ends the header fields where the body follows them at once.
    #[inline]
    pub fn unaligned(e: &mut Encoder<'_>) -> Self {
        let fields_end = e.position();
        Self {
            fields_end,
            body: fields_end,
        }
    }
}

/// Ends a message: removes padding that no body followed and fills in the size.
///
/// Gathered segments count; the header is always in the encoder's own part. Costs a few nanoseconds.
///
/// # Errors
/// [`Violation::Limit`] on our side when the size does not fit the header's 32 bits. A smaller limit is
/// [`Limits::check_outgoing`](crate::Limits::check_outgoing)'s business.
// In place: it gives a large error or nothing.
#[inline(always)]
pub fn finish(e: &mut Encoder<'_>, begun: Begun) -> Result<(), Violation> {
    finish_at(e, begun, Header::LEN, SIZE_AT)
}

/// Ends a message of another protocol than GIOP: removes padding that no body followed and fills in the size, an unsigned
/// long at offset `size_at`, of what follows a header of `len` octets.
///
/// # Errors
/// Those of [`finish`].
#[inline(always)]
pub fn finish_at(
    e: &mut Encoder<'_>,
    begun: Begun,
    len: usize,
    size_at: usize,
) -> Result<(), Violation> {
    // Padding before an empty body would be read as garbage by strict receivers.
    let mut end = e.position();
    if end == begun.body && begun.body != begun.fields_end {
        e.truncate(begun.fields_end);
        end = begun.fields_end;
    }
    let size = end - len;
    match u32::try_from(size) {
        Ok(size) => {
            e.patch_ulong(size_at, size);
            Ok(())
        }
        Err(_) => Err(beyond_header(size)),
    }
}

/// Writes the header of a message with size 0.
#[inline]
pub(crate) fn header(e: &mut Encoder<'_>, version: Version, kind: MessageType) {
    let octets = header_octets(e, version, kind);
    e.copy_octets(&octets);
}

/// The header of a message with size 0, for the beginning of this encoder.
#[inline]
pub(crate) fn header_octets(
    e: &Encoder<'_>,
    version: Version,
    kind: MessageType,
) -> [u8; Header::LEN] {
    debug_assert_eq!(
        e.position(),
        0,
        "a message starts at the beginning of its encoder"
    );
    Header::new(version, e.order(), kind).to_bytes()
}

/// Offset of the size in the header.
const SIZE_AT: usize = 8;

#[cold]
fn beyond_header(size: usize) -> Violation {
    Violation::Limit {
        what: "size in octets of a message",
        size: size as u64,
        limit: u64::from(u32::MAX),
        setting: "fixed",
        side: Side::Sent,
    }
}
