//! What stub, skeleton and local call share about one operation.

use oxorb_cdr::{Decoder, Encoder, Result as CdrResult};
use oxorb_giop::{Response, SystemException};

/// One operation of one interface, `'static`, made by the IDL compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    /// The name on the wire (`withdraw`, `_get_balance`).
    pub name: &'static str,
    /// Whether and when the server answers.
    pub response: Response,
}

impl Op {
    /// An operation whose caller waits for the result.
    pub const fn twoway(name: &'static str) -> Self {
        Op {
            name,
            response: Response::WithTarget,
        }
    }

    /// An operation declared `oneway`: sent, never answered.
    pub const fn oneway(name: &'static str) -> Self {
        Op {
            name,
            response: Response::None,
        }
    }
}

/// An operation as a request names it: what an [`Op`] says, or what calls
/// without stubs know at run time only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation<'n> {
    /// The name on the wire.
    pub name: &'n str,
    /// Whether and when the server answers.
    pub response: Response,
}

impl From<&Op> for Operation<'static> {
    #[inline]
    fn from(op: &Op) -> Self {
        Operation {
            name: op.name,
            response: op.response,
        }
    }
}

/// The error type of one operation as its client sees it.
///
/// The IDL compiler makes one enum per operation with a `raises` clause;
/// [`SystemException`] itself is the error of all others.
pub trait UserException: Sized + From<SystemException> {
    /// Reads the members of the exception `id` (the id is already read).
    ///
    /// `None` means that the operation does not raise it, which CORBA turns
    /// into `UNKNOWN` for the caller.
    fn read(id: &str, members: &mut Decoder<'_>) -> Option<CdrResult<Self>>;
}

impl UserException for SystemException {
    fn read(_: &str, _: &mut Decoder<'_>) -> Option<CdrResult<Self>> {
        None
    }
}

/// The error type of one operation as its servant returns it.
pub trait Raise {
    /// The system exception this is, if it is one; otherwise [`raise`](Self::raise) is called.
    fn system(&self) -> Option<SystemException>;

    /// Writes a user exception: its repository id, then its members.
    fn raise<'a>(&'a self, e: &mut Encoder<'a>) -> CdrResult<()>;
}

impl Raise for SystemException {
    fn system(&self) -> Option<SystemException> {
        Some(*self)
    }

    fn raise<'a>(&'a self, _: &mut Encoder<'a>) -> CdrResult<()> {
        Ok(())
    }
}
