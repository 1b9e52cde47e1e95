//! Results and exceptions of direct calls that cannot be passed on unchanged. They are marshalled and read back, as a
//! message would transfer them.

use oxorb_cdr::{Decoder, Encoder, Result as CdrResult};
use oxorb_object::{CompletionStatus, SystemException};

use super::buffers::{DIALECT, put_buffer, take_buffer};
use crate::Orb;
use crate::error::{ServantError, raise};
use crate::reference::OperationError;

/// Writes a value and reads it back.
///
/// # Errors
/// MARSHAL and others, with COMPLETED_YES, if the value cannot be marshalled.
#[cold]
pub(super) fn through_memory<'a, R>(
    orb: &Orb,
    write: impl FnOnce(&mut Encoder<'a>) -> CdrResult<()>,
    read: impl FnOnce(&mut Decoder<'_>) -> Result<R, SystemException>,
) -> Result<R, SystemException> {
    let order = orb.options().byte_order;
    let mut e = Encoder::new(take_buffer(), order, DIALECT);
    let written = write(&mut e);
    let message = e.finish();
    let read = written.map_err(unreadable).and_then(|()| {
        let decoder = Decoder::new(message.contiguous(), order, DIALECT);
        read(&mut decoder.with_limits(orb.options().limits.cdr).with_scope(orb))
    });
    put_buffer(message.into_buffer());
    read
}

/// Returns the exception as a message would transfer it.
#[inline]
pub(super) fn exception<E: ServantError + OperationError>(orb: &Orb, raised: E) -> E {
    match raised.passes(orb) {
        true => raised,
        false => exception_through_memory(orb, &raised),
    }
}

#[cold]
fn exception_through_memory<E: ServantError + OperationError>(orb: &Orb, raised: &E) -> E {
    let read = |d: &mut Decoder<'_>| {
        let id = d.string().map_err(unreadable)?;
        let members = E::read(&id, d).ok_or(raise::UNLISTED_USER_EXCEPTION)?;
        members.map_err(unreadable)
    };
    through_memory(orb, |e| raised.raise(e), read).unwrap_or_else(E::from)
}

/// Returns the exception for a result that cannot be written, or be read back.
pub(super) fn unreadable(error: oxorb_cdr::Error) -> SystemException {
    SystemException::from_cdr(error, CompletionStatus::Yes)
}
