//! Values in the code sets of the calling client ([`oxorb::servant::escape`]).

use oxorb::Any;
use oxorb::cdr::{Encode as _, Encoder};
use oxorb::servant::escape;
use oxorb::values::{ByteOrder, Dynamic};

/// Returns the value of a constant or label in a form that the client can receive. Text that the client's code sets
/// cannot represent is sent as an escaped `string`, regardless of its type: one constant must not prevent a whole
/// description.
pub(super) fn outgoing(value: &Any) -> Any {
    let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, escape::client());
    if value.encode(&mut e).is_ok() {
        return value.clone();
    }
    let text = match value.dynamic() {
        Ok(Dynamic::String(text) | Dynamic::Wstring(text)) => text,
        Ok(Dynamic::Char(one) | Dynamic::Wchar(one)) => one.into(),
        _ => return value.clone(),
    };
    Any::new(escape::outgoing(text))
}
