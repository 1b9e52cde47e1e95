//! Description of an operation, shared by stub, skeleton and local call.

use oxorb_cdr::{Decoder, Encoder, Result as CdrResult};
use oxorb_giop::Response;
use oxorb_object::SystemException;

/// Operation of an interface, `'static`, made by the IDL compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    /// Name on the wire (`withdraw`, `_get_balance`).
    pub name: &'static str,
    /// Event at which the server answers, if it answers.
    pub response: Response,
    /// Index of the operation in the list of its interface, which begins with all inherited ones, for
    /// OxORB servers; [`NO_SLOT`] if unknown.
    pub slot: u16,
    /// Largest size of the arguments in octets, or the smallest if they are unbounded, as computed by the IDL compiler.
    /// It determines the initial size of the request's buffer. 0 if below the usual size of a buffer.
    pub request: u32,
}

/// Slot of an operation whose index is unknown.
pub const NO_SLOT: u16 = u16::MAX;

/// Prefix of object keys that can carry a slot: those of active transient objects
/// ([`Adapter`](crate::Adapter)).
pub const SLOTTED_KEY: &[u8; 4] = b"OX1a";

/// Length of such keys, without slot. A request of an OxORB client appends the slot of its
/// operation in two octets, little-endian.
pub const SLOTTED_KEY_LEN: usize = 24;

impl Op {
    /// Returns an operation whose caller waits for the result.
    pub const fn twoway(name: &'static str) -> Self {
        Op { name, response: Response::WithTarget, slot: NO_SLOT, request: 0 }
    }

    /// Returns an operation declared `oneway`: sent, never answered.
    pub const fn oneway(name: &'static str) -> Self {
        Op { name, response: Response::None, slot: NO_SLOT, request: 0 }
    }

    /// Sets the slot: the index in the list of the interface.
    pub const fn at(self, slot: u16) -> Self {
        Op { slot, ..self }
    }

    /// Sets the size of the arguments in octets.
    #[must_use]
    pub const fn sized(self, request: u32) -> Self {
        Op { request, ..self }
    }
}

/// Operation as a request names it: from an [`Op`], or known only at run time in calls without
/// stubs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation<'n> {
    /// Name on the wire.
    pub name: &'n str,
    /// Event at which the server answers, if it answers.
    pub response: Response,
    /// Slot, as in [`Op`].
    pub slot: u16,
    /// Size of the arguments in octets, as in [`Op`]; 0 if unknown.
    pub request: u32,
    /// Offset modulo eight at which encoded arguments have to begin in a request of GIOP 1.0 or 1.1; `None` if they may
    /// begin anywhere. Ignored by GIOP 1.2, in which they begin at a multiple of eight, and by other protocols.
    pub arguments_at: Option<u8>,
}

impl From<&Op> for Operation<'static> {
    #[inline]
    fn from(op: &Op) -> Self {
        let Op { name, response, slot, request } = *op;
        Operation { name, response, slot, request, arguments_at: None }
    }
}

/// Error type of one operation on the client side.
///
/// The IDL compiler generates one enum per operation with a `raises` clause; the error type of all
/// other operations is [`SystemException`].
pub trait OperationError: Sized + From<SystemException> {
    /// Decodes the members of the exception `id`, whose id is already read.
    ///
    /// Returns `None` if the operation does not declare the exception; the call then raises `UNKNOWN`.
    fn read(id: &str, members: &mut Decoder<'_>) -> Option<CdrResult<Self>>;
}

impl OperationError for SystemException {
    fn read(_: &str, _: &mut Decoder<'_>) -> Option<CdrResult<Self>> {
        None
    }
}

/// Writes the arguments of a call; may be called more than once.
pub(crate) type Args<'f, 'a> = &'f dyn Fn(&mut Encoder<'a>) -> CdrResult<()>;
