//! What the tests share.
//!
//! | Module | What for |
//! |---|---|
//! | [`alloc`] | proving that a path does not allocate |
//! | [`instructions()`] | what a path costs, by callgrind |
//! | [`syscalls`] | proving which system calls a path makes |
//! | [`process`] | other processes that never outlive their test |
//! | [`peers`] | other ORBs, if they are installed |
//! | [`realtime`] | privileges for priorities and reservations |
//! | [`hostile`] | peers that send what no client should |
//! | [`watchdog()`] | tests that never hang |
//! | [`rounds()`] | how often a test does the same |
//! | [`side_by_side()`], [`at_once()`] | cases that wait, several at a time, or all |
//! | [`until()`] | waiting for what other threads do |
//! | [`net`] | free ports |
//! | [`tap`] | what two processes say to each other |
//! | [`octets()`] | octets written as hexadecimal digits |
//! | [`page`] | pages of the documentation that are written from tables |
//! | [`disk`] | disks that are full |
//! | `authority` | certificates to try with, by feature `certificates` |
#![deny(unsafe_code)]

pub mod alloc;
#[cfg(feature = "certificates")]
pub mod authority;
mod callgrind;
pub mod disk;
pub mod hostile;
pub mod net;
mod octets;
pub mod page;
pub mod patience;
pub mod peers;
pub mod process;
pub mod realtime;
mod rounds;
mod side_by_side;
pub mod syscalls;
pub mod tap;
mod until;
pub mod watchdog;

pub use callgrind::instructions;
pub use octets::octets;
pub use realtime::{overload_is_refused, require_realtime, require_reservations};
pub use rounds::rounds;
pub use side_by_side::{at_once, side_by_side};
pub use until::until;
pub use watchdog::{Watchdog, watchdog};
