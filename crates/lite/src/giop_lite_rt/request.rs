//! Requests of GIOPlite/RT.

use oxorb_cdr::{ByteOrder, Decoder, Dialect, Encoder, plain_str};
use oxorb_giop::{
    Aliased, BareRequest, Begun, MessageType, Misbehaviour, Numbered, Request, RequestHeader,
    Response, Target, Terms, Violation,
};
use oxorb_object::ServiceContexts;

use super::header::{self, ID_AT, NAME, ulong_octets, ushort_from, ushort_octets};
use super::terms;
use crate::octets::{octets, ulong, ulong_from};

/// Length of the part common to all Requests, header included, in octets.
pub(crate) const FIXED: usize = 16;

/// Marker of requests without an alias.
pub(crate) const NO_NUMBER: u16 = u16::MAX;

/// Marker of requests without a priority.
const NO_PRIORITY: i16 = -1;

/// Offset of the alias.
pub(super) const NUMBER_AT: usize = ID_AT + 4;

/// Offset of the content flags.
pub(super) const FOLLOWS_AT: usize = FIXED - 1;

/// Content flag: object key and operation follow in full.
pub(super) const NAMES: u8 = 1;
/// Content flag: a deadline follows, in nanoseconds from the moment the request was written.
const DEADLINE: u8 = 2;
/// Content flag: service contexts follow.
const CONTEXTS: u8 = 4;

/// Size of a deadline, in octets.
const DEADLINE_OCTETS: usize = 8;

/// Unit of `TimeT`, in nanoseconds.
pub(super) const UNIT: u64 = 100;

/// Form of requests with an alias, without a priority, and without further content.
pub(super) const BARE: BareRequest = {
    let fields = NO_PRIORITY.to_ne_bytes();
    let same = header::octets(ByteOrder::NATIVE, MessageType::REQUEST, fields, 0);
    let mut mask = [0; FIXED];
    // Compare the content flags, and the first four octets: byte order, version with kind, and the
    // priority.
    mask.split_at_mut(4).0.copy_from_slice(&[u8::MAX; 4]);
    mask[FOLLOWS_AT] = u8::MAX;
    BareRequest {
        mask,
        same: header::padded(same),
        id_at: ID_AT as u8,
        flags_at: FOLLOWS_AT as u8 - 1,
    }
};

/// Starts a Request. The arguments start at a multiple of 8.
#[inline]
pub(crate) fn begin(e: &mut Encoder<'_>, request: &RequestHeader<'_>) -> Begun {
    match request.alias {
        Some(alias) if alias.known && request.contexts.is_empty() && request.terms.is_none() => {
            start(e, request, alias.number, NO_PRIORITY, 0);
            Begun::unaligned(e).plain(header::LEN as u8, header::SIZE_AT as u8)
        }
        _ => begin_long(e, request),
    }
}

/// Writes the part common to all requests.
#[inline]
fn start(
    e: &mut Encoder<'_>,
    request: &RequestHeader<'_>,
    number: u16,
    priority: i16,
    follows: u8,
) {
    let order = e.order();
    let fields = ushort_octets(order, priority as u16);
    let mut start = [0; FIXED];
    let header = header::octets(order, MessageType::REQUEST, fields, 0);
    start[..ID_AT].copy_from_slice(&header);
    start[ID_AT..NUMBER_AT].copy_from_slice(&ulong_octets(order, request.id));
    start[NUMBER_AT..NUMBER_AT + 2].copy_from_slice(&ushort_octets(order, number));
    start[FIXED - 2] = request.response.flags();
    start[FOLLOWS_AT] = follows;
    e.copy_octets(&start);
}

/// Writes a request with additional content.
#[inline(never)]
fn begin_long(e: &mut Encoder<'_>, request: &RequestHeader<'_>) -> Begun {
    let (number, known) = match request.alias {
        Some(alias) => (alias.number, alias.known),
        None => (NO_NUMBER, false),
    };
    let (terms, carried) = terms::of(request);
    let others = request.contexts.len() - carried.count();
    let mut follows = 0;
    if !known {
        follows |= NAMES;
    }
    if terms.within.is_some() {
        follows |= DEADLINE;
    }
    if others > 0 {
        follows |= CONTEXTS;
    }
    let priority = terms.priority.unwrap_or(NO_PRIORITY);
    start(e, request, number, priority, follows);
    if let Some(units) = terms.within {
        e.ulonglong(units.saturating_mul(UNIT));
    }
    if !known {
        let (key, operation) = (request.key.key(), request.operation);
        for name in [key, operation.as_bytes()] {
            e.ulong(name.len() as u32);
            e.copy_octets(name);
        }
    }
    if others > 0 {
        e.ulong(others as u32);
        let others = request.contexts.iter().enumerate();
        for (_, context) in others.filter(|(at, _)| !carried.is(*at)) {
            e.ulong(context.id);
            e.ulong(context.data.len() as u32);
            e.copy_octets(context.data);
        }
    }
    Begun::aligned(e).plain(header::LEN as u8, header::SIZE_AT as u8)
}

/// Parses a Request; `meaning` contains the object key and the operation that its alias represents.
///
/// # Errors
/// [`Violation`] for truncated fields, an invalid operation name, and an undefined alias.
#[inline]
pub(crate) fn parse<'a>(
    message: &'a [u8],
    order: ByteOrder,
    meaning: Option<&'a Aliased>,
) -> Result<Request<'a>, Violation> {
    let Some(start) = message.first_chunk::<FIXED>() else {
        return Err(octets(message, "the fields of a request", 0, FIXED).unwrap_err());
    };
    let [_, _, p0, p1, .., i0, i1, i2, i3, n0, n1, flags, follows] = *start;
    let has_terms = has_terms(order, [p0, p1], follows);
    let id = ulong_from(order, [i0, i1, i2, i3]);
    if follows == 0
        && let Some(meaning) = meaning
    {
        return Ok(Request {
            id,
            response: Response::from_flags(flags),
            target: Target::Key(meaning.key()),
            operation: meaning.operation(),
            contexts: ServiceContexts::none(order),
            has_terms,
            body: FIXED,
        });
    }
    let request = Request {
        id,
        response: Response::from_flags(flags),
        target: Target::Key(&[]),
        operation: "",
        contexts: ServiceContexts::none(order),
        has_terms,
        body: FIXED,
    };
    let number = ushort_from(order, [n0, n1]);
    parse_long(message, order, meaning, request, number, follows)
}

/// Reports whether a Request has a priority, in the fields of its header, or a deadline.
#[inline(always)]
fn has_terms(order: ByteOrder, priority: [u8; 2], follows: u8) -> bool {
    ushort_from(order, priority).cast_signed() >= 0 || follows & DEADLINE != 0
}

/// Returns priority and deadline of a Request that was already parsed.
#[inline]
pub(crate) fn terms(message: &[u8], order: ByteOrder) -> Option<Terms> {
    let [_, _, p0, p1, .., follows] = *message.first_chunk::<FIXED>()?;
    if !has_terms(order, [p0, p1], follows) {
        return None;
    }
    let priority = ushort_from(order, [p0, p1]).cast_signed();
    Some(Terms {
        priority: (priority >= 0).then_some(priority),
        within: match follows & DEADLINE {
            0 => None,
            _ => deadline(message, order).ok(),
        },
    })
}

/// Reads a deadline, in units of 100 ns.
fn deadline(message: &[u8], order: ByteOrder) -> Result<u64, Violation> {
    let mut fields = Decoder::new(message, order, Dialect::new(2)).at(FIXED);
    Ok(fields.ulonglong()? / UNIT)
}

/// Parses content that most requests do not have.
#[inline(never)]
fn parse_long<'a>(
    message: &'a [u8],
    order: ByteOrder,
    meaning: Option<&'a Aliased>,
    mut request: Request<'a>,
    number: u16,
    follows: u8,
) -> Result<Request<'a>, Violation> {
    if follows & !(NAMES | DEADLINE | CONTEXTS) != 0 {
        return Err(Violation::Peer(Misbehaviour::Undefined {
            protocol: NAME,
            what: "set of fields that follow",
            value: u32::from(follows),
        }));
    }
    let mut at = FIXED;
    if follows & DEADLINE != 0 {
        deadline(message, order)?;
        at += DEADLINE_OCTETS;
    }
    if follows & NAMES != 0 {
        let (key, operation, end) = names_at(message, order, at)?;
        request.target = Target::Key(key);
        request.operation = operation;
        at = end;
    } else {
        let meaning = meaning.ok_or(Violation::Peer(Misbehaviour::UnknownAlias { number }))?;
        request.target = Target::Key(meaning.key());
        request.operation = meaning.operation();
    }
    if follows & CONTEXTS != 0 {
        let mut fields = Decoder::new(message, order, Dialect::new(2)).at(at);
        request.contexts = ServiceContexts::read(message, false, &mut fields)?;
        at = fields.position();
    }
    request.body = at.next_multiple_of(8).min(message.len());
    Ok(request)
}

/// Parses the alias and the names of a request, and nothing else.
///
/// # Errors
/// [`Violation`] for invalid names.
#[inline]
pub(crate) fn numbered(message: &[u8], order: ByteOrder) -> Result<Numbered<'_>, Violation> {
    let Some(start) = message.first_chunk::<FIXED>() else {
        return Err(octets(message, "the fields of a request", 0, FIXED).unwrap_err());
    };
    let [.., n0, n1, _, follows] = *start;
    let number = ushort_from(order, [n0, n1]);
    let names = match follows & NAMES {
        0 => None,
        _ => {
            let deadline = match follows & DEADLINE {
                0 => 0,
                _ => DEADLINE_OCTETS,
            };
            let (key, operation, _) = names_at(message, order, FIXED + deadline)?;
            Some((key, operation))
        }
    };
    Ok(Numbered { number: (number != NO_NUMBER).then_some(number), names })
}

/// Parses object key and operation at offset `at`, and returns them with the offset of their end.
fn names_at(
    message: &[u8],
    order: ByteOrder,
    at: usize,
) -> Result<(&[u8], &str, usize), Violation> {
    let length = ulong(message, order, "the length of the object key", at)?;
    let key = octets(message, "the object key", at + 4, length as usize)?;
    let at = (at + 4 + key.len()).next_multiple_of(4);
    let length = ulong(message, order, "the length of the operation's name", at)?;
    let name = octets(message, "the operation's name", at + 4, length as usize)?;
    let end = at + 4 + name.len();
    let text = plain_str(name).or_else(|| core::str::from_utf8(name).ok());
    match text.filter(|name| !name.is_empty()) {
        Some(operation) => Ok((key, operation, end)),
        None => Err(Violation::Peer(Misbehaviour::OperationName)),
    }
}
