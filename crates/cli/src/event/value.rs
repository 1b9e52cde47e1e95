//! Event values of any IDL type, as JSON and as octets.

use oxorb::cdr::{Decoder, Dialect, Encoder};
use oxorb::values::ByteOrder;
use oxorb::{Any, Orb};
use oxorb_dynamic::json::{Reader, Shared};
use oxorb_dynamic::{Dynamic, TypeCode};
use oxorb_event::rtec_event_comm::EventData;
use oxorb_idl::model::Model;
use oxorb_ifr::types::Types;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::types::{IdlArgs, Known, Source};
use oxorb_terminal::output::{Failed, because};

/// Options for the type of values.
#[derive(clap::Args)]
pub(super) struct TypeArgs {
    #[command(flatten)]
    idl: IdlArgs,
    /// Type of the values: scoped name or repository id in the IDL of --idl
    #[arg(long = "as", value_name = "TYPE", requires = "files")]
    name: Option<String>,
    /// Values are in the payload of the event, as an untyped CDR encapsulation, instead of in its any; publishers and
    /// subscribers of oxorb-event use this format
    #[arg(long, requires = "name")]
    payload: bool,
}

/// Types of values, according to the options.
pub(super) struct ValueTypes {
    source: Source,
    /// Type of each value; `None` if each value contains its own type.
    ty: Option<TypeCode>,
    payload: bool,
}

impl TypeArgs {
    /// Compiles the IDL.
    pub(super) fn load(&self) -> Result<ValueTypes, Failed> {
        if self.idl.files.is_empty() {
            return Ok(ValueTypes::default());
        }
        let types = self.idl.load()?;
        let ty = match &self.name {
            None => None,
            Some(name) => Some(types.by_name(name).map_err(because)?),
        };
        Ok(ValueTypes { source: Source::Idl(Box::new(types)), ty, payload: self.payload })
    }
}

impl Default for ValueTypes {
    /// Returns an instance without types from IDL: each event value contains its own type.
    fn default() -> Self {
        ValueTypes {
            source: Source::Idl(Box::new(Types::new(Model::default()))),
            ty: None,
            payload: false,
        }
    }
}

/// CDR rules of payloads: text in UTF-8, which viewers of recordings expect.
const DIALECT: Dialect = Dialect { chars: oxorb::values::CharSet::Utf8, ..Dialect::GIOP_1_2 };

impl ValueTypes {
    /// Registers the valuetypes with an ORB.
    pub(super) fn register(&self, orb: &Orb) {
        self.source.register_values(orb);
    }

    /// Returns the data of an event with a value.
    pub(super) fn to_data(&self, json: &Value, orb: &Orb) -> Result<EventData, String> {
        let known = self.known(orb);
        let mut reader = Reader::new(&known);
        let any = TypeCode::simple(oxorb_dynamic::TcKind::Any)
            .expect("--as any is not supported, because any is not a type of its own");
        let ty = self.ty.as_ref().unwrap_or(&any);
        let value = reader.from_json(json, ty).map_err(|error| error.to_string())?;
        let mut data = EventData::default();
        match (value, &self.ty) {
            (value, Some(ty)) if self.payload => data.payload = to_payload(&value, ty)?,
            (Dynamic::Any(any), None) => data.any_value = any,
            (value, _) => {
                let any = Any::with_type(ty.clone(), value);
                data.any_value = any.map_err(|error| error.to_string())?;
            }
        }
        Ok(data)
    }

    /// Returns the type of event payloads; `None` if unknown.
    pub(super) fn of_payload(&self) -> Option<&TypeCode> {
        self.ty.as_ref().filter(|_| self.payload)
    }

    /// Returns the value of an event, if it has a readable one.
    pub(super) fn value(&self, data: &EventData) -> Result<Option<Dynamic>, String> {
        if let Some(ty) = self.of_payload() {
            return of_payload(&data.payload, ty).map(Some);
        }
        match data.any_value.type_code() {
            none if *none == TypeCode::NULL => Ok(None),
            _ => data.any_value.dynamic().map(Some).map_err(|error| error.to_string()),
        }
    }

    /// Returns a value as JSON.
    pub(super) fn json<'v>(&'v self, value: &'v Dynamic, orb: &'v Orb) -> impl Serialize + 'v {
        InJson(value, self.known(orb))
    }

    fn known<'k>(&'k self, orb: &'k Orb) -> Known<'k> {
        Known { source: &self.source, orb, defaults: false }
    }
}

struct InJson<'v>(&'v Dynamic, Known<'v>);

impl Serialize for InJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let shared = Shared::new([self.0]).with_names(&self.1);
        shared.json(self.0).serialize(to)
    }
}

/// Returns a value as a payload: a CDR encapsulation, as `oxorb_event::Publisher` writes it.
pub(super) fn to_payload(value: &Dynamic, ty: &TypeCode) -> Result<Vec<u8>, String> {
    let mut failed = None;
    let octets = Encoder::encapsulated(ByteOrder::NATIVE, DIALECT, |encoder| {
        failed = value.encode(ty, encoder).err();
        Ok(())
    });
    match failed {
        None => octets.map_err(|error| error.to_string()),
        Some(error) => Err(error.to_string()),
    }
}

fn of_payload(payload: &[u8], ty: &TypeCode) -> Result<Dynamic, String> {
    let decoder = Decoder::encapsulated(payload, DIALECT);
    let mut decoder = decoder.map_err(|error| error.to_string())?;
    let value = Dynamic::decode(ty, &mut decoder).map_err(|error| error.to_string())?;
    decoder.finish().map_err(|error| error.to_string())?;
    Ok(value)
}

/// Returns a value as CDR in the byte order of this machine, aligned from its first octet.
pub(super) fn encode(value: &Dynamic, ty: &TypeCode) -> Result<Vec<u8>, String> {
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::NATIVE, DIALECT);
    let encoded = value.encode(ty, &mut encoder);
    encoded.map_err(|error| error.to_string())?;
    Ok(encoder.finish().to_vec())
}

/// Decodes a value from CDR.
pub(super) fn decode(octets: &[u8], ty: &TypeCode, order: ByteOrder) -> Result<Dynamic, String> {
    let mut decoder = Decoder::new(octets, order, DIALECT);
    Dynamic::decode(ty, &mut decoder).map_err(|error| error.to_string())
}
