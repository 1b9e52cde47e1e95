//! Values built with `DynAny`, part by part.

use oxorb::Any;
use oxorb::dynamic::{DynAny, DynAnyError};

/// Returns an equal value in another any, read and built with `DynAny`.
pub fn rebuilt(any: &Any) -> Result<Any, DynAnyError> {
    let mut from = DynAny::from_any(any)?;
    let mut to = DynAny::from_type_code(any.type_code())?;
    copy(&mut from, &mut to)?;
    if !from.equal(&to) {
        return Err(unlike(&from));
    }
    to.to_any()
}

fn copy(from: &mut DynAny<'_>, to: &mut DynAny<'_>) -> Result<(), DynAnyError> {
    let count = from.component_count();
    if count == 0 {
        return to.assign(from);
    }
    if let Ok(mut sequence) = to.as_sequence() {
        sequence.set_length(count)?;
    }
    // (The first component of a union is its discriminant, which selects the second.)
    for at in 0..count {
        match (from.component(at), to.component(at)) {
            (Some(mut part), Some(mut copied)) => copy(&mut part, &mut copied)?,
            _ => return Err(unlike(from)),
        }
    }
    Ok(())
}

fn unlike(from: &DynAny<'_>) -> DynAnyError {
    DynAnyError::InvalidValue(format!("not equal to what it was built from: {from:?}"))
}
