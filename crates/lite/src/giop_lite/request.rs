//! Requests of GIOPlite.

use oxorb_cdr::{ByteOrder, Encoder, plain_str};
use oxorb_giop::{
    Begun, MessageType, Misbehaviour, Request, RequestHeader, Response, Target, Violation,
};
use oxorb_object::ServiceContexts;

use super::header::{self, FIELDS_AT};
use super::native::Native;

/// Offset of the response flags.
const FLAGS_AT: usize = FIELDS_AT + 4;
/// Offset of the length of the object key.
const KEY_LENGTH_AT: usize = FLAGS_AT + 4;
/// Offset of the object key.
const KEY_AT: usize = KEY_LENGTH_AT + 4;

/// Starts a Request. Omits service contexts, which GIOPlite cannot carry.
#[inline]
pub(super) fn begin(e: &mut Encoder<'_>, request: &RequestHeader<'_>) -> Begun {
    let key = request.key.key();
    let mut start = [0; KEY_AT];
    start[..header::LEN].copy_from_slice(&header::octets(MessageType::REQUEST, 0));
    start[FIELDS_AT..FLAGS_AT].copy_from_slice(&request.id.to_ne_bytes());
    start[FLAGS_AT] = flags(request.response);
    start[KEY_LENGTH_AT..].copy_from_slice(&(key.len() as u32).to_ne_bytes());
    e.copy_octets(&start);
    e.copy_octets(key);
    e.ulong(request.operation.len() as u32 + 1);
    e.copy_octets(request.operation.as_bytes());
    e.octet(0);
    Begun::unaligned(e).plain(header::LEN as u8, header::SIZE_AT as u8)
}

/// Parses a Request.
///
/// # Errors
/// [`Violation`] for truncated fields, and an invalid operation name.
#[inline]
pub(super) fn parse(message: &[u8]) -> Result<Request<'_>, Violation> {
    match parse_common(message) {
        Some(request) => Ok(request),
        None => parse_any(message),
    }
}

/// Parses a Request whose operation has an ASCII name, in fewer steps than identifying the error in
/// another takes.
#[inline(always)]
fn parse_common(message: &[u8]) -> Option<Request<'_>> {
    let (start, rest) = message.split_first_chunk::<KEY_AT>()?;
    let [.., i0, i1, i2, i3, flags, _, _, _, l0, l1, l2, l3] = *start;
    let length = u32::from_ne_bytes([l0, l1, l2, l3]) as usize;
    let key = rest.get(..length)?;
    // The key and what follows it start at multiples of four, so round the length of the key up. No
    // slice is long enough for the addition to overflow.
    let rest = rest.get(length.wrapping_add(3) & !3..)?;
    let (length, rest) = rest.split_first_chunk()?;
    let length = u32::from_ne_bytes(*length) as usize;
    let [name @ .., 0] = rest.get(..length)? else {
        return None;
    };
    if name.is_empty() {
        return None;
    }
    Some(Request {
        id: u32::from_ne_bytes([i0, i1, i2, i3]),
        response: response(flags),
        target: Target::Key(key),
        operation: plain_str(name)?,
        contexts: ServiceContexts::none(ByteOrder::NATIVE),
        has_terms: false,
        body: message.len() - rest.len() + length,
    })
}

/// Parses any Request, or returns the violation that it contains.
#[cold]
fn parse_any(message: &[u8]) -> Result<Request<'_>, Violation> {
    let fields = Native(message);
    let id = fields.ulong("the request id", FIELDS_AT)?;
    let flags = fields.octets("the response flags", FLAGS_AT, 1)?;
    let length = fields.ulong("the length of the object key", KEY_LENGTH_AT)?;
    let key = fields.octets("the object key", KEY_AT, length as usize)?;
    let length_at = (KEY_AT + key.len()).next_multiple_of(4);
    let length = fields.ulong("the length of the operation's name", length_at)?;
    let name_at = length_at + 4;
    let name = fields.octets("the operation's name", name_at, length as usize)?;
    let operation = match name {
        [name @ .., 0] if !name.is_empty() => {
            plain_str(name).or_else(|| core::str::from_utf8(name).ok())
        }
        _ => None,
    };
    Ok(Request {
        id,
        response: response(flags[0]),
        target: Target::Key(key),
        operation: operation.ok_or(Violation::Peer(Misbehaviour::OperationName))?,
        contexts: ServiceContexts::none(ByteOrder::NATIVE),
        has_terms: false,
        body: name_at + name.len(),
    })
}

/// Returns the response flags of TAO's GIOPlite.
#[inline]
const fn flags(response: Response) -> u8 {
    match response {
        Response::None => 0,
        Response::WithServer => 129,
        Response::WithTarget => 1,
    }
}

/// Parses response flags: 1 requests the reply to a two-way call, 3 is SYNC_WITH_TARGET. Unused
/// values request a reply, as in TAO.
#[inline]
const fn response(flags: u8) -> Response {
    match flags {
        0 => Response::None,
        129 => Response::WithServer,
        _ => Response::WithTarget,
    }
}
