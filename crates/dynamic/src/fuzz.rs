//! Entry points of the fuzz targets: whatever the octets are, nothing may panic, hang, or exceed the limits.

use oxorb_cdr::{Any, ByteOrder, Decode as _, Decoder, Dialect, Dynamic};

use crate::DynAny;
#[cfg(feature = "json")]
use crate::json::{self, Plain};

/// Reads an any, makes JSON of it and of its type, and reads both again; reads the octets as JSON of an any, too.
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

/// Reads an any, and walks through it as a `DynAny`: each component is looked at, copied and put back.
pub fn dyn_any(data: &[u8]) {
    /// Components that are looked at: each may be put back at the cost of all that it holds.
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

/// Whether there is nothing in it that is not equal to itself: not-a-number, or an any whose octets are wrong.
fn is_reflexive(value: &Dynamic) -> bool {
    #[allow(clippy::eq_op, reason = "that is the question")]
    let same = value == value;
    same
}
