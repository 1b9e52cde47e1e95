//! Conversion between events and messages of a recording.
//!
//! Each pair of type and source has a topic, `/TYPE/SOURCE`. A value that viewers can read is recorded as CDR with its
//! IDL. All other events are recorded completely, as `OxORB::RecordedEvent`. Metadata of the topic contains what the
//! CDR lacks: type and source of the events, the member that holds the value, and the type code in hexadecimal.

use std::collections::BTreeMap;

use oxorb::Any;
use oxorb::cdr::{Decode as _, Decoder, Dialect, Encode as _, Encoder};
use oxorb::values::{ByteOrder, TypeCode};
use oxorb_event::recording::{CDR, Schema, Topic, cdr_header, split_cdr};
use oxorb_event::rtec_event_comm::Event;

use super::channel::event_of;
use super::schema::idl_of;
use super::value::{ValueTypes, decode, encode, to_payload};

/// Keys of the metadata of a topic.
const TYPE: &str = "oxorb.type";
const SOURCE: &str = "oxorb.source";
const PLACE: &str = "oxorb.place";
const TYPE_CODE: &str = "oxorb.typecode";

/// Parts of an event that a message may contain: the any, the payload, or the complete event.
const ANY: &str = "any";
const PAYLOAD: &str = "payload";
const WHOLE: &str = "event";

const WHOLE_NAME: &str = "OxORB::RecordedEvent";
const WHOLE_IDL: &str = "module OxORB {\n    // any_value: type and value as an encapsulation of CDR; empty without a value.\n    \
    struct RecordedEvent {\n        long ttl;\n        sequence<octet> payload;\n        sequence<octet> any_value;\n    };\n};\n";

/// Returns the topic and the CDR of an event. If viewers cannot read the event's value, the complete event is recorded.
pub(super) fn to_message(event: &Event, types: &ValueTypes) -> Result<(Topic, Vec<u8>), String> {
    let any = event.data.any_value.type_code();
    let (place, ty) = match types.of_payload() {
        Some(ty) if *any == TypeCode::NULL => (PAYLOAD, Some(ty)),
        _ if event.data.payload.is_empty() && *any != TypeCode::NULL => (ANY, Some(any)),
        _ => (WHOLE, None),
    };
    if let Some(ty) = ty
        && let Some(message) = as_value(event, place, ty, types)
    {
        return Ok(message);
    }
    let mut whole = Encoder::new(Vec::new(), ByteOrder::NATIVE, Dialect::GIOP_1_2);
    whole.long(event.header.ttl);
    let any = match *any == TypeCode::NULL {
        true => Vec::new(),
        false => any_octets(&event.data.any_value)?,
    };
    for octets in [&event.data.payload, &any] {
        let written = whole.length(octets.len(), None);
        written.map_err(|error| error.to_string())?;
        whole.copy_octets(octets);
    }
    Ok((topic(event, WHOLE, Schema::idl(WHOLE_NAME, WHOLE_IDL)), whole.finish().to_vec()))
}

/// Returns the topic and the CDR of an event whose value viewers can read; `None` for all others.
fn as_value(
    event: &Event,
    place: &str,
    ty: &TypeCode,
    types: &ValueTypes,
) -> Option<(Topic, Vec<u8>)> {
    let idl = idl_of(ty)?;
    let value = types.value(&event.data).ok()??;
    let mut topic = topic(event, place, Schema::idl(&idl.name, &idl.text));
    let type_code = type_code_text(ty).ok()?;
    topic.metadata.insert(TYPE_CODE.to_owned(), type_code);
    Some((topic, encode(&value, ty).ok()?))
}

/// Returns the event of a message; `None` if its topic contains no events.
pub(super) fn to_event(topic: &Topic, message: &[u8]) -> Result<Option<Event>, String> {
    let number = |key: &str| topic.metadata.get(key)?.parse::<i32>().ok();
    let (Some(kind), Some(source)) = (number(TYPE), number(SOURCE)) else {
        return Ok(None);
    };
    let mut event = event_of(kind, source);
    event.header.ttl = 1;
    let (little, cdr) = split_cdr(message).map_err(|error| error.to_string())?;
    let order = if little { ByteOrder::Little } else { ByteOrder::Big };
    let place = topic.metadata.get(PLACE).map(String::as_str);
    if place == Some(WHOLE) {
        let mut decoder = Decoder::new(cdr, order, Dialect::GIOP_1_2);
        let read = |decoder: &mut Decoder<'_>| -> oxorb::cdr::Result<_> {
            Ok((decoder.long()?, Vec::<u8>::decode(decoder)?, Vec::<u8>::decode(decoder)?))
        };
        let (ttl, payload, any) = read(&mut decoder).map_err(|error| error.to_string())?;
        event.header.ttl = ttl;
        event.data.payload = payload;
        if !any.is_empty() {
            let decoder = Decoder::encapsulated(&any, Dialect::GIOP_1_2);
            let any = decoder.and_then(|mut decoder| Any::decode(&mut decoder));
            event.data.any_value = any.map_err(|error| error.to_string())?;
        }
        return Ok(Some(event));
    }
    let text = topic.metadata.get(TYPE_CODE);
    let ty = type_code(text.ok_or("its topic does not state the type of the values")?)?;
    let value = decode(cdr, &ty, order)?;
    match place {
        Some(PAYLOAD) => event.data.payload = to_payload(&value, &ty)?,
        _ => {
            let any = Any::with_type(ty, value);
            event.data.any_value = any.map_err(|error| error.to_string())?;
        }
    }
    Ok(Some(event))
}

/// Returns the CDR header for this machine's byte order.
pub(super) fn native_header() -> [u8; 4] {
    cdr_header(ByteOrder::NATIVE == ByteOrder::Little)
}

fn topic(event: &Event, place: &str, schema: std::sync::Arc<Schema>) -> Topic {
    let (kind, source) = (event.header.r#type, event.header.source);
    let metadata =
        [(TYPE, kind.to_string()), (SOURCE, source.to_string()), (PLACE, place.to_owned())];
    Topic {
        name: format!("/{kind}/{source}"),
        encoding: CDR.to_owned(),
        schema: Some(schema),
        metadata: BTreeMap::from(metadata.map(|(key, value)| (key.to_owned(), value))),
    }
}

fn any_octets(any: &Any) -> Result<Vec<u8>, String> {
    let octets = Encoder::encapsulated(ByteOrder::NATIVE, Dialect::GIOP_1_2, |e| any.encode(e));
    octets.map_err(|error| error.to_string())
}

fn type_code_text(ty: &TypeCode) -> Result<String, String> {
    let octets = Encoder::encapsulated(ByteOrder::NATIVE, Dialect::GIOP_1_2, |e| ty.encode(e));
    let octets = octets.map_err(|error| error.to_string())?;
    Ok(octets.iter().map(|octet| format!("{octet:02x}")).collect())
}

fn type_code(text: &str) -> Result<TypeCode, String> {
    let digits =
        |at: usize| text.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    let octets: Option<Vec<u8>> = (0..text.len()).step_by(2).map(digits).collect();
    let octets = octets.ok_or("the type code of its topic is not in hexadecimal digits")?;
    let decoder = Decoder::encapsulated(&octets, Dialect::GIOP_1_2);
    let ty = decoder.and_then(|mut decoder| TypeCode::decode(&mut decoder));
    ty.map_err(|error| format!("the type code of its topic: {error}"))
}
