//! Calls and servants without stubs: for tools, gateways and tests that learn an interface only at
//! run time.
//!
//! | to | see |
//! |---|---|
//! | call an operation (DII) | [`Request`], or [`invoke`] |
//! | serve an interface (DSI) | [`DynamicServant`], [`servant`] |
//! | describe an operation | [`Signature`] |
//! | build and walk values (DynAny) | [`DynAny`] |
//! | convert values to JSON and back | `json`, with the feature of this name |
//!
//! Values are [`Dynamic`] trees and types [`TypeCode`]s. On the wire, and to the other side, such a
//! call is like any other; here it costs about one allocation for each part of a value.
#![forbid(unsafe_code)]

mod call;
pub mod dyn_any;
mod exception;
#[doc(hidden)]
pub mod fuzz;
#[cfg(feature = "json")]
pub mod json;
mod list;
mod many;
mod request;
mod servant;
mod signature;

pub use call::{Results, invoke, send};
pub use dyn_any::{DynAny, DynAnyError};
pub use exception::{Exception, UserException};
pub use list::{NVList, NamedValue};
pub use many::{next_response, poll_next_response, send_multiple_deferred, send_multiple_oneway};
pub use oxorb_cdr::{
    DecoderLimits, Dynamic, DynamicError, DynamicValue, Field, Label, MemberRef, RawReference,
    Selected, Shape, TcKind, TypeCode, TypeRef, ValueKey, Wchar, Wstring,
};
pub use request::Request;
pub use servant::{DynamicServant, Invocation, answer, answer_changed, servant, serve};
pub use signature::{Direction, Parameter, Signature};
