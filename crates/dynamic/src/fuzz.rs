//! Entry points of the fuzz targets: no input may cause a panic, a hang, or exceeded limits.

use oxorb_cdr::{Any, ByteOrder, Decode as _, Decoder, Dialect, Dynamic};
#[cfg(feature = "json")]
use oxorb_cdr::{Encoder, Label, TypeCode, ValueModifier, Visibility};

use crate::DynAny;
#[cfg(feature = "json")]
use crate::json::{self, Plain};

/// Decodes an any, converts it and its type to JSON and back; also parses the octets as JSON of an
/// any.
#[cfg(feature = "json")]
pub fn json(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(value) = serde_json::from_str(text)
    {
        let _ = json::type_from_json(&value, &Plain);
        let _ = json::from_json(&value, &TypeCode::ANY, &Plain);
    }
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let mut d = Decoder::new(data, order, Dialect::GIOP_1_2);
        let Ok(any) = Any::decode(&mut d) else {
            continue;
        };
        if let Ok(text) = serde_json::to_string(&json::JsonType(any.type_code()))
            && let Ok(value) = serde_json::from_str(&text)
        {
            let _ = json::type_from_json(&value, &Plain);
        }
        let value = Dynamic::Any(any);
        if let Ok(text) = serde_json::to_string(&json::Json(&value))
            && let Ok(value) = serde_json::from_str(&text)
        {
            let _ = json::from_json(&value, &TypeCode::ANY, &Plain);
        }
    }
}

/// Parses `data` as the arguments of a call in JSON, as the HTTP gateway does: as a value of each of several types, and
/// as the values of one call. A value of a type that is not chosen by `data` can be written as JSON and read again.
#[cfg(feature = "json")]
pub fn json_arguments(data: &[u8]) {
    use serde_json::Value;

    let Ok(document) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    for (at, ty) in TYPES.iter().enumerate() {
        let Ok(value) = json::from_json(&document, ty, &Plain) else {
            continue;
        };
        let mut e = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::GIOP_1_2);
        // The code set of the message may lack a character.
        let _ = value.encode(ty, &mut e);
        if let Ok(text) = serde_json::to_string(&json::Json(&value))
            && let Ok(written) = serde_json::from_str(&text)
        {
            let again = json::from_json(&written, ty, &Plain);
            assert!(again.is_ok() || at >= CLOSED, "{ty}: {text}: {again:?}");
        }
    }
    let parts: Vec<&Value> = match &document {
        Value::Array(items) => items.iter().collect(),
        Value::Object(members) => members.values().collect(),
        _ => return,
    };
    let mut reader = json::Reader::new(&Plain);
    for (at, ty) in TYPES.iter().enumerate() {
        let value = match parts.get(at) {
            Some(part) => reader.from_json(part, ty),
            None => reader.zero(ty),
        };
        if value.is_err() {
            return;
        }
    }
}

/// Number of the first [`TYPES`] that contain no valuetype and no any.
#[cfg(feature = "json")]
const CLOSED: usize = 6;

/// Types of arguments.
#[cfg(feature = "json")]
static TYPES: std::sync::LazyLock<[TypeCode; 8]> = std::sync::LazyLock::new(|| {
    let kind = TypeCode::enumeration("IDL:Kind:1.0", "Kind", ["savings", "checking"]);
    let photo = TypeCode::bounded_sequence(TypeCode::OCTET, 16);
    let members = [("name", TypeCode::bounded_string(8)), ("sort", kind.clone()), ("photo", photo)];
    let owner = TypeCode::structure("IDL:Owner:1.0", "Owner", members);
    let members = [
        (Label::Value(0), "rate", TypeCode::array(TypeCode::SHORT, 2)),
        (Label::Value(1), "text", TypeCode::WSTRING),
    ];
    let remark = TypeCode::union("IDL:Remark:1.0", "Remark", kind, members);
    let branches = TypeCode::sequence(TypeCode::recursive("IDL:Tree:1.0"));
    let tree = TypeCode::structure("IDL:Tree:1.0", "Tree", [("branches", branches)]);
    let members = [
        ("double", TypeCode::DOUBLE),
        ("long_double", TypeCode::LONGDOUBLE),
        ("fixed", TypeCode::fixed(5, 2)),
        ("wide", TypeCode::WCHAR),
        ("narrow", TypeCode::CHAR),
        ("large", TypeCode::ULONGLONG),
    ];
    let numbers = TypeCode::structure("IDL:Numbers:1.0", "Numbers", members);
    let next = TypeCode::recursive("IDL:Link:1.0");
    let members =
        [("next", next, Visibility::Public), ("data", TypeCode::LONG, Visibility::Public)];
    let link = TypeCode::value("IDL:Link:1.0", "Link", ValueModifier::None, None, members);
    let owners = TypeCode::sequence(owner);
    [owners, remark, tree, numbers, TypeCode::OBJECT, TypeCode::LONGLONG, link, TypeCode::ANY]
});

/// Decodes an any, and walks through it as a `DynAny`: each component is examined, copied and put
/// back.
pub fn dyn_any(data: &[u8]) {
    /// Maximum number of components examined: putting one back may cost as much as all its
    /// contents.
    const MOST: usize = 200;

    for order in [ByteOrder::Big, ByteOrder::Little] {
        let mut d = Decoder::new(data, order, Dialect::GIOP_1_2);
        let Ok(any) = Any::decode(&mut d) else {
            continue;
        };
        let _ = DynAny::from_type_code(any.type_code());
        let Ok(mut whole) = DynAny::from_any(&any) else {
            continue;
        };
        assert!(whole.equal(&whole.copy()) || !is_reflexive(&whole.value()));
        for at in 0..whole.component_count().min(MOST) {
            assert!(whole.seek(at));
            let Ok(Some(mut part)) = whole.current_component() else {
                continue;
            };
            let copy = part.copy();
            let _ = part.assign(&copy);
        }
        let _ = whole.to_any();
    }
}

/// Reports whether the value equals itself, so that it contains no NaN and no any with invalid
/// octets.
fn is_reflexive(value: &Dynamic) -> bool {
    #[allow(clippy::eq_op, reason = "that is the question")]
    let same = value == value;
    same
}
