//! The only modules of this crate with unsafe code: operations for which safe code needs more
//! instructions.
//!
//! Their exports are safe for any arguments: callers have no obligations, and there is no unsafe
//! code outside this folder. Each block states why it is sound, from invariants that its type
//! documents and debug builds assert. The invariants, rejected alternatives, and checks:
//! `docs/design/cdr-unsafe.md`.
#![allow(unsafe_code)]

mod items;
mod numbers;
mod room;
mod text;

pub(crate) use items::read_after;
pub(crate) use numbers::swapped;
pub(crate) use room::Room;
pub use text::plain_str;
pub(crate) use text::{copied_plain, plain_copy};
