//! The only modules of this crate that may hold unsafe code: what the safe codec cannot do in as few instructions.
//!
//! What they export is safe for any arguments: no caller has anything to keep, and none outside this folder may hold unsafe
//! code. Each block says why it is sound, from invariants that its type states and that debug builds assert. Which these are,
//! what was tried first, and what checks them: `docs/design/cdr-unsafe.md`.
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
