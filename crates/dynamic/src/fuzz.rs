//! Entry points of the fuzz targets: no input may cause a panic, a hang, or exceeded limits.

use oxorb_cdr::{Any, ByteOrder, Decode as _, Decoder, Dialect, Dynamic};

use crate::DynAny;
#[cfg(feature = "json")]
use crate::json::{self, Plain};

/// Decodes an any, converts it and its type to JSON and back; also parses the octets as JSON of an
/// any.
#[cfg(feature = "json")]
pub fn json(data: &[u8]) {
    use oxorb_cdr::TypeCode;

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
